"""`pi-appliance networks`: the keys of a plug-in are asked for, checked, stored and never shown."""

import json
import os
import pty
import re
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.installation import ROOT, Installation, wait_until
from tests.other_user import NOBODY_UID, PublicInstallation
from tests.warm_program import Process, run_process

KINDS = ROOT / "tests" / "fakes" / "plugins"
JOB = "it: {kind: command, with: {run: ['true']}}"
NETWORKS = (
    "networks:\n  mine: {kind: diary}\n  second: {kind: diary, with: {secrets-prefix: DIARY2}}\n  show: {kind: preview}"
)
TOKEN = "sésame 'open' \"# =b/64+%\\"


@pytest.fixture
def home(installation: Installation) -> Installation:
    installation.write(JOB, NETWORKS)
    return installation


def run(
    installation: Installation, *words: str, answers: str = "", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `pi-appliance networks` with `words`, and `answers` in a pipe."""
    variables = installation.environment({"PYTHONIOENCODING": "utf-8", **(environment or {})})
    variables["PYTHONPATH"] = f"{KINDS}:{variables['PYTHONPATH']}"
    done = run_process(
        [*installation.program, "networks", *words, "--config", str(installation.config)],
        env=variables,
        input=answers,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr or "LOG_ALL" in variables, done.stderr
    return done


def secrets_of(installation: Installation) -> Path:
    return installation.folder / "secrets.env"


def write_secrets(installation: Installation, text: str) -> Path:
    path = secrets_of(installation)
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


# --- login ------------------------------------------------------------------------------------------------------------


def test_login_asks_checks_stores_and_names_the_account(home):
    done = run(home, "login", "mine", answers=f"maker\n{TOKEN}\n")
    path = secrets_of(home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"mine: @maker (the secrets are right); they are in {path}, which only ")
    assert done.stdout.endswith(" can read, and the next run uses them\n")
    assert "Look at the inside of the cover." in done.stderr
    assert TOKEN not in done.stdout + done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run(home, "test", "mine").stdout == "mine: @maker (the secrets are right)\n"
    assert [each.name for each in home.folder.iterdir() if each not in (home.config, home.state)] == ["secrets.env"]


def test_the_rest_of_the_file_stays_unchanged(home):
    before = (
        '# mine\r\n\n  WEB_PASSWORD = "open  sesame" \nDIARY_TOKEN=old\n#DIARY_TOKEN=\nDIARY_TOKEN = older\r\nEND=x'
    )
    write_secrets(home, before).write_bytes(before.encode())
    assert run(home, "login", "mine", answers="maker\nnew\n").returncode == 0
    after = '# mine\r\n\n  WEB_PASSWORD = "open  sesame" \n#DIARY_TOKEN=\nDIARY_TOKEN=new\r\nEND=x\nDIARY_NAME=maker\n'
    assert secrets_of(home).read_bytes() == after.encode()


def test_a_second_account_has_its_own_keys(home):
    run(home, "login", "mine", answers="one\nfirst\n")
    run(home, "login", "second", answers="two\nsecond\n")
    assert run(home, "test").stdout.splitlines() == [
        "mine: @one (the secrets are right)",
        "second: @two (the secrets are right)",
        f"show: the file {home.state}/reports/show/posts.txt (needs no secrets)",
    ]


def test_a_network_without_keys_is_reported(home):
    done = run(home, "login", "show")
    assert (done.returncode, done.stdout) == (0, "show: preview needs no secrets\n")


@pytest.mark.parametrize(
    ("answers", "status", "says"),
    [
        ("maker\nwrong key\n", 1, "the token [redacted] does not open it (401); nothing was stored"),
        ("maker\naway\n", 75, "nobody is at home; nothing was stored"),
        ("maker\n\n", 1, "missing secrets: DIARY_TOKEN"),
        ("maker\n", 1, "stopped; nothing was stored"),
        ("", 1, "stopped; nothing was stored"),
        ("maker\nright\x0bnot\n", 1, "does not fit into a line of secrets.env; nothing was stored"),
    ],
)
def test_wrong_keys_are_not_stored(home, answers, status, says):
    before = write_secrets(home, "# mine\nDIARY_NAME=old\n").read_bytes()
    done = run(home, "login", "mine", answers=answers)
    assert done.returncode == status
    assert says in done.stderr.splitlines()[-1]
    assert "wrong key" not in done.stderr
    assert secrets_of(home).read_bytes() == before


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("A=b\n", 0o640, "can be read by others and is not used; run: chmod 600 "),
        ("just a word\n", 0o600, "secrets.env:1:1: this line is not NAME=value"),
    ],
)
def test_an_unusable_file_is_reported_before_any_question(home, text, mode, says):
    write_secrets(home, text).chmod(mode)
    done = run(home, "login", "mine", answers="maker\nright\n")
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert "Token" not in done.stderr
    assert secrets_of(home).read_text() == text


def test_a_symlink_to_the_secrets_stays_a_symlink(home, tmp_path):
    real = tmp_path / "elsewhere.env"
    real.write_text("A=b\n")
    real.chmod(0o600)
    secrets_of(home).symlink_to(real)
    run(home, "login", "mine", answers="maker\nright\n")
    assert secrets_of(home).is_symlink()
    assert real.read_text() == "A=b\nDIARY_NAME=maker\nDIARY_TOKEN=right\n"


def test_a_missing_library_is_reported_with_the_install_command(home):
    home.write(JOB, "networks:\n  mine: {kind: diary, with: {needs: nosuchmodule}}")
    for words in (("login", "mine"), ("test", "mine")):
        done = run(home, *words, environment={"DIARY_NAME": "a", "DIARY_TOKEN": "b"})
        assert done.returncode == 1
        assert "diary needs nosuchmodule, which is not installed; run: " in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_an_overriding_variable_is_reported(home):
    done = run(home, "login", "mine", answers="maker\nright\n", environment={"DIARY_TOKEN": "other"})
    assert "DIARY_TOKEN is also set in the environment" in done.stderr
    assert "DIARY_TOKEN=right\n" in secrets_of(home).read_text()


def test_a_terminal_does_not_show_the_secret_and_ctrl_c_stores_nothing(home):
    for answer, stored in ((b"hush hush\n", True), (None, False)):
        secrets_of(home).unlink(missing_ok=True)
        keyboard, terminal = pty.openpty()
        process = Process(
            [*home.program, "networks", "login", "mine", "--config", str(home.config)],
            env=home.environment({"PYTHONPATH": f"{KINDS}:{ROOT}"}),
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        terminal_output = bytearray()
        read_until(keyboard, b"Whose diary is it? ", terminal_output)
        os.write(keyboard, b"maker\n")
        read_until(keyboard, b"Token: ", terminal_output)
        if answer is None:
            process.send_signal(signal.SIGINT)
        else:
            os.write(keyboard, answer)
        output, _ = process.communicate(timeout=60)
        read_until(keyboard, None, terminal_output)
        os.close(keyboard)
        assert b"hush" not in terminal_output + output
        assert b"maker" in terminal_output
        assert process.returncode == (0 if stored else 1)
        assert secrets_of(home).exists() == stored
        assert (b"stopped; nothing was stored" in terminal_output) != stored


def read_until(keyboard: int, words: bytes | None, terminal_output: bytearray) -> None:
    """Read the terminal into `terminal_output` until it shows `words` or is closed."""
    while words is None or words not in terminal_output:
        try:
            chunk = os.read(keyboard, 1024)
        except OSError:
            chunk = b""
        if not chunk:
            assert words is None, bytes(terminal_output)
            return
        terminal_output += chunk


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_file_written_by_root_belongs_to_the_owner(public_installation: PublicInstallation) -> None:
    public_installation.write(JOB, NETWORKS)
    public_installation.state.mkdir()
    os.chown(public_installation.state, NOBODY_UID, NOBODY_UID)
    for _ in range(2):  # a new file, and one that is there
        done = run(public_installation, "login", "mine", answers="maker\nright\n")
        assert "which only nobody can read" in done.stdout, done.stderr
        path = secrets_of(public_installation)
        assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (NOBODY_UID, 0o600)
    assert list(public_installation.state.iterdir()) == [], "nothing of root's is in its state"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_missing_write_permission_is_reported_before_any_question(
    public_installation: PublicInstallation,
) -> None:
    public_installation.write(JOB, "networks:\n  bird: {kind: x}")
    done = subprocess.run(
        [*public_installation.program, "networks", "login", "bird", "--config", str(public_installation.config)],
        env=public_installation.environment(),
        input="a\nb\n",
        capture_output=True,
        text=True,
        user=NOBODY_UID,
        group=NOBODY_UID,
        extra_groups=[],
        check=False,
    )
    assert done.returncode == 1
    why = f"{public_installation.folder}/secrets.env cannot be written by nobody; run this with sudo"
    assert done.stderr == f"pi-appliance: {why}\n"


# --- test and list ----------------------------------------------------------------------------------------------------


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("token", "status", "says"),
    [
        ("wrong key", 1, "mine: the token [redacted] does not open it (401)"),
        ("away", 75, "mine: nobody is at home"),
        (None, 1, "mine: missing secrets: DIARY_TOKEN; run: pi-appliance networks login mine"),
    ],
)
def test_wrong_keys_set_the_exit_status(home, token, status, says):
    write_secrets(home, "DIARY_NAME=maker\n" + (f"DIARY_TOKEN={token}\n" if token else ""))
    done = run(home, "test", "mine")
    assert (done.returncode, done.stderr) == (status, f"{says}\n")
    done = run(home, "test", "mine", "show")
    assert done.returncode == status
    assert done.stdout.startswith("show: the file "), "the others are proved all the same"


def test_an_unknown_name_is_reported_with_the_most_similar_one(home):
    for words in (("test", "show", "mime"), ("login", "mime")):
        done = run(home, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "pi-appliance: no network is called 'mime'; did you mean 'mine'?\n"


def test_the_list_shows_the_available_keys_and_their_sources(home):
    path = write_secrets(home, "DIARY_NAME=maker\nDIARY_TOKEN=hush hush\nDIARY2_NAME=other\n")
    done = run(home, "list", environment={"DIARY_TOKEN": "hush too"})
    assert done.returncode == 0
    assert "hush" not in done.stdout
    assert [re.split(r"  +", line) for line in done.stdout.splitlines()] == [
        ["NETWORK", "KIND", "SECRETS", "FROM"],
        ["mine", "diary", "all there", f"{path}, the environment"],
        ["second", "diary", "no DIARY2_TOKEN", str(path)],
        ["show", "preview", "needs none"],
    ]
    assert json.loads(run(home, "list", "--json").stdout) == [
        {"network": "mine", "kind": "diary", "secrets": {"DIARY_NAME": str(path), "DIARY_TOKEN": str(path)}},
        {"network": "second", "kind": "diary", "secrets": {"DIARY2_NAME": str(path), "DIARY2_TOKEN": None}},
        {"network": "show", "kind": "preview", "secrets": {}},
    ]
    assert not home.state.exists(), "the list only reads"
    home.write(JOB)
    assert run(home, "list").stdout == "no network is configured; how to add one: docs/tweets.md\n"


def test_missing_keys_are_a_warning_of_the_check(home):
    done = run_process(
        [*home.program, "config", "check", "--config", str(home.config)],
        env=home.environment({"PYTHONPATH": f"{KINDS}:{ROOT}", "DIARY_NAME": "a", "DIARY_TOKEN": "b"}),
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert line.endswith(
        ":6:3: missing secrets: DIARY2_NAME, DIARY2_TOKEN; run: pi-appliance networks login second (warning)"
    )


# --- no secret is shown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "token", ["wrong hush-hush-hush", "broken hush-hush-hush", "away hush-hush-hush", "hush-hush-hush"]
)
def test_no_library_logs_a_key_at_any_level(home, token):
    write_secrets(home, f"DIARY_NAME=maker\nDIARY_TOKEN={token}\n")
    done = run(home, "test", "mine", environment={"LOG_ALL": "1"})
    assert "diary: opening it with [redacted]" in done.stderr
    assert "hush" not in done.stdout + done.stderr


def test_login_logs_nothing_and_errors_never_repeat_an_answer(home):
    done = run(home, "login", "mine", answers="echo\nhush-hush-hush\n", environment={"LOG_ALL": "1"})
    assert done.stderr.splitlines()[-1] == "pi-appliance: the diary has no page [redacted]; nothing was stored"
    assert "hush" not in done.stdout + done.stderr


def test_no_program_gets_a_key_of_any_network(home):
    """Programs of jobs and conditions get no key, and neither does the private MPD."""
    home.write(
        "it:\n  kind: command\n  schedule: '* * * * *'\n  conditions: {command: [sh, -c, 'env > asked']}\n"
        "  with: {run: [sh, -c, 'env > ran']}",
        NETWORKS,
    )
    keys = dict.fromkeys(("DIARY_TOKEN", "DIARY2_TOKEN", "X_ACCESS_TOKEN", "WEB_PASSWORD", "MPD_PASSWORD"), "hush")
    run_process(
        [*home.program, "jobs", "run", "it", "--as-scheduled", "--config", str(home.config)],
        env=home.environment({"PYTHONPATH": f"{KINDS}:{ROOT}", **keys, "MINE": "seen"}),
        capture_output=True,
        check=True,
    )
    for name in ("asked", "ran"):
        environment = (home.folder / name).read_text("utf-8")
        assert "MINE=seen" in environment
        assert "hush" not in environment


def test_the_private_mpd_gets_no_key_either(home):
    home.write(JOB, f"{NETWORKS}\nweb: {{port: 0}}\nplayer: {{kind: mpd, with: {{address: '{home.folder}/none'}}}}")
    (home.folder / "bin").mkdir()
    mpd = home.folder / "bin" / "mpd"
    mpd.write_text(f"#!/bin/sh\nenv > '{home.folder}/mpd.env'\nexit 1\n", "ascii")
    mpd.chmod(0o755)
    environment = {
        "PYTHONPATH": f"{KINDS}:{ROOT}",
        "DIARY_TOKEN": "hush",
        "WEB_PASSWORD": "hush",
        "PATH": f"{mpd.parent}:{os.environ['PATH']}",
    }
    with home.start("up", environment=environment) as daemon:
        text = wait_until(lambda: (path := home.folder / "mpd.env").exists() and path.read_text("utf-8"))
        daemon.terminate()
    assert "PATH=" in text
    assert "hush" not in text
