"""pi-appliance update: install a newer release, or return to the previous one.

Root runs this command, and it runs only what root alone can write. It never reads the
configuration of the appliance, which the service can write (ADR 107).
"""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from pi_appliance.errors import Refused
from pi_appliance.maintenance import releases
from pi_appliance.maintenance.releases import Installation, Release, version_key

_UNIT = "pi-appliance.service"


@dataclass(frozen=True, slots=True)
class _Machine:
    """An installed appliance: that of this machine, or one below `root`."""

    root: Path

    @property
    def is_this_one(self) -> bool:
        return self.root == Path("/")

    @property
    def installation(self) -> Installation:
        return Installation(self.root / "opt/pi-appliance")

    @property
    def address_file(self) -> Path:
        return self.root / "etc/pi-appliance-update.conf"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the installed program as the user of the service."""
        as_user = ("runuser", "-u", "pi-appliance", "--") if self.is_this_one else ()
        # Not bin/pi-appliance: below another root, its first line names no Python.
        python = self.installation.home / "current/bin/python"
        configuration = self.root / "etc/pi-appliance/appliance.yaml"
        command = [*as_user, str(python), "-P", "-m", "pi_appliance", *words, "--config", str(configuration)]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)

    def failed_checks(self) -> set[str] | None:
        """Return the names of the checks of the doctor that fail, or None without an answer."""
        try:
            results = json.loads(self.run("doctor", "--json").stdout)
            return {str(each["check"]) for each in results if each["status"] == "fail"}
        except (ValueError, TypeError, KeyError):
            return None

    def back_up(self) -> Path:
        """Write a backup. Raises Refused if that is not possible."""
        path = self.root / "var/lib/pi-appliance/before-update.tar.gz"
        ended = self.run("backup", str(path))
        if ended.returncode:
            raise Refused(f"nothing was changed, because no backup could be written: {ended.stderr.strip()}")
        return path

    def activate(self, name: str) -> None:
        """Start the release `name`. Raises Refused if it does not start."""
        present = self.installation.current
        self.installation.switch_to(name)
        if not self.is_this_one or self._restart():
            return
        self.installation.switch_to(present)
        if self._restart():
            raise Refused(f"{name} does not start; {present} runs again")
        raise Refused(f"neither {name} nor {present} starts; run: systemctl status pi-appliance")

    def _restart(self) -> bool:
        # Type=notify: this waits until the daemon is ready or has failed.
        subprocess.run(["systemctl", "reset-failed", _UNIT], capture_output=True, check=False)
        return subprocess.run(["systemctl", "restart", _UNIT], check=False).returncode == 0

    def install(self, sources: Path) -> None:
        """Run deploy/install.sh of `sources`. It returns to the present release by itself."""
        prefix = () if self.is_this_one else ("--prefix", str(self.root))
        script = sources / "deploy/install.sh"
        present = self.installation.current
        if subprocess.run(["sh", str(script), "--yes", *prefix], cwd="/", check=False).returncode:
            if self.installation.current != present:  # it failed after the start, such as at the entries for cron
                self.activate(present)
            raise Refused(f"the new release could not be installed, see above; {present} is active")


@click.command("update", short_help="Install a newer release, or return to the previous one.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Only say whether there is a newer release, and what is new.")
@click.option("--back", is_flag=True, help="Return to the previous release.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
# For tests, as `state-dir` in the configuration below ROOT is used as it is.
@click.option("--prefix", "root", default="/", type=click.Path(path_type=Path), hidden=True)
def update(file: Path | None, *, check: bool, back: bool, yes: bool, root: Path) -> None:
    """Install the newest release of /etc/pi-appliance-update.conf, or that of the archive FILE.

    A backup is written first. If the new release does not start, or its doctor finds a failure that
    was not there before, the previous release runs again.

    \b
    Exit status:
      0   it is done, or there is nothing newer
      1   it is not, and the previous release is active
      2   wrong use
      10  with --check: a newer release is available
      75  the list of releases was not reached, or the disk is full
    """
    if sum((bool(file), check, back)) > 1:
        raise click.UsageError("use only one of FILE, --check and --back")
    machine = _Machine(root.resolve())
    installed = machine.installation.version()
    if check:
        newer = _find_newer(machine, installed)
        click.echo(_describe(installed, newer))
        raise SystemExit(10 if newer else 0)
    if machine.is_this_one and os.geteuid() != 0:
        words = " --back" if back else f" {file}" if file else ""
        raise Refused(f"only root can update; run: sudo pi-appliance update{words}")
    if back:
        with _only_update(machine.installation.home):
            _go_back(machine, yes=yes)
        return
    home = machine.installation.home
    with _only_update(home):
        for left in home.glob(".update-*"):  # by a power loss
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=".update-", dir=home) as name:
            _install_newer(machine, installed, file, Path(name), yes=yes)


@contextmanager
def _only_update(home: Path) -> Iterator[None]:
    """Refuse a second update during the block."""
    number = os.open(home, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Refused("another update is running; wait until it has ended") from None
    finally:
        os.close(number)


def _find_newer(machine: _Machine, installed: str) -> list[Release]:
    address = releases.read_address(machine.address_file)
    if not address:
        raise Refused(
            f"updates are off: {machine.address_file} names no list of releases; write address=https://… there, "
            "or update from a file: sudo pi-appliance update FILE.tar.gz"
        )
    found = releases.fetch_releases(address)
    return [each for each in found if version_key(each.version) > version_key(installed)]


def _describe(installed: str, newer: list[Release]) -> str:
    if not newer:
        return f"version {installed}, up to date"
    news = "".join(f"\n\n{each.version}\n{click.unstyle(each.notes) or 'no notes'}" for each in newer)
    return f"version {installed}; {newer[0].version} is available{news}"


def _install_newer(machine: _Machine, installed: str, file: Path | None, folder: Path, *, yes: bool) -> None:
    """Download or read the release, install it, and return to the present one if it is worse."""
    archive, expected = file, ""
    if archive is None:
        newer = _find_newer(machine, installed)
        click.echo(_describe(installed, newer))
        if not newer:
            return
        archive, expected = folder / "release.tar.gz", newer[0].version
        click.echo(f"downloading {expected}")
        releases.download(newer[0], archive)
    sources = releases.unpack(archive, folder / "sources")
    version = releases.version_of(sources)
    if expected and version != expected:
        raise Refused(f"the archive of {expected} has version {version}; nothing was changed")
    if version_key(version) < version_key(installed):
        raise Refused(f"{version} is older than the installed {installed}; to return: sudo pi-appliance update --back")
    if not yes:
        click.confirm(f"Install {version}?", abort=True)
    before, present = machine.failed_checks(), machine.installation.current
    click.echo(f"backup: {machine.back_up()}")
    click.echo(f"installing {version}; this takes some minutes")
    machine.install(sources)
    click.echo("checking it with its doctor")
    after = machine.failed_checks()
    worse = set[str]()
    if before is not None:
        worse = {"doctor"} if after is None else after - before
    if worse and machine.installation.current != present:
        machine.activate(present)
        raise Refused(f"{version} fails at: {', '.join(sorted(worse))}; {present} is active again")
    click.echo(f"version {version} is installed")


def _go_back(machine: _Machine, *, yes: bool) -> None:
    others = machine.installation.others()
    if not others:
        raise Refused("there is no previous release to return to")
    if not yes:
        click.confirm(f"Return to {others[0]}?", abort=True)
    machine.activate(others[0])
    click.echo(f"{others[0]} is active again")
