"""Notifications over real sockets: mail, ntfy, webhook, program, healthchecks; once per change, no secret shown."""

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.fakes.http_recorder import Ear, http_ear
from tests.fakes.smtp_server import fake_smtp
from tests.installation import House, until

PASSWORD = "p@ss:w/o rd+%?#"
BAD = "bad:\n  kind: command\n  with: {directory: ., run: [sh, -c, 'echo trying the disk; test -e ok']}"


@pytest.fixture
def ear() -> Iterator[Ear]:
    with http_ear() as listening:
        yield listening


def notifiers(**urls: str) -> str:
    """Return the sections that configure notifiers for every job."""
    lines = "".join(f"  {name}: {{kind: apprise, with: {{url: '{url}'}}}}\n" for name, url in urls.items())
    return f"notifiers:\n{lines}notify: {{on-failure: [{', '.join(urls)}], on-recovery: [{', '.join(urls)}]}}"


def put_secrets(house: House, **values: str) -> None:
    path = house.folder / "secrets.env"
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()), "utf-8")
    path.chmod(0o600)


def make_all_due(house: House) -> None:
    """Make all pending messages due now."""
    before = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    with sqlite3.connect(house.state / "history.db") as db:
        db.execute("UPDATE outbox SET next = ?", (before,))
    db.close()


def state_of(house: House) -> str:
    """Return everything that is stored or shown of runs and notifications."""
    shown = [
        house.run(*words) for words in (("notifiers", "list"), ("notifiers", "list", "--json"), ("jobs", "history"))
    ]
    kept = [path.read_bytes().decode(errors="replace") for path in house.state.rglob("*") if path.is_file()]
    return "\n".join([*(done.stdout + done.stderr for done in shown), *kept])


def test_mail_is_sent_with_the_password_from_the_secrets(house):
    with fake_smtp("me@home.example", PASSWORD) as server:
        put_secrets(house, MAIL_PASSWORD=PASSWORD)
        address = f"127.0.0.1:{server.port}?mode=insecure&from=pi@home.example&to=me@home.example"
        house.write(BAD, notifiers(mail=f"mailto://me%40home.example:${{MAIL_PASSWORD}}@{address}"))
        house.run("jobs", "run", "bad")

        (mail,) = server.mails
        assert re.fullmatch(r"bad failed on \S+", str(mail["subject"]))
        assert mail["to"] == "me@home.example"
        text = mail.get_content()
        assert "sh ended with status 1" in text
        assert "trying the disk" in text
        assert "pi-appliance jobs log 1" in text


def test_a_wrong_mail_password_is_reported_without_showing_it(house):
    with fake_smtp("me@home.example", "another") as server:
        put_secrets(house, MAIL_PASSWORD=PASSWORD)
        address = f"127.0.0.1:{server.port}?mode=insecure&from=pi@home.example&to=me@home.example"
        house.write(BAD, notifiers(mail=f"mailto://me%40home.example:${{MAIL_PASSWORD}}@{address}"))
        done = house.run("notifiers", "test", "mail")
    assert done.returncode == 1
    assert done.stderr == "mail: not sent: the service answered 535: wrong user or password\n"


@pytest.mark.parametrize("url", ["ntfy://{}/garden-shed", "json://{}/hook"])
def test_five_failures_in_a_row_send_one_message_and_the_recovery_another(house, ear, url):
    house.write(BAD, notifiers(phone=url.format(ear.address)))
    for _ in range(5):
        house.run("jobs", "run", "bad")
    assert [title.partition(" on ")[0] for title in ear.titles] == ["bad failed"]
    (house.folder / "ok").touch()
    for _ in range(2):
        house.run("jobs", "run", "bad")
    assert [title.partition(" on ")[0] for title in ear.titles] == ["bad failed", "bad works again"]
    recovery = ear.heard[-1].json["message"]
    assert re.search(r"After 5 failures since \w{3} \d{4}-\d\d-\d\d \d\d:\d\d\.", recovery)
    assert "Run 6" in recovery


def test_a_server_that_was_down_gets_the_message_once(house):
    with http_ear() as ear:
        port = ear.port
    house.write(BAD, notifiers(phone=f"json://127.0.0.1:{port}/hook-of-mine"))
    house.run("jobs", "run", "bad")
    (waiting,) = house.json("notifiers", "list")["pending"]
    assert (waiting["notifier"], waiting["run"], waiting["attempts"]) == ("phone", 1, 1)
    assert waiting["last_error"] == "not reached: nothing listens there"
    with http_ear(port) as ear:
        house.run("jobs", "run", "bad")
        assert ear.heard == [], "not due yet"
        make_all_due(house)
        for _ in range(2):
            house.run("jobs", "run", "bad")
        assert len(ear.heard) == 1
        assert "Run 1," in ear.heard[0].json["message"]
    assert house.json("notifiers", "list")["pending"] == []


def test_a_job_may_have_its_own_notifiers_or_none(house, ear):
    quiet = BAD.replace("bad:", "quiet:") + "\n  notify: {on-failure: []}"
    own = BAD.replace("bad:", "own:") + "\n  notify: {on-failure: [other]}"
    phone, other = f"json://{ear.address}/phone", f"json://{ear.address}/other"
    house.write(
        f"{quiet}\n{own}",
        notifiers(phone=phone, other=other).replace("on-failure: [phone, other]", "on-failure: [phone]"),
    )
    house.run("jobs", "run", "quiet")
    house.run("jobs", "run", "own")
    assert [(each.path, each.json["title"].split()[0]) for each in ear.heard] == [("/other", "own")]


def test_a_program_gets_the_text_on_stdin_and_no_secret(house):
    put_secrets(house, MAIL_PASSWORD=PASSWORD)
    script = f'cd "{house.folder}"; cat > got; echo "$1" > title; env > seen'
    program = ["sh", "-c", script, "sh", "{title}"]
    mailer = f"{{kind: command, with: {{run: {json.dumps(program)}}}}}"
    house.write(BAD, f"notifiers:\n  mailer: {mailer}\nnotify: {{on-failure: [mailer]}}")
    house.run("jobs", "run", "bad", environment={"X_CONSUMER_KEY": "hush", "MAIL_PASSWORD": "hush"})
    title = (house.folder / "title").read_text("utf-8")
    assert title.startswith("bad failed on ")
    assert (house.folder / "got").read_text("utf-8").startswith(f"{title}\nsh ended with status 1: trying the disk\n")
    assert "hush" not in (house.folder / "seen").read_text("utf-8")


def test_a_job_sees_no_secret_of_an_address(house, ear):
    job = "bad:\n  kind: command\n  with: {run: [sh, -c, 'env; false']}"
    house.write(job, notifiers(phone=f"json://{ear.address}/${{HOOK}}"))
    house.run("jobs", "run", "bad", environment={"HOOK": "hush-hush"})
    assert ear.heard[0].path == "/hush-hush"
    assert "hush" not in house.run("jobs", "log", "1").stdout


@pytest.mark.parametrize("fault", [401, 403, 404, 429, 500, "away"])
def test_no_address_or_secret_is_stored_or_shown(house, fault):
    with http_ear() as ear:
        ear.faults += [fault] * 9
        put_secrets(house, TOKEN="tk_hushhushhush", HOOK="sesame-hook", HC="0000-hush-uuid")
        phone = f"ntfy://${{TOKEN}}@{ear.address}/literal-topic"
        hook = f"json://user:${{TOKEN}}@{ear.address}/${{HOOK}}"
        ping = f"\n  healthchecks-url: http://{ear.address}/${{HC}}"
        house.write(BAD + ping, notifiers(phone=phone, hook=hook))
        if fault != "away":
            done = house.run("jobs", "run", "bad")
            tried = house.run("notifiers", "test")
    if fault == "away":
        done = house.run("jobs", "run", "bad")
        tried = house.run("notifiers", "test")
    told = done.stdout + done.stderr + tried.stdout + tried.stderr + state_of(house)
    for secret in ("hush", "sesame", "literal-topic", ear.address):
        assert secret not in told
    assert {message["last_error"][:11] for message in house.json("notifiers", "list")["pending"]} <= {
        "the service",
        "not reached",
    }
    assert tried.returncode == (75 if fault in ("away", 429, 500) else 1)


# --- healthchecks ---------------------------------------------------------------------------------------------------

PINGED = "{}\n  healthchecks-url: http://{}/ping/${{HC}}"


def pinged(house: House, ear: Ear, job: str = BAD, rest: str = "") -> None:
    put_secrets(house, HC="0000-uuid")
    house.write(PINGED.format(job, ear.address), rest)


def calls(ear: Ear) -> list[tuple[str, str]]:
    """Return the paths that were called, and the run id of each."""
    return [
        (each.path.partition("?")[0].removeprefix("/ping/0000-uuid"), each.path.partition("rid=")[2])
        for each in ear.heard
    ]


def test_start_and_end_of_a_run_are_pinged_with_one_id(house, ear):
    pinged(house, ear)
    house.run("jobs", "run", "bad")
    (house.folder / "ok").touch()
    house.run("jobs", "run", "bad")
    (begun, first), (ended, same), (again, second), (well, other) = calls(ear)
    assert (begun, ended, again, well) == ("/start", "/fail", "/start", "")
    assert first == same != second == other
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first)
    assert b"sh ended with status 1" in ear.heard[1].body
    assert b"trying the disk" in ear.heard[1].body


def test_a_skipped_run_is_not_pinged_and_a_query_is_kept(house, ear):
    pinged(house, ear, BAD + "\n  schedule: '@daily'\n  chance: 0.000001")
    done = house.run("jobs", "run", "bad", "--as-scheduled", "--json")
    assert json.loads(done.stdout)["outcome"] == "skipped"
    assert ear.heard == []
    house.write(f"{BAD}\n  healthchecks-url: http://{ear.address}/slug?create=1")
    house.run("jobs", "run", "bad")
    assert [each.path.partition("&")[0] for each in ear.heard] == ["/slug/start?create=1", "/slug/fail?create=1"]


def test_only_the_last_ping_that_failed_is_sent_later(house):
    with http_ear() as ear:
        port = ear.port
    pinged(house, ear)
    for _ in range(3):
        done = house.run("jobs", "run", "bad")
        assert done.returncode == 1, "the result of the run does not depend on the ping"
    assert [message["run"] for message in house.json("notifiers", "list")["pending"]] == [3]
    with http_ear(port) as ear:
        make_all_due(house)
        house.run("notifiers", "list")
        house.run("jobs", "run", "bad")
        assert [path for path, _ in calls(ear)] == ["/start", "/fail"]


def test_a_ping_that_hangs_does_not_delay_the_run(house, ear):
    ear.faults.append("hold")
    pinged(house, ear, "quick:\n  kind: command\n  with: {directory: ., run: [touch, done]}")
    with house.start("jobs", "run", "quick") as process:
        until((house.folder / "done").exists)
        until(lambda: ear.heard)  # the start is sent beside the run, so it may come after the job
        assert calls(ear)[0][0] == "/start"
        ear.released.set()
        assert process.wait(30) == 0
    assert [path for path, _ in calls(ear)] == ["/start", ""]
