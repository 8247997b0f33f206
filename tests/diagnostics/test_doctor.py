"""`pi-appliance doctor` as its owner and other users, with missing and broken parts."""

import json
import os
import re
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.installation import Installation
from tests.other_user import NOBODY_UID, PublicInstallation
from tests.test_daemon import running_daemon

GREET = "greet:\n  kind: command\n  with: {run: [echo, hello]}"
LINE = re.compile(r"(ok|warn|FAIL|-) +\S.*|       +fix: .*")


def run_doctor(installation: Installation, **environment: str) -> dict[str, dict[str, str]]:
    """Return the results by check name; the last one if there are several."""
    done = installation.run("doctor", "--json", environment=environment)
    listed = json.loads(done.stdout)
    assert done.returncode == int(any(each["status"] == "fail" for each in listed)), done.stdout
    assert all(set(each) == {"check", "status", "summary", "fix"} for each in listed)
    assert all(bool(each["fix"]) == (each["status"] in ("warn", "fail")) for each in listed)
    return {each["check"]: each for each in listed}


def states(installation: Installation) -> dict[str, str]:
    return {check: each["status"] for check, each in run_doctor(installation).items()}


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[int]:
    """Answer every GET request in this way, on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


# --- the output -------------------------------------------------------------------------------------------------------


def test_every_check_prints_a_line_and_its_remedy(installation: Installation) -> None:
    installation.write(GREET, f"web: {{port: {free_port()}}}")
    done = installation.run("doctor")
    *lines, last = done.stdout.splitlines()
    assert all(LINE.fullmatch(line) for line in lines), done.stdout
    for line, after in zip(lines, [*lines[1:], last], strict=True):
        assert line.startswith(("warn", "FAIL")) == after.lstrip().startswith("fix:")
    assert re.fullmatch(r"all well|(\d+ fail|1 fails|nothing fails), .*", last)
    assert done.returncode == int("FAIL" in done.stdout)
    assert done.stderr == ""


def test_nothing_is_created_or_changed(installation: Installation) -> None:
    installation.write(GREET)
    before = sorted(installation.folder.rglob("*"))
    installation.run("doctor")
    assert sorted(installation.folder.rglob("*")) == before
    installation.run("jobs", "run", "greet")
    before = [(path, path.read_bytes()) for path in sorted(installation.folder.rglob("*")) if path.is_file()]
    installation.run("doctor")
    assert [(path, path.read_bytes()) for path in sorted(installation.folder.rglob("*")) if path.is_file()] == before


def test_a_healthy_appliance_has_no_failure(installation: Installation) -> None:
    installation.write(GREET, f"web: {{port: {free_port()}}}")
    installation.run("jobs", "run", "greet")
    checks = run_doctor(installation)
    assert "fail" not in {each["status"] for each in checks.values()}
    assert checks["history"]["summary"].startswith("intact, newest run 1")
    assert checks["daemon"]["status"] == "warn"  # no job needs it


def test_a_failing_job_makes_the_doctor_fail(installation: Installation) -> None:
    installation.write("bad:\n  kind: command\n  with: {run: ['false']}", "web: {port: 0}")
    installation.run("jobs", "run", "bad")
    check = run_doctor(installation)["job bad"]
    assert (check["status"], check["fix"]) == ("fail", f"pi-appliance jobs log 1 --config {installation.config}")


# --- missing or broken parts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["state-dir: [\n", "jobs: {a: {kind: comand}}\n", "", "\0", "state-dir: state\njobs: 5\n"]
)
def test_an_invalid_configuration_is_one_line_and_the_others_run(installation: Installation, text: str) -> None:
    installation.config.write_text(text)
    checks = states(installation)
    assert checks["configuration"] == "fail"
    assert set(checks) >= {"clock", "time zone", "card", "state folder", "jobs", "player"}


def test_an_invalid_job_does_not_hide_the_state_folder(installation: Installation) -> None:
    installation.write("a: [", "web: {port: 0}")
    checks = run_doctor(installation)
    assert str(installation.state) in checks["state folder"]["summary"]
    assert checks["configuration"]["fix"] == f"pi-appliance config check --config {installation.config}"


def test_a_missing_configuration_is_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pi_appliance", "doctor", "--json"],
        cwd=tmp_path,
        env={**Installation(tmp_path).environment(), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    first = json.loads(done.stdout)[0]
    assert (first["check"], first["status"]) == ("configuration", "fail")
    assert first["fix"] == "pi-appliance config init ~/appliance"


def test_it_runs_with_nothing_installed(installation: Installation, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    installation.write(
        "greet:\n  kind: command\n  schedule: '@daily'\n  started-by: cron\n  with: {run: [echo]}", "web: {port: 0}"
    )
    checks = run_doctor(installation, PATH=str(empty))
    assert (checks["cron"]["status"], checks["cron"]["fix"]) == ("fail", "sudo apt install cron")
    assert checks["crontab"]["status"] == "fail"
    assert checks["unit"]["status"] == "skipped"


def test_a_state_folder_that_is_a_file_is_reported(installation: Installation) -> None:
    installation.write(GREET, "web: {port: 0}")
    installation.state.write_text("I was here first")
    assert run_doctor(installation)["state folder"]["status"] == "fail"


def test_a_damaged_history_is_reported(installation: Installation) -> None:
    installation.write(GREET, "web: {port: 0}")
    installation.run("jobs", "run", "greet")
    (installation.state / "history.db").write_bytes(b"this is no database" * 500)
    checks = run_doctor(installation)
    assert (checks["history"]["status"], checks["jobs"]["status"]) == ("fail", "skipped")
    assert (installation.state / "history.db").read_bytes().startswith(b"this is no database")


def test_a_state_folder_in_memory_is_a_warning(installation: Installation) -> None:
    memory = Path("/dev/shm")  # noqa: S108 - it is there, and it forgets
    if not memory.is_dir() or not os.access(memory, os.W_OK):
        pytest.skip("there is no /dev/shm here")
    installation.state = memory / f"pi-appliance-{os.getpid()}"
    installation.write(GREET, "web: {port: 0}")
    check = run_doctor(installation)["state is kept"]
    assert check["status"] == "warn"
    assert "tmpfs" in check["summary"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
class TestAsAnotherUser:
    """Root checks the appliance of another user, and other users check that of root."""

    def doctor(self, installation: Installation, user: int) -> dict[str, dict[str, str]]:
        done = subprocess.run(
            [*installation.program, "doctor", "--json", "--config", str(installation.config)],
            env=installation.environment({"HOME": "/nonexistent"}),
            capture_output=True,
            text=True,
            user=user,
            group=user,
            extra_groups=[],
            check=False,
        )
        assert done.stderr == ""
        return {each["check"]: each for each in json.loads(done.stdout)}

    @pytest.fixture
    def readable_installation(self, public_installation: PublicInstallation) -> Installation:
        public_installation.write(GREET, "web: {port: 0}")
        return public_installation

    @pytest.mark.slow
    def test_state_of_another_user_is_not_reported_as_broken(self, readable_installation: Installation) -> None:
        readable_installation.run("jobs", "run", "greet")
        checks = self.doctor(readable_installation, NOBODY_UID)
        assert (checks["state folder"]["status"], checks["history"]["status"], checks["jobs"]["status"]) == (
            "warn",
            "skipped",
            "skipped",
        )
        assert checks["state folder"]["fix"].startswith("sudo -u root pi-appliance doctor --config ")

    @pytest.mark.slow
    def test_secrets_of_another_user_are_not_reported_as_broken(self, readable_installation: Installation) -> None:
        readable_installation.run("jobs", "run", "greet")
        secrets = readable_installation.folder / "secrets.env"
        secrets.write_text("WEB_PASSWORD=open sesame\n")
        secrets.chmod(0o600)
        assert self.doctor(readable_installation, NOBODY_UID)["secrets"]["status"] == "warn"

    def test_an_inaccessible_folder_is_reported(self, readable_installation: Installation) -> None:
        closed = readable_installation.folder / "closed"
        closed.mkdir(mode=0o700)
        readable_installation.state = closed / "state"
        readable_installation.write(GREET, "web: {port: 0}")
        checks = self.doctor(readable_installation, NOBODY_UID)
        assert "nobody may not enter" in checks["state folder"]["summary"]
        assert checks["space"]["status"] == "ok"

    @pytest.mark.slow
    def test_root_probes_as_the_owner_and_leaves_no_files_of_root(self, readable_installation: Installation) -> None:
        readable_installation.state.mkdir()
        os.chown(readable_installation.state, NOBODY_UID, NOBODY_UID)
        self.run_as(readable_installation, NOBODY_UID, "jobs", "run", "greet")
        assert run_doctor(readable_installation)["state folder"]["summary"].endswith("can be written by nobody")
        assert {path.stat().st_uid for path in readable_installation.state.rglob("*")} == {NOBODY_UID}
        readable_installation.state.chmod(0o500)
        check = run_doctor(readable_installation)["state folder"]
        assert (check["status"], "Permission denied" in check["summary"]) == ("fail", True)
        readable_installation.state.chmod(0o700)

    def run_as(self, installation: Installation, user: int, *words: str) -> None:
        command = [*installation.program, *words, "--config", str(installation.config)]
        subprocess.run(
            command,
            env=installation.environment(),
            user=user,
            group=user,
            extra_groups=[],
            check=True,
            capture_output=True,
        )


# --- the daemon -------------------------------------------------------------------------------------------------------

DAILY = "greet:\n  kind: command\n  schedule: '@daily'\n  with: {run: [echo]}"


def test_a_running_daemon_is_reported(installation: Installation) -> None:
    port = free_port()
    installation.write(DAILY, f"web: {{port: {port}}}")
    assert states(installation)["daemon"] == "fail"
    with running_daemon(installation):
        checks = run_doctor(installation)
        assert (checks["daemon"]["status"], checks["daemon"]["summary"]) == (
            "ok",
            f"running at http://127.0.0.1:{port}",
        )
        assert checks["history"]["status"] == "ok"


def test_another_program_at_the_address_is_reported(installation: Installation) -> None:
    with answering(b"<html>router</html>") as port:
        installation.write(DAILY, f"web: {{port: {port}}}")
        assert "something else answers" in run_doctor(installation)["daemon"]["summary"]


def test_an_unhealthy_daemon_is_reported(installation: Installation) -> None:
    with answering(b'{"ok": false, "why": "the scheduler has not looked"}', 503) as port:
        installation.write(DAILY, f"web: {{port: {port}}}")
        check = run_doctor(installation)["daemon"]
        assert (check["status"], "the scheduler has not looked" in check["summary"]) == ("fail", True)


def test_a_silent_daemon_is_reported(installation: Installation) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        installation.write(DAILY, f"web: {{port: {silent.getsockname()[1]}}}")
        check = run_doctor(installation)["daemon"]
        assert (check["status"], "it hangs, or the machine is busy" in check["summary"]) == ("fail", True)


# --- the player -------------------------------------------------------------------------------------------------------


def test_a_hanging_player_does_not_block_the_doctor(installation: Installation) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        installation.write(
            GREET, f"web: {{port: 0}}\nplayer: {{kind: mpd, with: {{address: '{place}', fallback-mpd: false}}}}"
        )
        assert run_doctor(installation)["player"]["status"] == "fail"


def test_a_missing_player_is_a_warning_if_the_private_mpd_can_play(installation: Installation) -> None:
    where = f"address: '127.0.0.1:{free_port()}'"
    installation.write(GREET, f"web: {{port: 0}}\nplayer: {{kind: mpd, with: {{{where}, fallback-mpd: false}}}}")
    assert run_doctor(installation)["player"]["status"] == "fail"
    installation.write(GREET, f"web: {{port: 0}}\nplayer: {{kind: mpd, with: {{{where}}}}}")
    assert run_doctor(installation)["player"]["status"] == "warn"


# --- the bundle -------------------------------------------------------------------------------------------------------

TOPIC, PASSWORD, ENVIRONMENT = "kitchen-alarm-7", "hunter2 is öld", "spoken-by-env-99"
KEY, WEB, ARGUMENT = "x-key-Abc/Def+Ghi=", "open sesame", "argument-of-a-command"
LEAKY = f"""
leak:
  kind: command
  healthchecks-url: https://hc.example/ping/0f8fad5b-d9cb-469f-a165-70867728950e
  with:
    run:
      - sh
      - -c
      - >-
        echo posting to https://ntfy.example/{TOPIC}; env; cat secrets.env; sed 's/.*=/bare /' secrets.env;
        echo was $MY_API_TOKEN; echo token={ARGUMENT}; exit 1
      - https://me:pw-in-address@nas.example/share
"""


@pytest.fixture
def leaky(installation: Installation) -> Installation:
    """Return an installation with a job that has printed every secret."""
    return leaking(installation)


def leaking(installation: Installation) -> Installation:
    secrets = installation.folder / "secrets.env"
    secrets.write_text(f"X_CONSUMER_KEY={KEY}\nWEB_PASSWORD={WEB}\nX_ACCESS_TOKEN={PASSWORD}\n", "utf-8")
    secrets.chmod(0o600)
    leak = LEAKY.replace(" secrets.env", f" '{secrets}'")
    installation.write(leak, "web: {port: 0}\nnetworks:\n  bird: {kind: x}")
    assert installation.run("jobs", "run", "leak", environment={"MY_API_TOKEN": ENVIRONMENT}).returncode == 1
    return installation


def unpacked(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        files = {}
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None
            files[member.name.removeprefix("pi-appliance-doctor/")] = content.read()
        return files


def test_a_bundle_has_the_details_and_no_secret(leaky: Installation, tmp_path: Path) -> None:
    assert PASSWORD in (leaky.state / "logs/leak/1.log").read_text("utf-8")  # it did leak
    bundle = tmp_path / "out.tar.gz"
    done = leaky.run(
        "doctor", "--bundle", str(bundle), environment={"MY_API_TOKEN": ENVIRONMENT, "MPD_PASSWORD": "mpd-word"}
    )
    assert oct(bundle.stat().st_mode & 0o7777) == "0o600"
    files = unpacked(bundle)
    assert set(files) >= {
        "README.txt",
        "configuration.json",
        "doctor.json",
        "runs.json",
        "versions.json",
        "logs/leak-1.log",
    }
    assert {line.split(": ")[1].split(",")[0] for line in done.stderr.splitlines()} == set(files)
    everything = b"\n".join([*files.values(), *(name.encode() for name in files)])
    for secret in (TOPIC, PASSWORD, ENVIRONMENT, KEY, WEB, ARGUMENT, "pw-in-address", "0f8fad5b", "mpd-word"):
        for spelled in (secret.encode(), json.dumps(secret)[1:-1].encode()):
            assert spelled not in everything, secret
    log = files["logs/leak-1.log"].decode()
    assert "posting to https://ntfy.example/[redacted]" in log
    assert json.loads(files["configuration.json"])["content"]["networks"] == {"bird": {"kind": "x"}}
    assert json.loads(files["runs.json"])[0]["job"] == "leak"
    assert {each["check"] for each in json.loads(files["doctor.json"])} >= {"configuration", "job leak"}
    assert json.loads(files["versions.json"])["packages"]["click"]


@pytest.mark.parametrize("broken", ["mode", "line"])
def test_readable_secrets_are_redacted_too(leaky: Installation, tmp_path: Path, broken: str) -> None:
    secrets = leaky.folder / "secrets.env"
    if broken == "mode":
        secrets.chmod(0o644)
    else:
        secrets.write_text(secrets.read_text("utf-8") + "no name here\n", "utf-8")
    bundle = tmp_path / "out.tar.gz"
    assert leaky.run("doctor", "--bundle", str(bundle)).returncode == 1
    everything = b"\n".join(unpacked(bundle).values())
    for secret in (PASSWORD, KEY, WEB):
        assert secret.encode() not in everything


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_without_access_to_the_secrets_a_bundle_is_reduced(
    public_installation: PublicInstallation,
) -> None:
    leaky = leaking(public_installation)
    for path in (leaky.state, *leaky.state.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    place = public_installation.folder / "nobodys"
    place.mkdir()
    os.chown(place, NOBODY_UID, NOBODY_UID)
    done = subprocess.run(
        [*leaky.program, "doctor", "--bundle", str(place / "out.tar.gz"), "--config", str(leaky.config)],
        env=leaky.environment({"HOME": "/nonexistent"}),
        capture_output=True,
        text=True,
        user=NOBODY_UID,
        group=NOBODY_UID,
        extra_groups=[],
        check=False,
    )
    assert "Traceback" not in done.stderr
    files = unpacked(place / "out.tar.gz")
    assert "were left out" in files["README.txt"].decode()
    assert not {"runs.json", "journal.txt", "logs/leak-1.log"} & set(files)
    assert PASSWORD.encode() not in b"\n".join(files.values())


def test_a_bundle_needs_no_configuration(installation: Installation, tmp_path: Path) -> None:
    installation.config.write_text("state-dir: [\n")
    bundle = tmp_path / "out.tar.gz"
    assert installation.run("doctor", "--bundle", str(bundle)).returncode == 1
    files = unpacked(bundle)
    assert "not YAML" in json.loads(files["configuration.json"])["trouble"]


def test_json_and_bundle_exclude_each_other(installation: Installation, tmp_path: Path) -> None:
    installation.write(GREET, "web: {port: 0}")
    done = installation.run("doctor", "--json", "--bundle", str(tmp_path / "out.tar.gz"))
    assert json.loads(done.stdout)
    assert "out.tar.gz: README.txt" in done.stderr


def test_an_unwritable_bundle_is_reported(installation: Installation, tmp_path: Path) -> None:
    installation.write(GREET, "web: {port: 0}")
    done = installation.run("doctor", "--bundle", str(tmp_path / "missing" / "out.tar.gz"))
    assert done.returncode == 75
    assert "cannot be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_incomplete_bundle_replaces_nothing(leaky: Installation, tmp_path: Path) -> None:
    bundle = tmp_path / "out.tar.gz"
    bundle.write_bytes(b"before")
    leaky.run("doctor", "--bundle", str(bundle))
    assert "README.txt" in unpacked(bundle)
    assert [path.name for path in tmp_path.glob(".out*")] == []
