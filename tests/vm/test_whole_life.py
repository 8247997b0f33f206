"""The whole life of an appliance in booted Debian systems: install, faults, updates, a new card, purge.

`pytest -rA` shows how long each step took.
"""

import json
import sys
import time
import urllib.error
import urllib.request
import wave
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.vm.container import Container, new_root, why_not
from tests.vm.releases import timed, write_release

HEALTH = "http://127.0.0.1:8080/health"  # the container uses the network of the machine
YAML = "etc/pi-appliance/appliance.yaml"
STATE = "var/lib/pi-appliance"
PASSPHRASE = "four words are enough\n"
BROKEN = 'raise SystemExit("broken for a test")\n'
_NO_STATE = "find: ‘/var/lib/pi-appliance’: No such file or directory"
_PATIENCE = 120.0  # seconds
HANG_LIMIT = 60  # seconds until a daemon that hangs is back
EXPOSURE = 1.5  # of 10, as "systemd-analyze security" counts it
KERNELS = "from pi_appliance.puzzles.kernels import kernel_states; print({state for _, state in kernel_states()})"


def _health() -> dict[str, object] | None:
    try:
        with urllib.request.urlopen(HEALTH, timeout=2) as answer:
            return dict(json.load(answer))
    except (urllib.error.URLError, OSError):
        return None


def _wait_for_page() -> None:
    start = time.monotonic()
    while _health() is None:
        assert time.monotonic() - start < _PATIENCE, "the page does not answer"
        time.sleep(0.2)


def _main_pid(container: Container) -> str:
    return container.run("systemctl", "show", "--property=MainPID", "--value", "pi-appliance")[1]


def _version(container: Container) -> str:
    return container.run("pi-appliance", "--version")[1].split()[-1]


def _posts(container: Container) -> list[dict[str, object]]:
    return list(json.loads(container.appliance("tweets", "list", "--json")[1])["posts"])


@pytest.fixture(params=["bookworm", "trixie"])
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Container, Container, Path]]:
    """Yield two machines that are not booted yet, and the folder that both see as /srv."""
    if why := why_not():
        pytest.skip(f"no container: {why}")
    assert _health() is None, f"another appliance answers at {HEALTH}"
    source = tmp_path / "source"
    source.mkdir()
    with ExitStack() as stack:
        both = [Container(new_root(request.param, tmp_path / name), source) for name in ("first", "second")]
        for each in both:
            stack.callback(each.remove)
        yield both[0], both[1], source


@pytest.mark.slow
@pytest.mark.timeout(3600)  # a few minutes, on a machine that does nothing else
def test_the_whole_life_of_an_appliance(machines: tuple[Container, Container, Path]) -> None:
    first, second, source = machines
    for version, changed in (("0.1.0", {}), ("0.2.0", {}), ("0.3.0", {"daemon": BROKEN})):
        write_release(source, version, **changed)
    with timed("first boot of Debian"):
        first.boot()
    _install_and_survive(first)
    _update(first)
    posts, yaml = _back_up(first, source)
    first.shut_down()
    second.boot()
    _move(second, posts, yaml)
    _remove(second)
    second.shut_down()


def _install_and_survive(machine: Container) -> None:
    with timed("install from an archive, until the page answers"):
        machine.run("tar", "xzf", "/srv/pi-appliance-0.1.0.tar.gz", "-C", "/root")
        machine.run("sh", "/root/pi-appliance-0.1.0/deploy/install.sh", "--yes")
        _wait_for_page()
    assert machine.run("systemctl", "is-active", "pi-appliance", "mpd")[1].split() == ["active", "active"]
    assert machine.run("systemctl", "is-enabled", "pi-appliance", "mpd")[1].split() == ["enabled", "enabled"]
    assert _exposure(machine) <= EXPOSURE
    _play(machine)
    machine.shut_down()
    assert _health() is None
    with timed("reboot, until the page answers"):
        machine.boot()
        _wait_for_page()
    for step, number in (("killed daemon", "KILL"), ("daemon that hangs", "STOP")):
        before = _main_pid(machine)
        with timed(f"{step}, until the page answers again"):
            start = time.monotonic()
            machine.run("kill", f"-{number}", before)
            while _main_pid(machine) in {before, "0"}:
                assert time.monotonic() - start < HANG_LIMIT
                time.sleep(0.2)
            _wait_for_page()
        assert time.monotonic() - start < HANG_LIMIT
    yaml = machine.root / YAML
    good = yaml.read_text("utf-8")
    yaml.write_text("# a comment of the owner\n" + good + "jobs: [\n", "utf-8")
    assert machine.run("systemctl", "reload", "pi-appliance", check=False)[0] != 0
    with timed("restart with a wrong file, until the page answers"):
        machine.run("systemctl", "restart", "pi-appliance")
        _wait_for_page()
    assert "degraded" in (_health() or {})
    yaml.write_text("# a comment of the owner\n" + good, "utf-8")
    machine.run("systemctl", "reload", "pi-appliance")


def _exposure(machine: Container) -> float:
    """Return how much of the machine the service may reach, by systemd's own count."""
    said = machine.run("systemd-analyze", "security", "--no-pager", "pi-appliance")[1]
    exposure = float(said.splitlines()[-1].split(": ")[1].split()[0])
    sys.stdout.write(f"exposure: {exposure}\n")
    return exposure


def _play(machine: Container) -> None:
    """Play a file on Debian's MPD, whose sound goes nowhere: a container has no sound card."""
    with (machine.root / "etc/mpd.conf").open("a", encoding="utf-8") as file:
        file.write('audio_output {\n type "null"\n name "nowhere"\n}\n')
    with wave.open(str(machine.root / "var/lib/mpd/music/tone.wav"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(2 * 8000 * 600))
    machine.run("systemctl", "restart", "mpd")
    machine.appliance("music", "update")
    start = time.monotonic()
    while machine.appliance("music", "play-now", "tone.wav", check=False)[0] != 0:
        assert time.monotonic() - start < _PATIENCE, "the file is not in the library"
        time.sleep(0.5)
    player = json.loads(machine.appliance("music", "status", "--json")[1])["player"]
    assert (player["play"], player["track"]["uri"]) == ("play", "tone.wav"), player


def _update(machine: Container) -> None:
    with timed("update from a file"):
        machine.run("pi-appliance", "update", "--yes", "/srv/pi-appliance-0.2.0.tar.gz")
    assert _version(machine) == "0.2.0"
    with timed("update to a release that does not start, and back"):
        status, said = machine.run("pi-appliance", "update", "--yes", "/srv/pi-appliance-0.3.0.tar.gz", check=False)
    assert status == 1, said
    assert "broken for a test" in said
    assert _version(machine) == "0.2.0"
    _wait_for_page()


def _back_up(machine: Container, source: Path) -> tuple[list[dict[str, object]], str]:
    """Post, and return the posts and the configuration; the backup is then in `source`."""
    for _ in range(3):
        machine.appliance("jobs", "run", "tweets")
    posts = _posts(machine)
    secrets = machine.root / "etc/pi-appliance/secrets.env"
    with secrets.open("a", encoding="utf-8") as file:
        file.write("SOMETHING=very secret\n")
    with timed("backup with secrets"):
        machine.appliance("backup", f"/{STATE}/all.tar.gz", "--secrets", stdin=PASSPHRASE)
    (source / "all.tar.gz").write_bytes((machine.root / STATE / "all.tar.gz").read_bytes())
    return posts, (machine.root / YAML).read_text("utf-8")


def _move(machine: Container, posts: list[dict[str, object]], yaml: str) -> None:
    """Install the package on a new machine, and restore the backup there."""
    machine.run("tar", "xzf", "/srv/pi-appliance-0.2.0.tar.gz", "-C", "/root")
    with timed("build of the package"):
        machine.run("sh", "/root/pi-appliance-0.2.0/deploy/deb.sh")
    with timed("install of the package, until the page answers"):
        machine.run("sh", "-c", "apt-get install -y /root/pi-appliance-0.2.0/dist/pi-appliance_*.deb")
        _wait_for_page()
    assert _exposure(machine) <= EXPOSURE
    machine.run("systemctl", "stop", "pi-appliance")
    machine.run("install", "--owner=pi-appliance", "--mode=0600", "/srv/all.tar.gz", f"/{STATE}")
    with timed("restore"):
        machine.appliance("restore", f"/{STATE}/all.tar.gz", stdin=PASSPHRASE)
    machine.run("systemctl", "start", "pi-appliance")
    _wait_for_page()
    assert (machine.root / YAML).read_text("utf-8") == yaml
    assert "very secret" in (machine.root / "etc/pi-appliance/secrets.env").read_text("utf-8")
    assert _posts(machine) == posts
    machine.appliance("jobs", "run", "tweets")
    assert _posts(machine)[1:] == posts  # nothing is posted again


def _remove(machine: Container) -> None:
    with timed("purge of the package"):
        machine.run("apt-get", "purge", "-y", "pi-appliance")
    assert (machine.root / YAML).exists()  # the owner's
    # The build of the package left a wheel in the archive, with which no compiler is needed.
    machine.run("apt-get", "purge", "-y", "--auto-remove", "gcc")
    with timed("install from an archive with a wheel after it"):
        machine.run("sh", "/root/pi-appliance-0.2.0/deploy/install.sh", "--yes")
        _wait_for_page()
    assert machine.run("which", "gcc", check=False)[1] == ""
    assert machine.run("/opt/pi-appliance/current/bin/python", "-c", KERNELS)[1] == "{'compiled'}"
    with timed("uninstall with --purge"):
        machine.run("sh", "/root/pi-appliance-0.2.0/deploy/uninstall.sh", "--purge", "--yes")
    assert _health() is None
    places = ("/etc", "/opt", "/usr/local", "/usr/lib/systemd", "/var/lib/pi-appliance", "/run")
    assert machine.run("find", *places, "-name", "*pi-appliance*", check=False)[1] in {"", _NO_STATE}
