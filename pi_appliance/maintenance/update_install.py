"""pi-appliance update: install a newer release, or return to the previous one.

Root runs this command, so it runs only files that root alone can write. It never reads the
configuration of the appliance, which the service can write (ADR 107). `deploy/install.sh` returns
from a release that does not start. This module returns from one that fails its checks, and when the
owner asks for it.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypedDict

import click

from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.maintenance import release_archive
from pi_appliance.maintenance.releases import Installation, Release, ReleaseJson, find_newer, read_address, version_key
from pi_appliance.system import files

_UNIT = "pi-appliance.service"


@dataclass(frozen=True, slots=True)
class _Machine:
    """An installed appliance: the one of this machine, or one below the folder `root`."""

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
        # Not bin/pi-appliance: its first line names a Python outside of another root.
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
        # The unit has Type=notify, so `restart` waits until the daemon is ready or has failed.
        subprocess.run(["systemctl", "reset-failed", _UNIT], capture_output=True, check=False)
        return subprocess.run(["systemctl", "restart", _UNIT], check=False).returncode == 0

    def install(self, sources: Path, say: Callable[[str], None]) -> None:
        """Run deploy/install.sh of `sources`. It returns to the present release by itself.

        Args:
            sources: The unpacked archive of the release.
            say: Takes the output, line by line.
        """
        prefix = () if self.is_this_one else ("--prefix", str(self.root))
        script = sources / "deploy/install.sh"
        present = self.installation.current
        command = ["sh", str(script), "--yes", *prefix]
        reason = ""
        with subprocess.Popen(
            command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                say(line.removesuffix("\n"))
                reason = line.strip() or reason
        if process.returncode:
            # install.sh switched to the release, and failed later, such as at the entries for cron
            if self.installation.current != present:
                self.leave(present)
            reason = reason.removeprefix("pi-appliance: ")
            raise Refused(f"the new release could not be installed: {reason}; {present} is active")

    def leave(self, better: str) -> None:
        """Start the release `better` again, and remove the active one, which failed its checks."""
        worse = self.installation.current
        self.activate(better)
        shutil.rmtree(self.installation.home / "releases" / worse, ignore_errors=True)


class NewerReleasesJson(TypedDict):
    """The installed version, and the newer releases, the newest first."""

    version: str
    newer: list[ReleaseJson]


class UpdateJson(TypedDict):
    """The active version, the one before, which is the same if nothing was done, and the steps."""

    version: str
    previous: str
    steps: list[str]


@click.command("update", short_help="Install a newer release, or return to the previous one.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Only say whether there is a newer release, and what is new.")
@click.option("--back", is_flag=True, help="Return to the previous release.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs; the progress goes to stderr.")
# For tests. A `state-dir` in the configuration below ROOT is used without ROOT.
@click.option("--prefix", "root", default="/", type=click.Path(path_type=Path), hidden=True)
def update(file: Path | None, *, check: bool, back: bool, yes: bool, as_json: bool, root: Path) -> None:
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
        click.echo(json.dumps(_newer_json(installed, newer)) if as_json else _describe(installed, newer))
        raise SystemExit(10 if newer else 0)
    if machine.is_this_one and os.geteuid() != 0:
        words = " --back" if back else f" {file}" if file else ""
        raise Refused(f"only root can update; run: sudo pi-appliance update{words}")
    home = machine.installation.home
    with machine.installation.lock(), _Progress(machine.installation, to_stderr=as_json).record() as progress:
        if back:
            _go_back(machine, progress, yes=yes)
        else:
            for left in home.glob(".update-*"):  # left by a power loss
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=".update-", dir=home) as name:
                _install_newer(machine, installed, file, Path(name), progress, yes=yes)
    if as_json:
        active = machine.installation.version()
        result: UpdateJson = {"version": active, "previous": installed, "steps": progress.steps}
        click.echo(json.dumps(result))


class _Progress:
    """Prints the steps of an update, and stores them with the result for the page."""

    def __init__(self, installation: Installation, *, to_stderr: bool) -> None:
        self._file, self._to_stderr = installation.progress_file, to_stderr
        self._values: dict[str, object] = {"state": "running", "version": "", "message": ""}
        self.steps: list[str] = []

    def say(self, text: str) -> None:
        """Print `text`."""
        click.echo(text, err=self._to_stderr)

    def confirm(self, question: str) -> None:
        """Ask whether to go on. Raises click.Abort."""
        click.confirm(question, abort=True, err=self._to_stderr)

    def step(self, text: str) -> None:
        """Print and store the next step."""
        self.say(text)
        self.steps.append(text)
        self._write()

    def name(self, version: str, *, left: str = "") -> None:
        """Store the version, once it is known, and the version that a return leaves."""
        self._values |= {"version": version, "left": left}

    @contextmanager
    def record(self) -> Iterator[Self]:
        """Store the steps and the result of the block, unless it ends before its first step."""
        try:
            yield self
        except click.Abort:
            raise
        except BaseException as error:
            message = str(error) if isinstance(error, ApplianceError) else "it was interrupted; start it again"
            self._end("failed", message)
            raise
        self._end("done", "")

    def _end(self, state: str, message: str) -> None:
        self._values |= {"state": state, "message": message}
        if self.steps or message:
            self._write()

    def _write(self) -> None:
        values = {**self._values, "steps": self.steps}
        with suppress(ApplianceError, OSError):  # a progress file that cannot be written must not stop the update
            files.write_file(self._file, json.dumps(values).encode(), mode=0o644)


def _find_newer(machine: _Machine, installed: str) -> list[Release]:
    address = read_address(machine.address_file)
    if not address:
        raise Refused(
            f"updates are off: {machine.address_file} names no list of releases; write address=https://… there, "
            "or update from a file: sudo pi-appliance update FILE.tar.gz"
        )
    return find_newer(address, installed)


def _newer_json(installed: str, newer: list[Release]) -> NewerReleasesJson:
    return {"version": installed, "newer": [{"version": each.version, "notes": each.notes} for each in newer]}


def _describe(installed: str, newer: list[Release]) -> str:
    if not newer:
        return f"version {installed}, up to date"
    news = "".join(f"\n\n{each.version}\n{click.unstyle(each.notes) or 'no notes'}" for each in newer)
    return f"version {installed}; {newer[0].version} is available{news}"


def _install_newer(
    machine: _Machine, installed: str, file: Path | None, folder: Path, progress: _Progress, *, yes: bool
) -> None:
    """Install the newest release, or the one in `file`.

    Return to the installed one if it is worse.
    """
    archive, expected = file, ""
    if archive is None:
        newer = _find_newer(machine, installed)
        progress.say(_describe(installed, newer))
        if not newer:
            return
        archive, expected = folder / "release.tar.gz", newer[0].version
        progress.name(expected)
        progress.step(f"downloading {expected}")
        release_archive.download(newer[0], archive)
    sources = release_archive.unpack(archive, folder / "sources")
    version = release_archive.version_of(sources)
    if expected and version != expected:
        raise Refused(f"the archive of {expected} has version {version}; nothing was changed")
    if version_key(version) < version_key(installed):
        raise Refused(f"{version} is older than the installed {installed}; to return: sudo pi-appliance update --back")
    progress.name(version)
    if not yes:
        progress.confirm(f"Install {version}?")
    before, present = machine.failed_checks(), machine.installation.current
    progress.step(f"backup: {machine.back_up()}")
    progress.step(f"installing {version}; this takes some minutes")
    machine.install(sources, progress.say)
    progress.step("checking it with its doctor")
    after = machine.failed_checks()
    worse = set[str]()
    if before is not None:
        worse = {"doctor"} if after is None else after - before
    if worse and machine.installation.current != present:
        machine.leave(present)
        raise Refused(f"{version} fails at: {', '.join(sorted(worse))}; {present} is active again")
    progress.say(f"version {version} is installed")


def _go_back(machine: _Machine, progress: _Progress, *, yes: bool) -> None:
    others = machine.installation.others()
    if not others:
        raise Refused("there is no previous release to return to")
    if not yes:
        progress.confirm(f"Return to {others[0]}?")
    progress.name(others[0].rpartition("-")[0], left=machine.installation.version())
    progress.step(f"returning to {others[0]}")
    machine.activate(others[0])
    progress.say(f"{others[0]} is active again")
