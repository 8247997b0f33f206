"""The commands `devices` and `password`, with and without a running daemon."""

import json
import subprocess
import tarfile
import urllib.error
import urllib.request

import pytest

from pi_appliance.access import operations
from tests import warm_program
from tests.installation import PROGRAM, Installation
from tests.test_daemon import QUIET, TICK, running_daemon
from tests.test_qr import scan_code


def status_of(page: str, password: str = "", cookie: str = "") -> int:
    headers = {"Authorization": f"Bearer {password}"} if password else {"Cookie": cookie}
    request = urllib.request.Request(f"{page}/api/v1/state", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def sign_in(page: str) -> str:
    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.build_opener(NoRedirect).open(f"{page}/sign-in", b"password=open sesame&name=Phone", timeout=5)
    answer.value.close()
    return str(answer.value.headers["Set-Cookie"]).partition(";")[0]


def change_password(installation: Installation, words: str) -> "subprocess.CompletedProcess[str]":
    return warm_program.run_process(
        [*PROGRAM, "password", "--config", str(installation.config)],
        env=installation.environment(),
        input=words,
        capture_output=True,
        text=True,
    )


def test_the_commands_list_and_revoke_devices_and_change_the_password(installation: Installation) -> None:
    installation.write(TICK, QUIET)
    secrets = installation.folder / "secrets.env"
    secrets.write_text("WEB_PASSWORD=open sesame\n")
    secrets.chmod(0o600)
    with running_daemon(installation) as daemon:
        (page,) = daemon.pages
        cookie = sign_in(page)
        (device,) = installation.json("devices", "list")
        assert (device["name"], device["role"], device["this_device"]) == ("Phone", "owner", False)
        assert "Phone, signed in" in installation.run("devices", "list").stdout
        assert status_of(page, cookie=cookie) == 200

        archive = installation.folder / "backup.tar.gz"
        assert installation.run("backup", str(archive)).returncode == 0
        with tarfile.open(archive) as content:
            assert "history.db" in content.getnames()
            assert "devices.json" not in content.getnames()

        refused = installation.run("devices", "invite", "Anna")
        assert (refused.returncode, "phones cannot reach it" in refused.stderr) == (1, True)
        unknown = installation.run("devices", "revoke", "Fone")
        assert (unknown.returncode, "did you mean 'Phone'?" in unknown.stderr) == (2, True)

        assert installation.run("devices", "revoke", "Phone").stdout == "no device is signed in\n"
        assert status_of(page, cookie=cookie) == 401
        cookie = sign_in(page)
        changed = change_password(installation, "another sesame\nanother sesame\n")
        assert (changed.returncode, "all devices are signed out" in changed.stdout) == (0, True), changed.stderr
        assert "sesame" not in changed.stdout + changed.stderr
        assert secrets.read_text() == "WEB_PASSWORD=another sesame\n"
        assert status_of(page, cookie=cookie) == 401
        assert status_of(page, password="open sesame") == 401
        assert status_of(page, password="another sesame") == 200, "without a restart"
        assert len(daemon.pages) == 1
        installation.run("reload")
        assert status_of(page, password="another sesame") == 200
        assert len(daemon.pages) == 1, "the page was not restarted for it"


def test_without_a_daemon_the_password_is_written(installation: Installation) -> None:
    installation.write("", "web: {host: 0.0.0.0, port: 8123}")  # where the daemon would not start
    for words, status, sentence in (
        ("open sesame\nopen sesam\n", 1, "differ"),
        ("sesame7\nsesame7\n", 2, "at least 8 characters"),
        ("", 1, "nothing was changed"),
    ):
        done = change_password(installation, words)
        assert (done.returncode, sentence in done.stderr) == (status, True), done.stderr
        assert not (installation.folder / "secrets.env").exists()
    assert change_password(installation, "open sesame\nopen sesame\n").stdout == "the password was changed\n"
    assert (installation.folder / "secrets.env").read_text() == "WEB_PASSWORD=open sesame\n"
    assert (installation.folder / "secrets.env").stat().st_mode & 0o777 == 0o600
    assert installation.run("devices", "list").returncode == 75


def test_the_terminal_shows_the_code_of_an_invitation() -> None:
    address = "http://192.168.1.20:8080/join/wT7IDUpq_DjYOPneZzhYtw"
    result = {"name": "Anna", "role": "guest", "addresses": [address, "http://pi.local/join/x"], "expires_at": "soon"}
    *code, first, other, end = operations.show_invitation(json.loads(json.dumps(result)), {}).splitlines()
    assert scan_code(code) == first == address
    assert (other, end) == ("or http://pi.local/join/x", "It signs in Anna (guest) once, until soon.")
