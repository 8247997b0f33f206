"""Steps in the life of an appliance, from installation to removal. Each prints how long it took."""

import json
import time
from pathlib import Path

from tests.vm.releases import timed
from tests.vm.system import System

YAML = "/etc/pi-appliance/appliance.yaml"
SECRETS = "/etc/pi-appliance/secrets.env"
STATE = "/var/lib/pi-appliance"
BACKUP = f"{STATE}/all.tar.gz"
PASSPHRASE = "four words are enough\n"
BROKEN = {"daemon": 'raise SystemExit("broken for a test")\n'}  # a release that does not start
_KERNELS = "from pi_appliance.puzzles.kernels import kernel_states; print({state for _, state in kernel_states()})"
_NO_STATE = f"find: ‘{STATE}’: No such file or directory"


def unpack(system: System, archive: str) -> str:
    """Unpack the archive of a release, and return its folder."""
    system.run("tar", "xzf", archive, "-C", "/root")
    return f"/root/{Path(archive).name.removesuffix('.tar.gz')}"


def install(system: System, release: str) -> None:
    """Install the unpacked `release` as a service."""
    with timed("install from an archive, until the page answers"):
        system.run("sh", f"{release}/deploy/install.sh", "--yes")
        system.wait_for_page()


def install_with_wheel(system: System, release: str, *options: str) -> None:
    """Install the unpacked `release`, which has a wheel and so needs no compiler."""
    system.run("apt-get", "purge", "-y", "--auto-remove", "gcc")
    with timed("install from an archive with a wheel, until the page answers"):
        system.run("sh", f"{release}/deploy/install.sh", "--yes", *options)
        system.wait_for_page()
    assert system.run("which", "gcc", check=False)[1] == ""
    assert system.run("/opt/pi-appliance/current/bin/python", "-c", _KERNELS)[1] == "{'compiled'}"


def install_package(system: System, package: str, *options: str) -> None:
    """Install the Debian package at the path `package`; `options` are those of apt-get."""
    with timed("install of the package, until the page answers"):
        system.run("apt-get", "-qq", "install", "-y", *options, package)
        system.wait_for_page()


def version(system: System) -> str:
    """Return the version that is installed."""
    return system.run("pi-appliance", "--version")[1].split()[-1]


def update(system: System, better: str) -> None:
    """Update from the archive `better`."""
    with timed("update from a file"):
        system.run("pi-appliance", "update", "--yes", better)
    assert better.endswith(f"-{version(system)}.tar.gz")


def fail_to_update(system: System, broken: str) -> None:
    """Update from an archive with the change `BROKEN`. The update rolls back to the previous release."""
    before = version(system)
    with timed("update to a release that does not start, and back"):
        status, output = system.run("pi-appliance", "update", "--yes", broken, check=False)
    assert status == 1, output
    assert "broken for a test" in output
    assert version(system) == before
    system.wait_for_page()


def posts(system: System) -> list[dict[str, object]]:
    """Return the posts in the history, the newest first."""
    return list(json.loads(system.appliance("tweets", "list", "--json")[1])["posts"])


def kill_and_hang(system: System, limit: float) -> None:
    """Kill the daemon, and stop it as if it hung. Its page is back after at most `limit` seconds."""
    for step, number in (("killed daemon", "KILL"), ("daemon that hangs", "STOP")):
        before = system.main_pid
        with timed(f"{step}, until the page answers again"):
            start = time.monotonic()
            system.run("kill", f"-{number}", before)
            while system.main_pid in {before, "0"}:
                assert time.monotonic() - start < limit
                time.sleep(0.2)
            system.wait_for_page()
        assert time.monotonic() - start < limit


def break_configuration(system: System) -> None:
    """Write a wrong file: a reload refuses it, and a restart runs with the last good one. Then correct it."""
    good = f"# a comment of the owner\n{system.read(YAML)}\n"
    system.write(YAML, good + "jobs: [\n")
    assert system.run("systemctl", "reload", "pi-appliance", check=False)[0] != 0
    with timed("restart with a wrong file, until the page answers"):
        system.run("systemctl", "restart", "pi-appliance")
        system.wait_for_page()
    assert "degraded" in (system.health() or {})
    system.write(YAML, good)
    system.run("systemctl", "reload", "pi-appliance")


def back_up(system: System) -> tuple[list[dict[str, object]], str]:
    """Post, write the file `BACKUP`, and return the posts and the configuration."""
    for _ in range(3):
        system.appliance("jobs", "run", "tweets")
    system.write(SECRETS, f"{system.read(SECRETS)}\nSOMETHING=very secret\n")
    with timed("backup with secrets"):
        system.appliance("backup", BACKUP, "--secrets", stdin=PASSPHRASE)
    return posts(system), system.read(YAML)


def restore(system: System, backup: str, before: tuple[list[dict[str, object]], str]) -> None:
    """Restore the file `backup` on a fresh installation: everything is there, and no post comes again."""
    system.run("systemctl", "stop", "pi-appliance")
    system.run("install", "--owner=pi-appliance", "--mode=0600", backup, BACKUP)
    with timed("restore"):
        system.appliance("restore", BACKUP, stdin=PASSPHRASE)
    system.run("systemctl", "start", "pi-appliance")
    system.wait_for_page()
    assert "very secret" in system.read(SECRETS)
    assert (posts(system), system.read(YAML)) == before
    system.appliance("jobs", "run", "tweets")
    assert posts(system)[1:] == before[0]


def purge_package(system: System) -> None:
    """Remove the Debian package. The configuration is the owner's, and stays."""
    with timed("purge of the package"):
        system.run("apt-get", "purge", "-y", "pi-appliance")
    assert system.health() is None
    system.read(YAML)


def uninstall(system: System, release: str) -> None:
    """Remove everything with the script of the unpacked `release`."""
    with timed("uninstall with --purge"):
        system.run("sh", f"{release}/deploy/uninstall.sh", "--purge", "--yes")
    assert system.health() is None
    places = ("/etc", "/opt", "/usr/local", "/usr/lib/systemd", STATE, "/run")
    assert system.run("find", *places, "-name", "*pi-appliance*", check=False)[1] in {"", _NO_STATE}
