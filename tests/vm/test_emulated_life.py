"""The life of an appliance on an emulated computer, whose Debian has its own kernel and disk.

Only a separate kernel enforces limits of memory and processor time, and only a disk survives a power cut.

`pytest -rA` shows how long each step took.
"""

import json
import shutil
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.vm import life
from tests.vm.container import Container
from tests.vm.emulator import Emulator, new_system, why_not, write_disk
from tests.vm.releases import timed, write_release

SUITE = "bookworm"
PACKAGE = "/root/pi-appliance.deb"
BACKUP = "/root/all.tar.gz"
_OFF = 130.0  # seconds without power: at least two slots
JOBS = """\
state-dir: /var/lib/pi-appliance
time-zone: UTC
clock: {max-wait-for-sync: 0s}
web: {host: 0.0.0.0, port: 8080}
networks:
  preview: {kind: preview}
jobs:
  tweets:
    kind: tweet
    with: {lines: tweets.txt, network: preview}
  minute:
    kind: command
    schedule: "* * * * *"
    catch-up: {max-age: 1h, max-runs: 100, stagger: 1s}
    with: {run: [/bin/true]}
  long:
    kind: command
    with: {run: [sleep, "900"]}
  greedy:
    kind: command
    memory: 60MB
    with: {run: [python3, -c, "print(len(b'x' * 200_000_000))"]}
  busy:
    kind: command
    cpu: 20%
    with:
      run:
        - python3
        - -c
        - |
          import time
          start, before = time.monotonic(), time.process_time()
          while time.monotonic() < start + 10: pass
          print("used", (time.process_time() - before) / (time.monotonic() - start))
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder with the disk of a computer, on which are archives of releases and a package of Debian."""
    if why := why_not():
        pytest.skip(f"no emulated computer: {why}")
    folder = tmp_path_factory.mktemp("computer")
    source = folder / "source"
    source.mkdir()
    # A container is ten times as fast. It also gets the packages of Debian that the package depends on.
    builder = Container(new_system(SUITE, folder / "root"), source)
    try:
        builder.boot()
        for version, changed in (("0.1.0", {}), ("0.2.0", {}), ("0.3.0", life.BROKEN)):
            release = life.unpack(builder, f"/srv/{write_release(source, version, **changed).name}")
            if version == "0.1.0":
                with timed("build of the package"):
                    builder.run("sh", f"{release}/deploy/deb.sh")
                builder.run("sh", "-c", f"mv {release}/dist/*.deb {PACKAGE}")
            else:
                with timed("build of a wheel"):
                    builder.run("sh", f"{release}/deploy/wheels.sh", "--here")
            builder.run("tar", "czf", f"{release}.tar.gz", "-C", "/root", Path(release).name)
            builder.run("rm", "-r", release)
        builder.run("apt-get", "purge", "-y", "--auto-remove", "gcc")
        builder.shut_down()
        with timed("build of the disk"):
            written = write_disk(builder.root, folder / "disk")
    finally:
        builder.remove()
    yield written
    shutil.rmtree(written)


@pytest.fixture
def emulator(disk: Path, tmp_path: Path) -> Iterator[Emulator]:
    """Yield an emulated computer that is switched off."""
    emulator = Emulator(disk, tmp_path / "emulator")
    yield emulator
    emulator.remove()


@pytest.mark.slow
@pytest.mark.timeout(7200)  # about half an hour, on a machine that does little else
def test_the_life_of_an_appliance_on_a_real_kernel(emulator: Emulator) -> None:
    with timed("first boot of Debian"):
        emulator.boot()
    _install_package(emulator)
    emulator.write(life.YAML, JOBS)
    emulator.run("systemctl", "reload", "pi-appliance")
    _limits_are_kept(emulator)
    _restart(emulator)
    _lose_power(emulator)
    life.kill_and_hang(emulator, emulator.patience)
    life.break_configuration(emulator)
    before = life.back_up(emulator)
    emulator.run("mv", life.BACKUP, BACKUP)
    life.purge_package(emulator)
    emulator.run("rm", "-r", "/etc/pi-appliance", life.STATE)  # as on a new card
    _install_package(emulator)
    life.restore(emulator, BACKUP, before)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_an_installation_from_an_archive_and_its_updates_on_a_real_disk(emulator: Emulator) -> None:
    emulator.boot()
    release = life.unpack(emulator, "/root/pi-appliance-0.1.0.tar.gz")
    # Containers have music, too. Here the 187 packages of mpd and espeak-ng would take most of the time.
    life.install_with_wheel(emulator, release, "--no-music")
    _lose_power_after(emulator, "an installation")
    life.update(emulator, "/root/pi-appliance-0.2.0.tar.gz")
    _lose_power_after(emulator, "an update")
    assert life.version(emulator) == "0.2.0"
    life.fail_to_update(emulator, "/root/pi-appliance-0.3.0.tar.gz")
    life.uninstall(emulator, release)


def _lose_power_after(emulator: Emulator, step: str) -> None:
    """Cut the power at once. Everything that was installed is on the disk, and starts."""
    emulator.cut_power()
    with timed(f"cut of power right after {step}, until the page answers"):
        emulator.boot()
        emulator.wait_for_page()


def _install_package(emulator: Emulator) -> None:
    life.install_package(emulator, PACKAGE, "--no-install-recommends")


def _limits_are_kept(emulator: Emulator) -> None:
    """See that runs have cgroups of their own, in which the kernel limits memory and processor time."""
    status, output = emulator.appliance("jobs", "run", "greedy", "--json", check=False)
    greedy = json.loads(output)
    assert (status, greedy["outcome"], greedy["details"]["memory_limit"]) == (1, "failed", "cgroup"), output
    assert "over its memory of 60MB" in greedy["summary"]
    busy = json.loads(emulator.appliance("jobs", "run", "busy", "--json")[1])
    assert busy["details"]["cpu_limit"] == "cgroup", busy
    used = float(busy["summary"].split()[-1])
    sys.stdout.write(f"processor time used of 20%: {used:.2f}\n")
    assert 0.05 < used < 0.25


def _restart(emulator: Emulator) -> None:
    before = _runs(emulator)
    with timed("restart, until the page answers"):
        emulator.restart()
        emulator.wait_for_page()
    assert _runs(emulator)[-len(before) :] == before


def _lose_power(emulator: Emulator) -> None:
    """Cut the power while a run is active, wait until a slot is missed, and switch it on again."""
    emulator.run("systemd-run", "--quiet", "runuser", "-u", "pi-appliance", "--", "pi-appliance", "jobs", "run", "long")
    start = time.monotonic()
    while not (active := [each for each in _runs(emulator) if each["job"] == "long" and each["ended"] is None]):
        assert time.monotonic() - start < emulator.patience, "the run does not start"
        time.sleep(1)
    before, slots = _runs(emulator), _slots(emulator)
    emulator.cut_power()
    time.sleep(_OFF)
    with timed("cut of power, until the page answers again"):
        emulator.boot()
        emulator.wait_for_page()
    after = {each["id"]: each for each in _runs(emulator)}
    # A start is flushed to the disk, with everything before it. An end is not (ADR 9).
    flushed = max(each["started"] for each in before if each["outcome"] != "skipped")
    for each in before:
        if each["ended"] is not None and after[each["id"]] != each:
            assert each["ended"] >= flushed, (each, after[each["id"]])
            assert after[each["id"]]["outcome"] == "abandoned", (each, after[each["id"]])
    assert after[active[0]["id"]]["outcome"] == "abandoned", after[active[0]["id"]]
    _no_slot_is_lost(emulator, slots)


def _no_slot_is_lost(emulator: Emulator, before: list[dict[str, Any]]) -> None:
    """Each minute has its slot, also those without power, and the records stay."""
    start = time.monotonic()
    while True:
        slots = _slots(emulator)
        times = sorted({datetime.fromisoformat(each["slot"]) for each in slots})
        if datetime.fromisoformat(before[0]["slot"]) + timedelta(seconds=_OFF + 60) < times[-1]:
            break
        assert time.monotonic() - start < emulator.patience, slots
        time.sleep(5)
    assert [later - earlier for earlier, later in pairwise(times)] == [timedelta(minutes=1)] * (len(times) - 1), times
    outcomes = {each["slot"]: each["outcome"] for each in slots}
    for each in before:
        assert not each["outcome"] or outcomes[each["slot"]] in {each["outcome"], "abandoned"}, (each, slots)


def _runs(emulator: Emulator) -> list[dict[str, Any]]:
    """Return the newest runs, the newest first."""
    return list(json.loads(emulator.appliance("jobs", "history", "--count", "1000", "--json")[1]))


def _slots(emulator: Emulator) -> list[dict[str, Any]]:
    return list(json.loads(emulator.appliance("jobs", "history", "--slots", "--count", "1000", "--json")[1]))
