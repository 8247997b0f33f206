"""The whole life of an appliance in booted Debian systems: install, faults, updates, a new card, purge.

`pytest -rA` shows how long each step took.
"""

import io
import json
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pi_appliance import __version__
from tests.installation import ROOT
from tests.vm.container import Container, new_root, why_not

HEALTH = "http://127.0.0.1:8080/health"  # the container uses the network of the machine
YAML = "etc/pi-appliance/appliance.yaml"
STATE = "var/lib/pi-appliance"
PASSPHRASE = "four words are enough\n"
BROKEN = 'raise SystemExit("broken for a test")\n'
_NO_STATE = "find: ‘/var/lib/pi-appliance’: No such file or directory"
HANG_LIMIT = 60  # seconds until a daemon that hangs is back


def _release(folder: Path, version: str, **changed: str) -> Path:
    """Write the archive of a release from the files of this clone; `changed` are lines put before modules."""
    names = subprocess.run(("git", "ls-files"), cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    path = folder / f"pi-appliance-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in filter(None, names):
            if not name.startswith("tests/"):
                member = archive.gettarinfo(str(ROOT / name), f"pi-appliance-{version}/{name}")
                if not member.isreg():
                    archive.addfile(member)
                    continue
                text = (ROOT / name).read_bytes()
                if name == "pi_appliance/__init__.py":
                    text = text.replace(f'"{__version__}"'.encode(), f'"{version}"'.encode())
                text = changed.get(Path(name).stem, "").encode() + text if name.endswith(".py") else text
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
    return path


def _health() -> dict[str, object] | None:
    try:
        with urllib.request.urlopen(HEALTH, timeout=2) as answer:
            return dict(json.load(answer))
    except (urllib.error.URLError, OSError):
        return None


def _wait_for_page(limit: float = 120.0) -> None:
    start = time.monotonic()
    while _health() is None:
        assert time.monotonic() - start < limit, "the page does not answer"
        time.sleep(0.2)


@contextmanager
def _timed(step: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    sys.stdout.write(f"{step}: {time.monotonic() - start:.1f} s\n")


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
            stack.callback(shutil.rmtree, each.root, ignore_errors=True)  # a gigabyte
            stack.callback(each.cut_power)
        yield both[0], both[1], source


@pytest.mark.slow
def test_the_whole_life_of_an_appliance(machines: tuple[Container, Container, Path]) -> None:
    first, second, source = machines
    for version, changed in (("0.1.0", {}), ("0.2.0", {}), ("0.3.0", {"daemon": BROKEN})):
        _release(source, version, **changed)
    with _timed("first boot of Debian"):
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
    with _timed("install from an archive, until the page answers"):
        machine.run("tar", "xzf", "/srv/pi-appliance-0.1.0.tar.gz", "-C", "/root")
        machine.run("sh", "/root/pi-appliance-0.1.0/deploy/install.sh", "--yes")
        _wait_for_page()
    assert machine.run("systemctl", "is-active", "pi-appliance", "mpd")[1].split() == ["active", "active"]
    assert machine.run("systemctl", "is-enabled", "pi-appliance", "mpd")[1].split() == ["enabled", "enabled"]
    machine.shut_down()
    assert _health() is None
    with _timed("reboot, until the page answers"):
        machine.boot()
        _wait_for_page()
    for step, number in (("killed daemon", "KILL"), ("daemon that hangs", "STOP")):
        before = _main_pid(machine)
        with _timed(f"{step}, until the page answers again"):
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
    with _timed("restart with a wrong file, until the page answers"):
        machine.run("systemctl", "restart", "pi-appliance")
        _wait_for_page()
    assert "degraded" in (_health() or {})
    yaml.write_text("# a comment of the owner\n" + good, "utf-8")
    machine.run("systemctl", "reload", "pi-appliance")


def _update(machine: Container) -> None:
    with _timed("update from a file"):
        machine.run("pi-appliance", "update", "--yes", "/srv/pi-appliance-0.2.0.tar.gz")
    assert _version(machine) == "0.2.0"
    with _timed("update to a release that does not start, and back"):
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
    with _timed("backup with secrets"):
        machine.appliance("backup", f"/{STATE}/all.tar.gz", "--secrets", stdin=PASSPHRASE)
    (source / "all.tar.gz").write_bytes((machine.root / STATE / "all.tar.gz").read_bytes())
    return posts, (machine.root / YAML).read_text("utf-8")


def _move(machine: Container, posts: list[dict[str, object]], yaml: str) -> None:
    """Install the package on a new machine, and restore the backup there."""
    machine.run("tar", "xzf", "/srv/pi-appliance-0.2.0.tar.gz", "-C", "/root")
    with _timed("build of the package"):
        machine.run("sh", "/root/pi-appliance-0.2.0/deploy/deb.sh")
    with _timed("install of the package, until the page answers"):
        machine.run("sh", "-c", "apt-get install -y /root/pi-appliance-0.2.0/dist/pi-appliance_*.deb")
        _wait_for_page()
    machine.run("systemctl", "stop", "pi-appliance")
    machine.run("install", "--owner=pi-appliance", "--mode=0600", "/srv/all.tar.gz", f"/{STATE}")
    with _timed("restore"):
        machine.appliance("restore", f"/{STATE}/all.tar.gz", stdin=PASSPHRASE)
    machine.run("systemctl", "start", "pi-appliance")
    _wait_for_page()
    assert (machine.root / YAML).read_text("utf-8") == yaml
    assert "very secret" in (machine.root / "etc/pi-appliance/secrets.env").read_text("utf-8")
    assert _posts(machine) == posts
    machine.appliance("jobs", "run", "tweets")
    assert _posts(machine)[1:] == posts  # nothing is posted again


def _remove(machine: Container) -> None:
    with _timed("purge of the package"):
        machine.run("apt-get", "purge", "-y", "pi-appliance")
    assert (machine.root / YAML).exists()  # the owner's
    with _timed("install from an archive after it"):
        machine.run("sh", "/root/pi-appliance-0.2.0/deploy/install.sh", "--yes")
        _wait_for_page()
    with _timed("uninstall with --purge"):
        machine.run("sh", "/root/pi-appliance-0.2.0/deploy/uninstall.sh", "--purge", "--yes")
    assert _health() is None
    places = ("/etc", "/opt", "/usr/local", "/usr/lib/systemd", "/var/lib/pi-appliance", "/run")
    assert machine.run("find", *places, "-name", "*pi-appliance*", check=False)[1] in {"", _NO_STATE}
