"""pi-appliance notices, and what the configuration check says of them."""

import re
from collections.abc import Iterator

import pytest

from tests.fakes.http_ear import Ear, http_ear
from tests.house import ROOT

JOB = "backup: {kind: command, with: {run: ['true']}}"


@pytest.fixture
def ear() -> Iterator[Ear]:
    with http_ear() as listening:
        yield listening


def phone(ear: Ear, more: str = "on-failure: [phone]") -> str:
    return f"notices:\n  phone: {{kind: apprise, with: {{url: 'json://{ear.address}/${{HOOK}}'}}}}\n{more}"


HOOK = {"HOOK": "sesame"}


RECIPES = re.findall(
    r"^```yaml\n(.*?)^```", (ROOT / "docs" / "notices.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_the_recipes_in_the_docs_are_good(house, recipe):
    house.config.write_text(f"state-dir: {house.state}\n{recipe}", "utf-8")
    done = house.run("config", "check", environment=dict.fromkeys(re.findall(r"\$\{(\w+)\}", recipe), "abc"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("rest", "job", "told"),
    [
        ("on-failure: [fone]", JOB, ":{}:14: no notice is called 'fone'; did you mean 'phone'?"),
        ("on-recovery: [phone, you]", JOB, ":{}:22: no notice is called 'you'; "),
        ("", JOB[:-1] + ", on-failure: [phome]}", ":{}:63: no notice is called 'phome'; did you mean 'phone'?"),
        (
            "",
            JOB[:-1] + ", healthchecks-url: 'ftp://x'}",
            "a ping goes to a web address; write one such as https://hc-ping.com/",
        ),
        ("", JOB[:-1] + ", healthchecks-url: 'hush'}", "this is no address; write one such as https://hc-ping.com/"),
    ],
)
def test_what_is_wrong_with_a_name_or_a_ping_is_told_at_its_place(house, ear, rest, job, told):
    house.write(job, phone(ear, rest))
    done = house.run("config", "check", environment=HOOK)
    assert done.returncode == 2
    lines = house.config.read_text("utf-8").splitlines()
    (number,) = (number for number, text in enumerate(lines, 1) if "on-" in text or "healthchecks-url" in text)
    assert told.format(number) in done.stderr


@pytest.mark.parametrize(
    ("notice", "told"),
    [
        ("kind: aprise", "no kind of notice is called 'aprise'; did you mean 'apprise'?"),
        ("kind: apprise", "'url' is missing"),
        ("kind: apprise, with: {url: ntfy.sh/hush}", "this is no address"),
        ("kind: apprise, with: {url: 'mailto://me:hush@x'}", "a password does not belong here"),
        ("kind: apprise, with: {url: 'ntyf://hush'}", "Apprise does not understand this address"),
        ("kind: command, with: {run: []}", "no program is named"),
    ],
)
def test_what_is_wrong_with_a_notice_is_told_without_its_address(house, notice, told):
    house.write(JOB, f"notices:\n  phone: {{{notice}}}")
    done = house.run("config", "check")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{house.config}:5:")
    assert told in done.stderr
    assert "hush" not in done.stderr


def test_a_missing_secret_is_a_warning_at_its_place(house, ear):
    house.write(f"{JOB[:-1]}, healthchecks-url: 'https://hc-ping.com/${{HC}}'}}", phone(ear))
    done = house.run("config", "check")
    assert done.returncode == 0
    assert "no HOOK among the secrets; put it into secrets.env (warning)" in done.stderr
    assert "no HC among the secrets; put it into secrets.env (warning)" in done.stderr
    assert house.run("config", "check", environment={**HOOK, "HC": "1"}).stderr == ""


def test_the_list_says_who_is_told_of_what_and_shows_no_address(house, ear):
    house.write(
        f"{JOB[:-1]}, on-failure: [mailer]}}",
        phone(ear).replace("notices:", "notices:\n  mailer: {kind: command, with: {run: [mail, me]}}"),
    )
    told = house.run("notices", "list").stdout
    assert told.splitlines()[1].split() == ["mailer", "command", "mail", "…", "backup"]
    assert told.splitlines()[2].split() == ["phone", "apprise", "json://…", "(HOOK)", "every", "job"]
    house.write(JOB)
    assert house.run("notices", "list").stdout == "there is no notice; how to write one: docs/notices.md\n"


def test_a_test_says_what_came_back(house, ear):
    house.write(JOB, phone(ear))
    done = house.run("notices", "test", environment=HOOK)
    assert (done.returncode, done.stdout) == (0, "phone: sent\n")
    assert ear.heard[0].path == "/sesame"
    assert ear.heard[0].json["title"].startswith("a test from ")

    ear.faults.append(403)
    done = house.run("notices", "test", "phone", environment=HOOK)
    assert done.returncode == 1
    assert done.stderr == "phone: not sent: the service answered 403: not allowed with this user or token\n"
    done = house.run("notices", "test", "phone")
    assert done.stderr == "phone: not sent: no HOOK among the secrets; put it into secrets.env\n"
    done = house.run("notices", "test", "fone")
    assert (done.returncode, done.stderr) == (2, "pi-appliance: no notice is called 'fone'; did you mean 'phone'?\n")


def test_own_words_are_sent_to_whom_the_file_names_or_the_person(house, ear):
    house.write(JOB, phone(ear))
    assert house.run("notices", "send", "hello", "--to", "phone", environment=HOOK).stdout == "phone: sent\n"
    assert house.run("notices", "send", "hello again", environment=HOOK).returncode == 0
    assert ear.titles == ["hello", "hello again"]
    house.write(JOB, phone(ear, ""))
    done = house.run("notices", "send", "hello", environment=HOOK)
    assert (done.returncode, done.stderr.partition(";")[0]) == (1, "pi-appliance: nobody is to be told")


def test_own_words_that_cannot_be_sent_wait_for_the_next_run(house):
    with http_ear() as ear:
        port = ear.port
    house.write(JOB, phone(ear))
    house.run("jobs", "list")
    done = house.run("notices", "send", "it fell over", environment=HOOK)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "phone: not sent: not reached: nothing listens there",
        "phone: it waits; see: pi-appliance notices list",
    ]
    assert "it fell over" in house.run("notices", "list").stdout
    with http_ear(port) as ear:
        house.run("jobs", "run", "backup", environment=HOOK)
        assert ear.titles == ["it fell over"]


def test_own_words_are_sent_though_other_parts_of_the_file_are_wrong(house, ear):
    house.write("backup: {kind: nonsense}", phone(ear) + "\ncolour: red")
    assert house.run("config", "check").returncode == 2
    assert house.run("notices", "send", "the file is wrong", environment=HOOK).stdout == "phone: sent\n"
    assert ear.titles == ["the file is wrong"]


def test_with_no_state_folder_nothing_can_wait(house):
    with http_ear() as ear:
        pass
    house.write(JOB, phone(ear))
    done = house.run("notices", "send", "it fell over", environment=HOOK)
    assert done.returncode == 75
    assert done.stderr.splitlines()[-1].startswith("pi-appliance: nothing can wait")
    assert not house.state.exists()
