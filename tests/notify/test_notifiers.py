"""Notifications over real sockets: mail, ntfy, webhook, program, healthchecks; once per change, no secret shown."""

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.fakes.http_recorder import HttpRecorder, http_recorder
from tests.fakes.smtp_server import fake_smtp
from tests.installation import Installation, wait_until

PASSWORD = "p@ss:w/o rd+%?#"
BAD = "bad:\n  kind: command\n  with: {directory: ., run: [sh, -c, 'echo trying the disk; test -e ok']}"


@pytest.fixture
def recorder() -> Iterator[HttpRecorder]:
    with http_recorder() as listening:
        yield listening


def notifiers(**urls: str) -> str:
    """Return the sections that configure notifiers for every job."""
    lines = "".join(f"  {name}: {{kind: apprise, with: {{url: '{url}'}}}}\n" for name, url in urls.items())
    return f"notifiers:\n{lines}notify: {{on-failure: [{', '.join(urls)}], on-recovery: [{', '.join(urls)}]}}"


def put_secrets(installation: Installation, **values: str) -> None:
    path = installation.folder / "secrets.env"
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()), "utf-8")
    path.chmod(0o600)


def make_all_due(installation: Installation) -> None:
    """Make all pending messages due now."""
    before = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    with sqlite3.connect(installation.state / "history.db") as db:
        db.execute("UPDATE outbox SET next_attempt_at = ?", (before,))
    db.close()


def state_of(installation: Installation) -> str:
    """Return everything that is stored or shown of runs and notifications."""
    shown = [
        installation.run(*words)
        for words in (("notifiers", "list"), ("notifiers", "list", "--json"), ("jobs", "history"))
    ]
    contents = [path.read_bytes().decode(errors="replace") for path in installation.state.rglob("*") if path.is_file()]
    return "\n".join([*(done.stdout + done.stderr for done in shown), *contents])


def test_mail_is_sent_with_the_password_from_the_secrets(installation):
    with fake_smtp("me@home.example", PASSWORD) as server:
        put_secrets(installation, MAIL_PASSWORD=PASSWORD)
        address = f"127.0.0.1:{server.port}?mode=insecure&from=pi@home.example&to=me@home.example"
        installation.write(BAD, notifiers(mail=f"mailto://me%40home.example:${{MAIL_PASSWORD}}@{address}"))
        installation.run("jobs", "run", "bad")

        (mail,) = server.mails
        assert re.fullmatch(r"bad failed on \S+", str(mail["subject"]))
        assert mail["to"] == "me@home.example"
        text = mail.get_content()
        assert "sh ended with status 1" in text
        assert "trying the disk" in text
        assert "pi-appliance jobs log 1" in text


def test_a_wrong_mail_password_is_reported_without_showing_it(installation):
    with fake_smtp("me@home.example", "another") as server:
        put_secrets(installation, MAIL_PASSWORD=PASSWORD)
        address = f"127.0.0.1:{server.port}?mode=insecure&from=pi@home.example&to=me@home.example"
        installation.write(BAD, notifiers(mail=f"mailto://me%40home.example:${{MAIL_PASSWORD}}@{address}"))
        done = installation.run("notifiers", "test", "mail")
    assert done.returncode == 1
    assert done.stderr == "mail: not sent: the service answered 535: wrong user or password\n"


@pytest.mark.slow_variants
@pytest.mark.parametrize("url", ["ntfy://{}/garden-shed", "json://{}/hook"])
def test_five_failures_in_a_row_send_one_message_and_the_recovery_another(installation, recorder, url):
    installation.write(BAD, notifiers(phone=url.format(recorder.address)))
    for _ in range(5):
        installation.run("jobs", "run", "bad")
    assert [title.partition(" on ")[0] for title in recorder.titles] == ["bad failed"]
    (installation.folder / "ok").touch()
    for _ in range(2):
        installation.run("jobs", "run", "bad")
    assert [title.partition(" on ")[0] for title in recorder.titles] == ["bad failed", "bad works again"]
    recovery = recorder.requests[-1].json["message"]
    assert re.search(r"After 5 failures since \w{3} \d{4}-\d\d-\d\d \d\d:\d\d\.", recovery)
    assert "Run 6" in recovery


def test_a_server_that_was_down_gets_the_message_once(installation):
    with http_recorder() as recorder:
        port = recorder.port
    installation.write(BAD, notifiers(phone=f"json://127.0.0.1:{port}/hook-of-mine"))
    installation.run("jobs", "run", "bad")
    (waiting,) = installation.json("notifiers", "list")["pending"]
    assert (waiting["notifier"], waiting["run"], waiting["attempts"]) == ("phone", 1, 1)
    assert waiting["last_error"] == "not reached: nothing listens there"
    with http_recorder(port) as recorder:
        installation.run("jobs", "run", "bad")
        assert recorder.requests == [], "not due yet"
        make_all_due(installation)
        for _ in range(2):
            installation.run("jobs", "run", "bad")
        assert len(recorder.requests) == 1
        assert "Run 1," in recorder.requests[0].json["message"]
    assert installation.json("notifiers", "list")["pending"] == []


def test_a_job_may_have_its_own_notifiers_or_none(installation, recorder):
    quiet = BAD.replace("bad:", "quiet:") + "\n  notify: {on-failure: []}"
    own = BAD.replace("bad:", "own:") + "\n  notify: {on-failure: [other]}"
    phone, other = f"json://{recorder.address}/phone", f"json://{recorder.address}/other"
    installation.write(
        f"{quiet}\n{own}",
        notifiers(phone=phone, other=other).replace("on-failure: [phone, other]", "on-failure: [phone]"),
    )
    installation.run("jobs", "run", "quiet")
    installation.run("jobs", "run", "own")
    assert [(each.path, each.json["title"].split()[0]) for each in recorder.requests] == [("/other", "own")]


def test_a_program_gets_the_text_on_stdin_and_no_secret(installation):
    put_secrets(installation, MAIL_PASSWORD=PASSWORD)
    script = f'cd "{installation.folder}"; cat > got; echo "$1" > title; env > seen'
    program = ["sh", "-c", script, "sh", "{title}"]
    mailer = f"{{kind: command, with: {{run: {json.dumps(program)}}}}}"
    installation.write(BAD, f"notifiers:\n  mailer: {mailer}\nnotify: {{on-failure: [mailer]}}")
    installation.run("jobs", "run", "bad", environment={"X_CONSUMER_KEY": "hush", "MAIL_PASSWORD": "hush"})
    title = (installation.folder / "title").read_text("utf-8")
    assert title.startswith("bad failed on ")
    assert (
        (installation.folder / "got")
        .read_text("utf-8")
        .startswith(f"{title}\nsh ended with status 1: trying the disk\n")
    )
    assert "hush" not in (installation.folder / "seen").read_text("utf-8")


def test_a_job_sees_no_secret_of_an_address(installation, recorder):
    job = "bad:\n  kind: command\n  with: {run: [sh, -c, 'env; false']}"
    installation.write(job, notifiers(phone=f"json://{recorder.address}/${{HOOK}}"))
    installation.run("jobs", "run", "bad", environment={"HOOK": "hush-hush"})
    assert recorder.requests[0].path == "/hush-hush"
    assert "hush" not in installation.run("jobs", "log", "1").stdout


@pytest.mark.slow_variants
@pytest.mark.parametrize("fault", [401, 403, 404, 429, 500, "away"])
def test_no_address_or_secret_is_stored_or_shown(installation, fault):
    with http_recorder() as recorder:
        recorder.faults += [fault] * 9
        put_secrets(installation, TOKEN="tk_hushhushhush", HOOK="sesame-hook", HC="0000-hush-uuid")
        phone = f"ntfy://${{TOKEN}}@{recorder.address}/literal-topic"
        hook = f"json://user:${{TOKEN}}@{recorder.address}/${{HOOK}}"
        ping = f"\n  healthchecks-url: http://{recorder.address}/${{HC}}"
        installation.write(BAD + ping, notifiers(phone=phone, hook=hook))
        if fault != "away":
            done = installation.run("jobs", "run", "bad")
            tried = installation.run("notifiers", "test")
    if fault == "away":
        done = installation.run("jobs", "run", "bad")
        tried = installation.run("notifiers", "test")
    output = done.stdout + done.stderr + tried.stdout + tried.stderr + state_of(installation)
    for secret in ("hush", "sesame", "literal-topic", recorder.address):
        assert secret not in output
    assert {message["last_error"][:11] for message in installation.json("notifiers", "list")["pending"]} <= {
        "the service",
        "not reached",
    }
    assert tried.returncode == (75 if fault in ("away", 429, 500) else 1)


# --- healthchecks ---------------------------------------------------------------------------------------------------

PINGED = "{}\n  healthchecks-url: http://{}/ping/${{HC}}"


def pinged(installation: Installation, recorder: HttpRecorder, job: str = BAD, rest: str = "") -> None:
    put_secrets(installation, HC="0000-uuid")
    installation.write(PINGED.format(job, recorder.address), rest)


def calls(recorder: HttpRecorder) -> list[tuple[str, str]]:
    """Return the paths that were called, and the run id of each."""
    return [
        (each.path.partition("?")[0].removeprefix("/ping/0000-uuid"), each.path.partition("rid=")[2])
        for each in recorder.requests
    ]


@pytest.mark.slow
def test_start_and_end_of_a_run_are_pinged_with_one_id(installation, recorder):
    pinged(installation, recorder)
    installation.run("jobs", "run", "bad")
    (installation.folder / "ok").touch()
    installation.run("jobs", "run", "bad")
    (begun, first), (ended, same), (again, second), (well, other) = calls(recorder)
    assert (begun, ended, again, well) == ("/start", "/fail", "/start", "")
    assert first == same != second == other
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first)
    assert b"sh ended with status 1" in recorder.requests[1].body
    assert b"trying the disk" in recorder.requests[1].body


def test_a_skipped_run_is_not_pinged_and_a_query_is_kept(installation, recorder):
    pinged(installation, recorder, BAD + "\n  schedule: '@daily'\n  chance: 0.000001")
    done = installation.run("jobs", "run", "bad", "--as-scheduled", "--json")
    assert json.loads(done.stdout)["outcome"] == "skipped"
    assert recorder.requests == []
    installation.write(f"{BAD}\n  healthchecks-url: http://{recorder.address}/slug?create=1")
    installation.run("jobs", "run", "bad")
    assert [each.path.partition("&")[0] for each in recorder.requests] == [
        "/slug/start?create=1",
        "/slug/fail?create=1",
    ]


@pytest.mark.slow
def test_only_the_last_ping_that_failed_is_sent_later(installation):
    with http_recorder() as recorder:
        port = recorder.port
    pinged(installation, recorder)
    for _ in range(3):
        done = installation.run("jobs", "run", "bad")
        assert done.returncode == 1, "the result of the run does not depend on the ping"
    assert [message["run"] for message in installation.json("notifiers", "list")["pending"]] == [3]
    with http_recorder(port) as recorder:
        make_all_due(installation)
        installation.run("notifiers", "list")
        installation.run("jobs", "run", "bad")
        assert [path for path, _ in calls(recorder)] == ["/start", "/fail"]


def test_a_ping_that_hangs_does_not_delay_the_run(installation, recorder):
    recorder.faults.append("hold")
    pinged(installation, recorder, "quick:\n  kind: command\n  with: {directory: ., run: [touch, done]}")
    with installation.start("jobs", "run", "quick") as process:
        wait_until((installation.folder / "done").exists)
        wait_until(lambda: recorder.requests)  # the start is sent in parallel, so it may arrive after the job
        assert calls(recorder)[0][0] == "/start"
        recorder.released.set()
        assert process.wait(30) == 0
    assert [path for path, _ in calls(recorder)] == ["/start", ""]
