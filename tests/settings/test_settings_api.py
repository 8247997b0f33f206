"""The configuration changed over the API and the command line: hidden programs, history, problems."""

from pathlib import Path

import pytest

from pi_appliance.config.hidden_programs import PLACEHOLDER
from tests.installation import Installation
from tests.web.served_appliance import ServedAppliance, configuration, serving

SECRET = "tar c /home | gpg"
JOBS = f"""
  backup:
    kind: command  # every night
    with:
      # the key is in the safe
      run: [sh, -c, "{SECRET}"]
  check: {{kind: command, with: {{run: ["true"]}}, conditions: {{command: [test, -e, /mnt/disk]}}}}
"""


@pytest.fixture
def appliance(tmp_path: Path):
    with serving(configuration(tmp_path, jobs=JOBS)) as result:
        yield result


def text_of(appliance: ServedAppliance) -> str:
    return appliance.daemon.appliance.config.path.read_text("utf-8")


def test_programs_are_not_shown_and_stay_when_the_text_is_saved(appliance: ServedAppliance) -> None:
    before, options = text_of(appliance), appliance.daemon.appliance.config.jobs["backup"].options
    shown = appliance.request("/api/v1/config").json
    assert SECRET not in shown["text"]
    assert "/mnt/disk" not in shown["text"]
    assert "in the safe" not in shown["text"]
    assert shown["text"].count(PLACEHOLDER) == 3
    changed = shown["text"].replace("# every night", "# every Sunday")
    answer = appliance.request("/api/v1/config", {"text": changed, "version": shown["version"]})
    assert answer.status == 200, answer.text
    assert "-    kind: command  # every night\n+    kind: command  # every Sunday" in answer.json["diff"]
    assert text_of(appliance) == before.replace("# every night", "# every Sunday")
    assert appliance.daemon.appliance.config.jobs["backup"].options == options
    assert appliance.daemon.reloads == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (PLACEHOLDER, "{run: [rm, -rf, /]}"),
        ("jobs:\n", "jobs:\n  new: {kind: command, with: {run: [id]}}\n"),
        ("  backup:\n", f'  copy: {{kind: command, with: "{PLACEHOLDER}"}}\n  backup:\n'),
        ("jobs:\n", "notifiers: {siren: {kind: command, with: {run: [id]}}}\njobs:\n"),
        ("jobs:\n", "jobs:\n  new: {kind: tweet, conditions: {command: [id]}}\n"),
    ],
)
def test_a_program_cannot_be_added_or_changed(appliance: ServedAppliance, old: str, new: str) -> None:
    before, shown = text_of(appliance), appliance.request("/api/v1/config").json
    text = shown["text"].replace(f'"{old}"' if old == PLACEHOLDER else old, new, 1)
    assert text != shown["text"]
    answer = appliance.request("/api/v1/config", {"text": text})
    assert answer.status == 409
    assert "would start a program; programs are added and changed on the machine only" in answer.text
    key = {"key": "jobs.backup.with", "value": "{run: [id]}"}
    assert appliance.request("/api/v1/config/values", key).status == 409
    assert text_of(appliance) == before


def test_problems_are_listed_as_one_types(appliance: ServedAppliance) -> None:
    text = appliance.request("/api/v1/config").json["text"]
    assert appliance.request("/api/v1/config/check", {"text": text}).json == {"problems": []}
    wrong = text + "\n  Wake up: {kind: tweet}\nvolume: {maximum: 200}\nradio: {silence-timeout: 5s}\n"
    problems = appliance.request("/api/v1/config/check", {"text": wrong}).json["problems"]
    assert {
        "line": wrong[: wrong.index("volume: {maximum: 200}")].count("\n") + 1,
        "column": 19,
        "message": "200 is not a valid volume",
        "hint": "write 0 to 100",
    } in problems
    assert any("cannot be a name" in each["message"] for each in problems)
    [problem] = appliance.request("/api/v1/config/check", {"text": "jobs: ["}).json["problems"]
    assert problem["message"].startswith("not YAML")


def test_a_wrong_text_changes_nothing(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    answer = appliance.request("/api/v1/config", {"text": before.replace("jobs:", "jbos:")})
    assert answer.status == 422
    assert text_of(appliance) == before
    assert appliance.daemon.reloads == 0


def test_the_second_of_two_editors_is_told(appliance: ServedAppliance) -> None:
    version = appliance.request("/api/v1/config").json["version"]
    first = appliance.request("/api/v1/config/values", {"key": "stop-grace", "value": "7s", "version": version})
    assert first.status == 200, first.text
    second = appliance.request("/api/v1/config/values", {"key": "stop-grace", "value": "8s", "version": version})
    assert second.status == 409
    assert "changed by somebody else" in second.text
    assert appliance.daemon.appliance.config.stop_grace.seconds == 7


def test_the_command_line_sets_a_value_and_goes_back(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.write("hello: {kind: command, with: {run: [echo]}}", "volume: {maximum: 60}  # not louder")
    before = installation.config.read_text()
    status, output, errors = installation.call("config", "set", "volume.maximum", "70")
    assert (status, errors) == (0, "")
    assert b"-volume: {maximum: 60}  # not louder\n+volume: {maximum: 70}  # not louder" in output
    assert installation.config.read_text() == before.replace("60}", "70}")
    installation.config.write_bytes(b"\xff volume: {maximum: [\n")
    [earlier] = installation.json("config", "history")
    status, _, errors = installation.call("config", "restore", "last-good")
    assert status == 1
    assert f"there is no last good copy of {installation.config}; correct the file, or go back to" in errors
    status, output, _ = installation.call("config", "restore", earlier["name"])
    assert status == 0
    assert installation.config.read_text() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("volume.maximum", "many"), "'many' is not a whole number"),
        (("volume..maximum", "1"), "'volume..maximum' is not a key; write one such as volume.maximum"),
        (("volume.maximal", "1"), "unknown key 'maximal'"),
        (("stop-grace",), "stop-grace is not in the file"),
    ],
)
def test_a_wrong_value_gets_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    installation = Installation(tmp_path)
    installation.write("", "volume: {maximum: 60}")
    before = installation.config.read_text()
    status, _, errors = installation.call("config", "set", *words)
    assert status in (1, 2)
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert installation.config.read_text() == before
