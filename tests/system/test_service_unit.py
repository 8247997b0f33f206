"""The units: systemd accepts them, and they are sandboxed."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from pi_appliance.daemon import RESTART_STATUS
from pi_appliance.music.usb import mounts
from tests.installation import Installation

UNITS = Path(__file__).parents[2] / "systemd"
UNIT = UNITS / "pi-appliance.service"
FAILURE = UNITS / "pi-appliance-failure@.service"
USB = [UNITS / f"pi-appliance-usb{more}" for more in (".service", "@.service", ".path")]
SOUND = [UNITS / f"pi-appliance-sound{more}" for more in (".service", ".path")]
CLUSTER = [UNITS / f"pi-appliance-cluster{more}" for more in (".service", ".path")]
RULES = UNITS / "85-pi-appliance-usb.rules"

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


@needs_systemd
@pytest.mark.parametrize("source", [UNIT, FAILURE, *USB, *SOUND, *CLUSTER], ids=lambda unit: unit.name)
def test_systemd_accepts_every_unit(tmp_path: Path, source: Path) -> None:
    text = re.sub(r"^(Exec\w+)=(.*\\\n)*.*", r"\1=/bin/true", source.read_text(), flags=re.MULTILINE)
    unit = tmp_path / source.name.replace("@", "@a-unit")  # the programs it starts are not installed here
    unit.write_text(text)
    asked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert asked.returncode == 0
    assert unit.name not in asked.stderr + asked.stdout


@needs_systemd
@pytest.mark.parametrize(
    ("unit", "limit"),
    [(UNIT, 1.5), (FAILURE, 2.0), (SOUND[0], 2.0), (CLUSTER[0], 2.0)],
    ids=lambda each: str(each)[-30:],
)
def test_the_exposure_of_a_unit_is_low(unit: Path, limit: float) -> None:
    asked = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=True,
    )
    (verdict,) = (line for line in asked.stdout.splitlines() if "Overall exposure level" in line)
    assert float(verdict.split(": ")[1].split()[0]) <= limit, asked.stdout


def test_an_invalid_configuration_is_not_restarted_repeatedly() -> None:
    assert "RestartPreventExitStatus=2\n" in UNIT.read_text(), "2 is the exit status of a ConfigError"


def test_a_requested_restart_is_clean_and_starts_it_again() -> None:
    lines = UNIT.read_text().splitlines()
    assert {f"RestartForceExitStatus={RESTART_STATUS}", f"SuccessExitStatus={RESTART_STATUS}"} <= set(lines)


LOGIN = "org.freedesktop.login1."
NETWORK = "org.freedesktop.NetworkManager."
RIGHTS = {
    "power": (
        [LOGIN + each for each in ("reboot", "power-off", "power-off-multiple-sessions")],
        [LOGIN + "reboot-ignore-inhibit", LOGIN + "halt", "org.freedesktop.systemd1.manage-units"],
    ),
    "network": (
        [NETWORK + each for each in ("network-control", "settings.modify.system", "wifi.scan", "wifi.share.protected")],
        [
            NETWORK + each
            for each in ("wifi.share.open", "enable-disable-network", "settings.modify.hostname", "reload")
        ],
    ),
}


@pytest.mark.skipif(shutil.which("node") is None, reason="node, which evaluates the rule like polkit, is not installed")
@pytest.mark.parametrize("name", RIGHTS)
def test_only_the_service_gets_the_rights_of_a_rule_and_no_others(name: str) -> None:
    rule, (given, refused) = (UNITS / f"10-pi-appliance-{name}.rules").read_text(), RIGHTS[name]
    questions = (
        f"{json.dumps(given + refused)}.map((id) => ['pi-appliance', 'pi'].map((user) => rule({{id}}, {{user}})))"
    )
    script = f"let rule; const polkit = {{Result: {{YES: 'yes'}}, addRule: (f) => {{rule = f}}}};\n{rule}\n"
    shown = subprocess.run(
        ["node", "-e", f"{script}console.log(JSON.stringify({questions}))"], capture_output=True, check=True
    )
    assert json.loads(shown.stdout) == [["yes", None]] * len(given) + [[None, None]] * len(refused)


def test_the_failure_unit_sends_the_end_of_the_journal(installation: Installation, tmp_path: Path) -> None:
    assert f"OnFailure={FAILURE.name.replace('@', '@%n')}\n" in UNIT.read_text()
    (command,) = re.findall(r"^ExecStart=/bin/sh -c '((?:.*\\\n)*.*)' sh %i %H$", FAILURE.read_text(), re.MULTILINE)
    (tmp_path / "journalctl").write_text('#!/bin/sh\necho "the last words of $7"\n')
    (tmp_path / "journalctl").chmod(0o755)
    output = installation.folder / "told"
    program = ["sh", "-c", f"cat > '{output}'"]
    installation.write(
        "",
        f"notifiers: {{file: {{kind: command, with: {{run: {json.dumps(program)}}}}}}}\nnotify: {{on-failure: [file]}}",
    )
    script = command.replace("\\\n", "").replace(
        "/opt/pi-appliance/current/bin/pi-appliance", shlex.join(installation.program)
    )
    environment = installation.environment({"PI_APPLIANCE_CONFIG": str(installation.config)})
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    subprocess.run(["sh", "-c", script, "sh", "pi-appliance.service", "raspberrypi"], env=environment, check=True)
    assert output.read_text() == (
        "pi-appliance.service failed on raspberrypi\n\nthe last words of pi-appliance.service\n"
    )


def test_it_may_set_the_limits_of_its_jobs() -> None:
    """A delegated cgroup needs access to its files and the system calls for priorities."""
    lines = UNIT.read_text().splitlines()
    (delegated,) = (line.partition("=")[2].split() for line in lines if line.startswith("Delegate="))
    assert {"cpu", "memory"} <= set(delegated)
    assert "ReadWritePaths=-/sys/fs/cgroup/system.slice/%n" in lines, "its own part stays writable"
    allowed, forbidden = (calls_of(group) for group in ("@system-service", "@privileged"))
    assert {"setpriority", "prlimit64", "prctl", "pidfd_send_signal"} <= allowed - forbidden


def test_usb_drives_are_mounted_for_the_whole_machine() -> None:
    """Each of these options would create a mount namespace (man systemd.exec), hidden from MPD."""
    own = {
        "PrivateMounts",
        "PrivateTmp",
        "PrivateDevices",
        "PrivateIPC",
        "DynamicUser",
        "MountFlags",
        "TemporaryFileSystem",
    }
    own |= {"BindPaths", "BindReadOnlyPaths", "ReadOnlyPaths", "ReadWritePaths", "InaccessiblePaths", "RootDirectory"}
    own |= {"ProtectSystem", "ProtectHome", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs"}
    own |= {"ProtectControlGroups", "ProtectProc", "ProcSubset", "NoExecPaths", "LogNamespace"}
    for unit in USB:
        keys = {line.partition("=")[0] for line in unit.read_text().splitlines()}
        assert keys & own == set(), unit.name
    for unit in (UNIT, FAILURE):
        assert "MountFlags=" not in unit.read_text(), "without it, what is mounted later is seen, and nothing goes back"


def test_no_text_of_a_usb_drive_becomes_part_of_a_unit() -> None:
    (rule,) = re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", RULES.read_text(), flags=re.MULTILINE)).splitlines()
    assert re.findall(r"[%$]\w*(?:{\w+})?", rule) == ["%k"]
    (unit,) = re.findall(r'SYSTEMD_WANTS}\+="(.*?)"', rule)
    assert unit == USB[1].name.replace("@", "@%k")


def test_the_socket_of_the_unmount_unit_matches_the_service() -> None:
    asked = mounts.Paths.from_environment({}).request
    assert f"PathExists={asked}\n" in USB[2].read_text()
    assert f"RuntimeDirectory={asked.parent.name}\n" in UNIT.read_text()


def calls_of(group: str) -> set[str]:
    """Return the system calls in `group` and its nested groups."""
    shown = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    words = [line.strip() for line in shown.stdout.splitlines() if line.startswith("    ") and "#" not in line]
    return {call for word in words for call in (calls_of(word) if word.startswith("@") else {word})}
