"""The whole life of an appliance in booted Debian systems: install, faults, updates, a new card, purge.

`pytest -rA` shows how long each step took.
"""

import json
import sys
import time
import wave
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.vm import life
from tests.vm.container import Container, new_root, why_not
from tests.vm.releases import timed, write_release

EXPOSURE = 1.5  # of 10, as "systemd-analyze security" counts it
HANG_LIMIT = 60  # seconds until a daemon that hangs is back


@pytest.fixture(params=["bookworm", "trixie"])
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Container, Container, Path]]:
    """Yield two machines that are not booted yet, and the folder that both see as /srv."""
    if why := why_not():
        pytest.skip(f"no container: {why}")
    source = tmp_path / "source"
    source.mkdir()
    with ExitStack() as stack:
        both = [Container(new_root(request.param, tmp_path / name), source) for name in ("first", "second")]
        for each in both:
            stack.callback(each.remove)
        assert both[0].health() is None, "another appliance answers at the port"
        yield both[0], both[1], source


@pytest.mark.slow
@pytest.mark.timeout(3600)  # a few minutes, on a machine that does nothing else
def test_the_whole_life_of_an_appliance(machines: tuple[Container, Container, Path]) -> None:
    first, second, source = machines
    for version, changed in (("0.1.0", {}), ("0.2.0", {}), ("0.3.0", life.BROKEN)):
        write_release(source, version, **changed)
    with timed("first boot of Debian"):
        first.boot()
    _install(first)
    life.kill_and_hang(first, HANG_LIMIT)
    life.break_configuration(first)
    life.update(first, "/srv/pi-appliance-0.2.0.tar.gz")
    life.fail_to_update(first, "/srv/pi-appliance-0.3.0.tar.gz")
    before = life.back_up(first)
    (source / "all.tar.gz").write_bytes(Path(f"{first.root}{life.BACKUP}").read_bytes())
    first.shut_down()
    second.boot()
    release = _install_package(second)
    life.restore(second, "/srv/all.tar.gz", before)
    life.purge_package(second)
    life.install_with_wheel(second, release)  # the build of the package left the wheel there
    life.uninstall(second, release)
    second.shut_down()


def _install(machine: Container) -> None:
    life.install(machine, life.unpack(machine, "/srv/pi-appliance-0.1.0.tar.gz"))
    assert machine.run("systemctl", "is-active", "pi-appliance", "mpd")[1].split() == ["active", "active"]
    assert machine.run("systemctl", "is-enabled", "pi-appliance", "mpd")[1].split() == ["enabled", "enabled"]
    assert _exposure(machine) <= EXPOSURE
    _play(machine)
    machine.shut_down()
    assert machine.health() is None
    with timed("reboot, until the page answers"):
        machine.boot()
        machine.wait_for_page()


def _exposure(machine: Container) -> float:
    """Return how much of the machine the service may reach, by systemd's own count."""
    output = machine.run("systemd-analyze", "security", "--no-pager", "pi-appliance")[1]
    exposure = float(output.splitlines()[-1].split(": ")[1].split()[0])
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
    start = time.monotonic()
    for words in (("update",), ("play-now", "tone.wav")):  # MPD needs a moment to listen and to find the file
        while (output := machine.appliance("music", *words, check=False))[0] != 0:
            assert time.monotonic() - start < machine.patience, output
            time.sleep(0.5)
    player = json.loads(machine.appliance("music", "status", "--json")[1])["player"]
    assert (player["play"], player["track"]["uri"]) == ("play", "tone.wav"), player


def _install_package(machine: Container) -> str:
    """Build the Debian package and install it. Return the folder of the unpacked release."""
    release = life.unpack(machine, "/srv/pi-appliance-0.2.0.tar.gz")
    with timed("build of the package"):
        machine.run("sh", f"{release}/deploy/deb.sh")
    life.install_package(machine, machine.run("sh", "-c", f"echo {release}/dist/*.deb")[1])
    assert _exposure(machine) <= EXPOSURE
    return release
