"""Webhooks: a POST with the secret of a job starts it, without a sign-in, and nothing else does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.storage.model import Outcome, Trigger
from tests.installation import Installation, wait_until
from tests.test_daemon import QUIET, running_daemon
from tests.web.served_appliance import ServedAppliance, configuration, job, serving

SECRET = "s3cret-of-the-door"
JOBS = job("door", "print('ding dong')", "    triggers: {webhook: DOOR_HOOK}\n") + job("other", "print('never')")


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    path = configuration(tmp_path, jobs=JOBS)
    secrets = path.with_name("secrets.env")
    secrets.write_text(f"WEB_PASSWORD=open sesame\nDOOR_HOOK={SECRET}\n")
    secrets.chmod(0o600)
    with serving(path) as result:
        yield result


def list_starts(appliance: ServedAppliance) -> list[tuple[str, Trigger]]:
    return [(run.job, run.trigger) for run in appliance.daemon.appliance.history()]


def test_the_secret_starts_the_job_without_a_sign_in(appliance):
    in_path = appliance.request(f"/hooks/door/{SECRET}", "", content_type="text/plain")
    assert (in_path.status, in_path.json) == (202, {"job": "door", "run": 1})
    appliance.wait_until(lambda: appliance.daemon.appliance.history()[0].outcome is Outcome.SUCCEEDED)
    in_header = appliance.request("/hooks/door", {"event": "any body"}, x_webhook_secret=SECRET)
    assert (in_header.status, in_header.json["run"]) == (202, 2)
    assert list_starts(appliance) == [("door", Trigger.WEBHOOK)] * 2


def test_a_wrong_secret_a_wrong_job_and_a_job_without_one_look_alike(appliance):
    paths = ["/hooks/door/wrong", "/hooks/nobody/wrong", f"/hooks/other/{SECRET}", "/hooks/door", "/hooks/door/%ff"]
    answers = [appliance.request(path, "") for path in paths]
    assert {answer.status for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    assert list_starts(appliance) == []
    assert appliance.request(f"/hooks/door/{SECRET}").status == 405  # a GET, such as of a preview of a link


def test_guessing_is_slowed_down(appliance):
    statuses = [appliance.request("/hooks/door/wrong", "").status for _ in range(11)]
    assert statuses == [404] * 10 + [429]
    assert appliance.request(f"/hooks/door/{SECRET}", "").status == 429
    appliance.ticks.now += 61
    assert appliance.request(f"/hooks/door/{SECRET}", "").status == 202


def test_a_paused_job_is_not_started(appliance):
    appliance.daemon.appliance.pause("door", now=appliance.daemon.started_at)
    answer = appliance.request(f"/hooks/door/{SECRET}", "")
    assert (answer.status, answer.json) == (409, {"error": "door is paused"})
    assert list_starts(appliance) == []


def test_a_condition_applies_to_an_event(tmp_path):
    conditions = '    conditions: {command: ["false"]}\n    triggers: {webhook: DOOR_HOOK}\n'
    path = configuration(tmp_path, jobs=job("door", "print('ding dong')", conditions))
    secrets = path.with_name("secrets.env")
    secrets.write_text(f"DOOR_HOOK={SECRET}\n")
    secrets.chmod(0o600)
    with serving(path) as appliance:
        assert appliance.request(f"/hooks/door/{SECRET}", "").status == 202
        appliance.wait_until(lambda: appliance.daemon.appliance.history()[0].outcome)
        assert appliance.daemon.appliance.history()[0].outcome is Outcome.SKIPPED


def test_a_call_during_a_run_is_treated_like_a_slot(tmp_path):
    wait = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)"
    jobs = job("slow", wait, "    triggers: {webhook: HOOK}\n")
    path = configuration(tmp_path, jobs=jobs)
    secrets = path.with_name("secrets.env")
    secrets.write_text(f"HOOK={SECRET}\n")
    secrets.chmod(0o600)
    with serving(path) as appliance:
        assert appliance.request(f"/hooks/slow/{SECRET}", "").json["run"] == 1
        assert appliance.request(f"/hooks/slow/{SECRET}", "").json["run"] == 2
        skipped = appliance.wait_until(lambda: [run for run in appliance.daemon.appliance.history() if run.outcome])
        assert [(run.id, run.outcome, run.summary) for run in skipped] == [
            (2, Outcome.SKIPPED, "run 1 is still active")
        ]
        (tmp_path / "go").touch()
        appliance.wait_until(lambda: appliance.daemon.appliance.history()[1].outcome is Outcome.SUCCEEDED)


def test_a_new_address_replaces_the_one_before(appliance):
    owner = {"authorization": "Bearer open sesame"}
    assert appliance.request("/api/v1/jobs/door/webhook", {}).status == 401
    answer = appliance.request("/api/v1/jobs/other/webhook", {}, **owner)
    assert answer.status == 201
    assert "triggers:\n      webhook: HOOK_OTHER" in appliance.daemon.appliance.config.path.read_text()
    assert appliance.request(answer.json["path"], "").status == 202
    page = appliance.request("/jobs/door/webhook", "", **owner)
    assert page.status == 200
    address = page.text.split('value="')[1].split('"')[0]
    assert address.startswith(f"{appliance.origin}/hooks/door/")
    assert appliance.request(address.removeprefix(appliance.origin), "").status == 202
    assert appliance.request(f"/hooks/door/{SECRET}", "").status == 404
    for path in ("/jobs/door", "/jobs/door/edit", "/settings/file", "/api/v1/jobs/door"):
        shown = appliance.request(path, **owner)
        assert shown.status == 200, path
        assert address.rpartition("/")[2] not in shown.text


def test_a_missing_secret_is_a_problem_until_an_address_is_created(installation: Installation) -> None:
    installation.write("door: {kind: command, triggers: {webhook: DOOR_HOOK}, with: {run: ['true']}}", QUIET)
    assert (
        "missing secrets: DOOR_HOOK; run: pi-appliance jobs webhook door" in installation.run("config", "check").stderr
    )
    with running_daemon(installation) as daemon:
        assert "webhook of door: DOOR_HOOK is not in secrets.env" in installation.run("doctor").stdout
        assert "DOOR_HOOK is not in secrets.env" in installation.json("jobs", "triggers")[0]["problem"]
        assert "starts door" in installation.run("jobs", "webhook", "door").stdout
        wait_until(lambda: not installation.json("jobs", "triggers")[0]["problem"])
        assert "1 ready" in installation.run("doctor").stdout
        secret = (installation.folder / "secrets.env").read_text().strip().partition("=")[2]
        assert secret not in daemon.output


def test_a_secret_in_the_configuration_is_refused_and_not_repeated(installation: Installation) -> None:
    installation.write("door: {kind: command, triggers: {webhook: s3cret-itself}, with: {run: ['true']}}", QUIET)
    checked = installation.run("config", "check")
    assert (checked.returncode, "this is not the name of a secret" in checked.stderr) == (2, True)
    assert "s3cret-itself" not in checked.stderr
