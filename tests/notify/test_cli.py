"""Commands `pi-appliance notifiers`, and the messages of the configuration check about notifiers."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.fakes.http_recorder import HttpRecorder, http_recorder
from tests.installation import ROOT

JOB = "backup: {kind: command, with: {run: ['true']}}"


@pytest.fixture
def recorder() -> Iterator[HttpRecorder]:
    with http_recorder() as listening:
        yield listening


def phone(recorder: HttpRecorder, more: str = "notify: {on-failure: [phone]}") -> str:
    return f"notifiers:\n  phone: {{kind: apprise, with: {{url: 'json://{recorder.address}/${{HOOK}}'}}}}\n{more}"


HOOK = {"HOOK": "sesame"}


RECIPES = re.findall(
    r"^```yaml\n(.*?)^```", (ROOT / "docs" / "notifications.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_the_recipes_in_the_docs_are_valid(installation, recipe):
    installation.config.write_text(f"state-dir: {installation.state}\n{recipe}", "utf-8")
    done = installation.run("config", "check", environment=dict.fromkeys(re.findall(r"\$\{(\w+)\}", recipe), "abc"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("rest", "job", "output"),
    [
        ("notify: {on-failure: [fone]}", JOB, ":{}:23: no notifier is called 'fone'; did you mean 'phone'?"),
        ("notify: {on-recovery: [phone, you]}", JOB, ":{}:31: no notifier is called 'you'; "),
        (
            "",
            JOB[:-1] + ", notify: {on-failure: [phome]}}",
            ":{}:72: no notifier is called 'phome'; did you mean 'phone'?",
        ),
        (
            "",
            JOB[:-1] + ", healthchecks-url: 'ftp://x'}",
            "a ping goes to a web address; write one such as https://hc-ping.com/",
        ),
        (
            "",
            JOB[:-1] + ", healthchecks-url: 'hush'}",
            "this is not an address; write one such as https://hc-ping.com/",
        ),
    ],
)
def test_a_wrong_name_or_ping_is_reported_at_its_place(installation, recorder, rest, job, output):
    installation.write(job, phone(recorder, rest))
    done = installation.run("config", "check", environment=HOOK)
    assert done.returncode == 2
    lines = installation.config.read_text("utf-8").splitlines()
    (number,) = (number for number, text in enumerate(lines, 1) if "{on-" in text or "healthchecks-url:" in text)
    assert output.format(number) in done.stderr


@pytest.mark.parametrize(
    ("notifier", "message"),
    [
        ("kind: aprise", "no kind of notifier is called 'aprise'; did you mean 'apprise'?"),
        ("kind: apprise", "'url' is missing"),
        ("kind: apprise, with: {url: ntfy.sh/hush}", "this is not an address"),
        ("kind: apprise, with: {url: 'mailto://me:hush@x'}", "a password does not belong here"),
        ("kind: apprise, with: {url: 'ntyf://hush'}", "Apprise does not understand this address"),
        ("kind: command, with: {run: []}", "no program is named"),
    ],
)
def test_a_wrong_notifier_is_reported_without_its_address(installation, notifier, message):
    installation.write(JOB, f"notifiers:\n  phone: {{{notifier}}}")
    done = installation.run("config", "check")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{installation.config}:5:")
    assert message in done.stderr
    assert "hush" not in done.stderr


def test_a_missing_secret_is_a_warning_at_its_place(installation, recorder):
    installation.write(f"{JOB[:-1]}, healthchecks-url: 'https://hc-ping.com/${{HC}}'}}", phone(recorder))
    done = installation.run("config", "check")
    assert done.returncode == 0
    assert "missing secrets: HOOK; add them to secrets.env (warning)" in done.stderr
    assert "missing secrets: HC; add them to secrets.env (warning)" in done.stderr
    assert installation.run("config", "check", environment={**HOOK, "HC": "1"}).stderr == ""


def test_the_list_shows_the_use_of_each_notifier_but_no_address(installation, recorder):
    installation.write(
        f"{JOB[:-1]}, notify: {{on-failure: [mailer]}}}}",
        phone(recorder).replace("notifiers:", "notifiers:\n  mailer: {kind: command, with: {run: [mail, me]}}"),
    )
    output = installation.run("notifiers", "list").stdout
    assert output.splitlines()[1].split() == ["mailer", "command", "mail", "…", "backup"]
    assert output.splitlines()[2].split() == ["phone", "apprise", "json://…", "(HOOK)", "every", "job"]
    installation.write(JOB)
    assert installation.run("notifiers", "list").stdout == "no notifiers are configured; see docs/notifications.md\n"


def test_the_list_and_the_results_are_json_for_programs(installation, recorder):
    installation.write(JOB, phone(recorder))
    assert json.loads(installation.run("notifiers", "list", "--json").stdout) == {
        "notifiers": [{"notifier": "phone", "kind": "apprise", "address": "json://… (HOOK)", "used_for": "every job"}],
        "pending": [],
    }
    assert json.loads(installation.run("notifiers", "test", "--json", environment=HOOK).stdout) == [
        {"notifier": "phone", "error": None, "exit_status": 0}
    ]


@pytest.mark.slow
def test_a_test_reports_the_result(installation, recorder):
    installation.write(JOB, "name: Kitchen\n" + phone(recorder))
    done = installation.run("notifiers", "test", environment=HOOK)
    assert (done.returncode, done.stdout) == (0, "phone: sent\n")
    assert recorder.requests[0].path == "/sesame"
    assert recorder.requests[0].json["title"] == "a test from Kitchen"

    recorder.faults.append(403)
    done = installation.run("notifiers", "test", "phone", environment=HOOK)
    assert done.returncode == 1
    assert done.stderr == "phone: not sent: the service answered 403: not allowed with this user or token\n"
    done = installation.run("notifiers", "test", "phone")
    assert done.stderr == "phone: not sent: missing secrets: HOOK; add them to secrets.env\n"
    done = installation.run("notifiers", "test", "fone")
    assert (done.returncode, done.stderr) == (2, "pi-appliance: no notifier is called 'fone'; did you mean 'phone'?\n")


def test_a_text_is_sent_to_the_notifiers_of_the_file_or_the_option(installation, recorder):
    installation.write(JOB, phone(recorder))
    assert installation.run("notifiers", "send", "hello", "--to", "phone", environment=HOOK).stdout == "phone: sent\n"
    assert installation.run("notifiers", "send", "hello again", environment=HOOK).returncode == 0
    assert recorder.titles == ["hello", "hello again"]
    installation.write(JOB, phone(recorder, ""))
    done = installation.run("notifiers", "send", "hello", environment=HOOK)
    assert (done.returncode, done.stderr.partition(";")[0]) == (1, "pi-appliance: no notifier is named")


def test_the_result_of_a_text_is_json_for_programs(installation, recorder):
    with http_recorder() as gone:
        other = phone(gone, "").replace("notifiers:\n", "").replace("phone", "pager")
    installation.write(JOB, f"{phone(recorder, '')}{other}")
    installation.run("jobs", "list")
    done = installation.run("notifiers", "send", "hello", "--to", "phone", "--to", "pager", "--json", environment=HOOK)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [
        {"notifier": "phone", "error": None},
        {"notifier": "pager", "error": "not reached: nothing listens there"},
    ]
    (pending,) = installation.json("notifiers", "list")["pending"]
    assert (pending["notifier"], pending["title"]) == ("pager", "hello")


def test_a_text_that_cannot_be_sent_is_sent_by_the_next_run(installation):
    with http_recorder() as recorder:
        port = recorder.port
    installation.write(JOB, phone(recorder))
    installation.run("jobs", "list")
    done = installation.run("notifiers", "send", "it fell over", environment=HOOK)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "phone: not sent: not reached: nothing listens there",
        "phone: it will be sent later; see: pi-appliance notifiers list",
    ]
    assert "it fell over" in installation.run("notifiers", "list").stdout
    with http_recorder(port) as recorder:
        installation.run("jobs", "run", "backup", environment=HOOK)
        assert recorder.titles == ["it fell over"]


def test_a_text_is_sent_when_other_parts_of_the_file_are_wrong(installation, recorder):
    installation.write("backup: {kind: nonsense}", phone(recorder) + "\ncolour: red")
    assert installation.run("config", "check").returncode == 2
    assert installation.run("notifiers", "send", "the file is wrong", environment=HOOK).stdout == "phone: sent\n"
    assert recorder.titles == ["the file is wrong"]


def test_without_a_state_folder_nothing_is_stored(installation):
    with http_recorder() as recorder:
        pass
    installation.write(JOB, phone(recorder))
    done = installation.run("notifiers", "send", "it fell over", environment=HOOK)
    assert done.returncode == 75
    assert done.stderr.splitlines()[-1].startswith("pi-appliance: the message cannot be stored")
    assert not installation.state.exists()
    as_json = installation.run("notifiers", "send", "it fell over", "--json", environment=HOOK)
    assert as_json.returncode == 75
    assert [(each["notifier"], bool(each["error"])) for each in json.loads(as_json.stdout)] == [("phone", True)]
    assert as_json.stderr.startswith("pi-appliance: the message cannot be stored")
