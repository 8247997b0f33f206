"""Jobs that are added, edited, copied, removed and switched, on the command line and over the API."""

from pathlib import Path

import pytest

from tests.installation import Installation
from tests.web.served_appliance import ServedAppliance, configuration, serving

# The comments and the order of the file are the owner's.
JOBS = """\
daily:  # the best lines
  kind: tweet
  # not in the morning
  schedule: "0 18 * * *"  # evening
  chance: 1/4
  retry: {max-retries: 3}
  with: {lines: lines.txt, network: here, send-within: 2h}  # and nowhere else
solve:
  kind: puzzle
  with:
    puzzle: peg-solitaire
    rules: {goal: "3,3"}  # nested
backup:
  kind: command
  schedule: "@daily"
  with: {run: [sh, -c, secret-program]}
  conditions: {online: true, command: [secret-check]}
# the end"""
REST = "networks: {here: {kind: preview}, there: {kind: preview}}\n"


@pytest.fixture
def home(installation: Installation) -> Installation:
    installation.write(JOBS, REST)
    return installation


@pytest.fixture
def appliance(tmp_path: Path):
    indented = "".join(f"  {line}\n" for line in JOBS.splitlines())
    path = configuration(tmp_path, jobs=indented)
    path.write_text(path.read_text() + REST)
    with serving(path) as result:
        yield result


def text_of(appliance: ServedAppliance) -> str:
    return appliance.daemon.appliance.config.path.read_text()


def test_the_command_changes_the_file_and_keeps_all_else(home: Installation) -> None:
    before = home.config.read_text()
    added = home.json("jobs", "add", "Hourly News", "tweet", "--schedule", "every 1h", "--chance", "1/2",
                      "--set", "with.lines=lines.txt", "--set", "with.network=here")  # fmt: skip
    assert (added["job"], added["when"]) == ("hourly-news", "every hour, one time in two")
    assert home.json("jobs", "copy", "daily")["job"] == "daily-2"
    edited = home.run("jobs", "edit", "daily", "--chance", "", "--set", "retry.max-retries=5").stdout
    assert "daily: every day at 18:00\n" in edited
    assert "retry.max-retries: 5" in edited
    assert home.run("jobs", "off", "daily").stdout == "daily is off\n"
    assert home.json("jobs", "show", "daily")["paused"]
    assert home.run("jobs", "off", "daily").stdout == "daily is off\n"
    assert home.run("jobs", "on", "daily").stdout.startswith("daily is on; next slot:")
    assert home.run("jobs", "on", "daily").stdout.startswith("daily is on; next slot:")
    home.json("jobs", "edit", "daily", "--chance", "1/4", "--set", "retry.max-retries=3")
    for name in ("hourly-news", "daily-2"):
        assert "its history stays" in home.run("jobs", "remove", name).stdout
    after = home.config.read_text()
    # A removed key is added again at the end of its job.
    assert sorted(after.split("\n")) == sorted(before.split("\n"))
    assert after.replace("chance: 1/4", "") != after


@pytest.mark.parametrize(
    ("name", "values", "old", "new"),
    [
        ("daily", {"set": ["with.order=in-order"]}, "send-within: 2h}", "send-within: 2h, order: in-order}"),
        ("daily", {"set": ["with.network=there"]}, "network: here", "network: there"),
        ("daily", {"set": ["with.network=[here, there]"]}, "network: here", "network: [here, there]"),
        ("daily", {"set": ["retry.max-retries="]}, "    retry: {max-retries: 3}\n", ""),
        ("daily", {"schedule": '["06:00", "18:00"]'}, '"0 18 * * *"', '["06:00", "18:00"]'),
        ("solve", {"set": ['with.rules={goal: "2,3"}']}, '{goal: "3,3"}', '{goal: "2,3"}'),
        ("backup", {"schedule": "every 6h"}, '"@daily"', '"every 6h"'),
        ("backup", {"set": ["conditions.online=false"]}, "online: true", "online: false"),
    ],
)
def test_only_what_differs_is_written(
    appliance: ServedAppliance, name: str, values: dict[str, object], old: str, new: str
) -> None:
    before = text_of(appliance)
    version = appliance.request(f"/api/v1/jobs/{name}").json["version"]
    answer = appliance.request(f"/api/v1/jobs/{name}", {**values, "version": version}, method="PATCH")
    assert answer.status == 200, answer.text
    assert text_of(appliance) in (before.replace(old, new), before.replace(old, new.strip('"')))
    again = appliance.request(f"/api/v1/jobs/{name}", {**values, "version": version}, method="PATCH")
    assert again.status == 409
    assert "changed by somebody else" in again.text


def test_a_program_is_neither_shown_nor_added_nor_copied(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    shown = appliance.request("/api/v1/jobs/backup")
    assert shown.json["values"] == {"schedule": "@daily", "conditions.online": "true"}
    assert "secret" not in shown.text
    refused = [
        appliance.request("/api/v1/jobs", {"name": "x", "kind": "command", "set": ["with.run=[id]"]}),
        appliance.request("/api/v1/jobs/backup/copy", {}),
        appliance.request("/api/v1/jobs/backup", {"set": ["with.run=[id]"]}, method="PATCH"),
        appliance.request("/api/v1/jobs/daily", {"set": ["conditions={command: [id]}"]}, method="PATCH"),
        appliance.request("/api/v1/jobs/daily", {"set": ["conditions.command=[id]"]}, method="PATCH"),
        appliance.request("/api/v1/jobs/daily", {"set": ["kind=command"]}, method="PATCH"),
    ]
    assert [each.status for each in refused] == [409, 409, 422, 422, 422, 422]
    assert all("on the machine only" in each.text for each in refused[:2])
    assert text_of(appliance) == before


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"set": ["with.lins=x"]}, "'with.lins' is not a key that can be changed here; did you mean 'with.lines'?"),
        ({"set": ["nice"]}, "write KEY=VALUE"),
        ({"set": ["nice=99"]}, "nice: 99 is not a valid niceness; write 0 to 19"),
        ({"set": ["with.lines="]}, "with: 'lines' is missing"),
        ({"set": ["with.lines=", "with.network="]}, "; also 'network' is missing; add network: …"),
        ({"set": ["retry.max-retries=[1"]}, "retry.max-retries: not YAML"),
        ({"set": ["with.network=nowhere"]}, "no network is called 'nowhere'"),
        ({"schedule": "66 * * * *"}, "schedule: invalid minute"),
        ({"schedule": ""}, "'chance' needs a schedule"),
    ],
)
def test_a_wrong_value_is_refused_by_its_key(
    appliance: ServedAppliance, values: dict[str, object], message: str
) -> None:
    before = text_of(appliance)
    answer = appliance.request("/api/v1/jobs/daily", values, method="PATCH")
    assert answer.status in (400, 422)
    assert message in answer.json["error"]
    assert text_of(appliance) == before


def test_a_job_that_others_need_or_that_runs_is_not_removed(appliance: ServedAppliance) -> None:
    assert appliance.request("/api/v1/jobs/daily", {"schedule": "", "chance": "", "set": ["depends-on=solve"]},
                         method="PATCH").json["when"] == "after solve"  # fmt: skip
    assert "no job is called 'solve'" in appliance.request("/api/v1/jobs/solve", method="DELETE").text
    assert appliance.request("/api/v1/jobs/daily", method="DELETE").json == {"job": "daily"}
    assert appliance.request("/api/v1/jobs/solve", method="DELETE").status == 200
    assert appliance.request("/api/v1/jobs/gone", method="DELETE").status == 404
