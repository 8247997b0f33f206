"""The entries of the appliance for cron, in a user's crontab or in our own file in /etc/cron.d.

In a crontab the entries are one marked block, and all other bytes stay unchanged. The first line of
a block records details of the original text, so that removing the block restores the same bytes.

The time fields are copied from the configuration; scheduling/schedule.py ensures that cron and the
daemon read them alike. python-crontab, which only this file imports, would write 0 0-23 as 0 *, and
0-7 as 0,*, which cron treats differently at clock changes.
"""

import contextlib
import difflib
import fcntl
import os
import pwd
import re
import shlex
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config.options import Config, Job, StartedBy
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.schedule import Cron
from pi_appliance.system import files
from pi_appliance.system.runtime_socket import cron_arguments

SYSTEM_FILE = Path("/etc/cron.d/pi-appliance")
NOTICE = '# Written by "pi-appliance jobs install"; "pi-appliance jobs uninstall" takes it out again.'
NO_ENTRY = "cron has no entry for it and will not start it; to add one: pi-appliance jobs install"
OWN_MARK = f" {shlex.join(cron_arguments('', '')[3:5])} "
"""A part of each of our entries."""
_MAX_COMMAND = 998  # characters: cron's MAX_COMMAND. It does not check this limit in /etc/cron.d
_SAME_RULES_PERIOD = timedelta(days=3 * 366)
_TIMEOUT = 20.0  # seconds for the crontab program, and for another install of ours to end
_CRON_PROGRAMS = {"cron", "crond", "cronie", "fcron", "dcron", "bcron-start"}
_FILE_NAME = re.compile(r"[A-Za-z0-9_-]+")  # cron ignores files in /etc/cron.d with other names
_BEGIN = b"# BEGIN pi-appliance "
_END = b"# END pi-appliance "
_NOTHING = b"(there was nothing before) "
_NO_NEWLINE = b"(no newline before) "
_NOTE = b"(?P<note>" + re.escape(_NOTHING) + b"|" + re.escape(_NO_NEWLINE) + b")?"


# Entries


def build_entries(
    config: Config, program: Sequence[str], *, zone: ZoneInfo, now: datetime, user: str | None = None
) -> list[str]:
    """Return an entry for each expression of each job that cron starts.

    Args:
        config: the configuration.
        program: the command that starts pi-appliance.
        zone: the time zone of cron.
        now: the current time.
        user: value of the user field, which only system crontabs have.

    Raises:
        Refused: cron would not run a job as the daemon does.
    """
    entries = []
    for job in _cron_jobs(config):
        wanted = config.zone_of(job)
        if isinstance(job.schedule, Cron) and not have_same_rules(wanted, zone, now):
            raise Refused(
                f"cron knows only the machine's time zone, {zone.key}, but {job.name} is to run by {wanted.key}; run: "
                f"sudo timedatectl set-timezone {wanted.key}, or write started-by: daemon"
            )
        command = _build_command(config, program, job)
        expressions = job.schedule.expressions if isinstance(job.schedule, Cron) else ("@reboot",)
        entries += [_build_entry(expression, command, user) for expression in expressions]
    return entries


def have_same_rules(one: ZoneInfo, other: ZoneInfo, now: datetime) -> bool:
    """Return whether two zones have the same rules for three years from `now`."""
    return one.key == other.key or slot_times.have_same_offsets(one, other, now, now + _SAME_RULES_PERIOD)


def _cron_jobs(config: Config) -> list[Job]:
    return [job for job in config.jobs.values() if job.started_by is StartedBy.CRON and job.schedule is not None]


def _build_command(config: Config, program: Sequence[str], job: Job) -> str:
    command = shlex.join([*program, *cron_arguments(job.name, str(config.path))])
    if not command.isprintable() or "\\" in command:
        raise Refused(f"cron cannot keep a command with control characters or backslashes: {command!a}; rename it")
    if len(os.fsencode(command)) > _MAX_COMMAND:
        raise Refused(f"cron accepts at most {_MAX_COMMAND} characters, this command is longer: {command[:100]}…")
    return command


def _build_entry(when: str, command: str, user: str | None) -> str:
    """Return an entry, with the time fields unchanged; python-crontab escapes each %."""
    from crontab import CronTab  # noqa: PLC0415 - slow to load

    item = CronTab(tab="", user=False if user else None).new(command=command, user=user)
    entry: str = item.render()
    return f"{when} {entry.removeprefix('* * * * * ')}"


# Checks


@dataclass(frozen=True, slots=True)
class CrontabFault:
    """The reason why cron ignores a file or part of it, and the command that repairs it."""

    reason: str
    remedy: str


def is_cron_running() -> bool:
    """Return whether a cron daemon runs on this machine."""
    for name in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # the process may have just ended
            if name.read_text("utf-8", "replace").strip() in _CRON_PROGRAMS:
                return True
    return False


def find_faults(file: Path = SYSTEM_FILE) -> list[CrontabFault]:
    """Return the reasons why cron does not read `file`. There are none without the file.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        about, content = file.stat(), file.read_bytes()
    except FileNotFoundError:
        return []
    faults, name = [], shlex.quote(str(file))
    if about.st_uid != 0:
        reason = f"{file} does not belong to root, so cron does not read it"
        faults.append(CrontabFault(reason, f"sudo chown root:root {name}"))
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        reason = f"others may write to {file}, so cron does not read it"
        faults.append(CrontabFault(reason, f"sudo chmod 644 {name}"))
    if content and not content.endswith(b"\n"):
        reason = f"{file} has no newline at its end, so cron reads nothing of it"
        faults.append(CrontabFault(reason, f"echo | sudo tee -a {name}"))
    return faults


def find_misnamed_files(folder: Path = SYSTEM_FILE.parent) -> list[CrontabFault]:
    """Return the files in `folder` with our entries whose names cron ignores."""
    faults, expected = [], folder / SYSTEM_FILE.name
    for file in sorted(folder.glob("*")):
        if not _FILE_NAME.fullmatch(file.name) and _has_entries(file):
            name = shlex.quote(str(file))
            remedy = f"sudo rm {name}" if expected.exists() else f"sudo mv {name} {shlex.quote(str(expected))}"
            reason = f"cron ignores {file}: only letters, digits, - and _ may be in its name"
            faults.append(CrontabFault(reason, remedy))
    return faults


def missing_entries(config: Config) -> list[str]:
    """Return the jobs without an entry in a crontab; none if a crontab cannot be read."""
    names = [job.name for job in _cron_jobs(config)]
    for kind in (SystemCrontab, UserCrontab):
        if names:
            try:
                text = (kind(config.path).read() or b"").decode("utf-8", "replace")
            except ApplianceError:
                return []
            names = [name for name in names if f" {shlex.join(cron_arguments(name, '')[:-1])} " not in text]
    return names


def missing_entry_notes(config: Config) -> list[str]:
    """Return a line for the owner for each job without an entry in a crontab."""
    return [f"{name}: {NO_ENTRY}" for name in missing_entries(config)]


def _has_entries(file: Path) -> bool:
    try:
        return file.is_file() and OWN_MARK.encode() in file.read_bytes()
    except OSError:
        return False


# Crontabs


@dataclass(frozen=True, slots=True)
class CrontabChange:
    """The content of a crontab before and after a change. None means that there is no crontab.

    `old_entries` and `new_entries` are the entries of one configuration in it.
    """

    name: str
    before: bytes | None
    after: bytes | None
    old_entries: Sequence[str]
    new_entries: Sequence[str]

    @property
    def has_changes(self) -> bool:
        """Whether the content changes."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff, or '' without one."""
        old, new = (_split_lines(text) for text in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, f"{self.name} (now)", f"{self.name} (then)", lineterm=""))


class UserCrontab:
    """The crontab of one user, with a marked block for each configuration file with entries."""

    def __init__(self, config: Path, *, user: str | None = None, backup: Path | None = None) -> None:
        """Create it without access to cron yet.

        Args:
            config: the configuration file, which owns the block.
            user: another user. Only root may name one.
            backup: receives the old content before a change.
        """
        self.owner, self.user, self.backup = os.fsencode(config), user, backup
        self.name = f"crontab of {user or current_user()}"

    def read(self) -> bytes | None:
        """Return the crontab, or None if there is none. Raises Unavailable or Refused."""
        listing = self._run_crontab("-l")
        if listing.returncode != 0 and b"no crontab for" in listing.stderr:
            return None
        text = _check_output(listing)
        if b"\\r" not in text and b"\\b" not in text:
            return text
        # crontab -l escapes carriage return and backspace; an editor gets the original bytes.
        text = _check_output(self._run_crontab("-e", VISUAL="cat", EDITOR="cat"))
        if text.replace(b"\r", b"\\r").replace(b"\b", b"\\b") != listing.stdout:
            raise Refused(
                f"the {self.name} holds control characters that cannot be read back exactly; "
                "nothing was changed: remove \\r and \\b from it with crontab -e, or use --system"
            )
        return text

    def plan(self, entries: Sequence[str]) -> CrontabChange:
        """Return the change that `install` would make."""
        before = self.read()
        match = _find_block(before or b"", self.owner)
        old_entries = _read_entries(self.name, match[0].splitlines()[1:-1] if match else [])
        block = [os.fsencode(line) for line in (NOTICE, *entries)]
        after = set_block(before, self.owner, block) if entries else remove_block(before, self.owner)
        return CrontabChange(self.name, before, after, old_entries, entries)

    def install(self, entries: Sequence[str]) -> CrontabChange:
        """Write `entries` into our block, or remove the block without entries.

        Returns:
            The change that was made.

        Raises:
            Refused: the change is not possible. The crontab is unchanged.
            Unavailable: cron does not work. The crontab is unchanged.
        """
        with _lock_crontab(self.user or current_user()):
            change = self.plan(entries)
            if not change.has_changes:
                return change
            if self.backup is not None and change.before is not None:
                files.make_directory(self.backup.parent)
                files.write_file(self.backup, change.before, mode=0o600)
            if self.read() != change.before:
                raise Unavailable(f"another program changed the {self.name} just now; nothing was done, try again")
            self._replace_crontab(change)
            return change

    def uninstall(self) -> CrontabChange:
        """Remove our block and return the change. The other bytes stay unchanged."""
        return self.install([])

    def _replace_crontab(self, change: CrontabChange) -> None:
        try:
            self._write_crontab(change.after)
            if _end_with_newline(self.read()) != _end_with_newline(change.after):
                raise Refused(f"cron did not store the new {self.name} unchanged; the old one was restored")
        except ApplianceError:
            if self.read() != change.before:
                self._write_crontab(change.before)
            raise

    def _write_crontab(self, text: bytes | None) -> None:
        if text is None:
            _check_output(self._run_crontab("-r"))
            return
        result = self._run_crontab("-", text=text)
        if result.returncode != 0 and text != _end_with_newline(text):
            # Debian's cron rejects a last line without a newline, but an existing crontab may have
            # one.
            result = self._run_crontab("-", text=_end_with_newline(text) or b"")
        _check_output(result)

    def _run_crontab(self, *options: str, text: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        command = ["crontab", *(["-u", self.user] if self.user else []), *options]
        variables = {**os.environ, "LC_ALL": "C", **environment}
        try:
            return subprocess.run(
                command, input=text, capture_output=True, timeout=_TIMEOUT, check=False, env=variables
            )
        except FileNotFoundError:
            raise Unavailable("cron is not installed; run: sudo apt install cron") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"the program crontab does not work: {error}") from None


class SystemCrontab:
    """Our own file in /etc/cron.d. Each entry names its user. Only root may change the file."""

    def __init__(self, config: Path, *, path: Path = SYSTEM_FILE) -> None:
        self.head = f"# The entries of {config} for cron.\n{NOTICE}\n"
        self.path, self.name = path, str(path)

    def read(self) -> bytes | None:
        """Return the file, or None if there is none. Raises Unavailable."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"{self.path} cannot be read: {error.strerror}") from None

    def plan(self, entries: Sequence[str]) -> CrontabChange:
        """Return the change that `install` would make. Raises Refused if the file is not ours."""
        before = self.read()
        if before is not None and not before.startswith(os.fsencode(self.head)):
            first = before.split(b"\n", 1)[0].decode("utf-8", "backslashreplace")
            raise Refused(
                f"{self.path} belongs to something else (it begins with {first!r}) and stays as it is; "
                "uninstall that first, or remove the file"
            )
        lines = (before or b"").removeprefix(os.fsencode(self.head)).splitlines()
        old_entries = _read_entries(self.name, lines)
        text = self.head + "".join(f"{line}\n" for line in entries)
        after = os.fsencode(text) if entries else None
        return CrontabChange(self.name, before, after, old_entries, entries)

    def install(self, entries: Sequence[str]) -> CrontabChange:
        """Write `entries` to the file, or delete it without entries. Raises as `plan`.

        Returns:
            The change that was made.
        """
        change = self.plan(entries)
        if change.has_changes and change.after is not None:
            files.write_file(self.path, change.after)  # cron does not read the draft, because its name has a dot
        elif change.has_changes:
            try:
                self.path.unlink()
            except OSError as error:
                raise files.write_error(self.path, error) from None
        return change

    def uninstall(self) -> CrontabChange:
        """Delete the file and return the change."""
        return self.install([])


def _read_entries(name: str, lines: Sequence[bytes]) -> list[str]:
    """Return our entries of `lines`, which are about to be replaced. Raises Refused for others."""
    texts = [line.decode("utf-8", "backslashreplace").strip() for line in lines]
    foreign = [text for text in texts if text and text != NOTICE and OWN_MARK not in f"{text} "]
    if foreign:
        raise Refused(
            f"the {name} has lines of yours among the entries of pi-appliance: {'; '.join(map(repr, foreign))}; "
            "nothing was changed: move them out of there, because they would be lost"
        )
    return [text for text in texts if text and text != NOTICE]


def current_user() -> str:
    """Return the name of the effective user."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        raise Refused(f"user {number} has no name on this machine, so cron has no crontab for it") from None


def find_user(name: str) -> pwd.struct_passwd:
    """Return the account of the user `name`. Raises Refused if there is none."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise Refused(f"no user of this machine is called {name!r}; see: getent passwd") from None


@contextlib.contextmanager
def _lock_crontab(user: str) -> Iterator[None]:
    """Lock the crontab of `user` against other installs. Raises Unavailable after a timeout."""
    number = _open_lock_directory(user)
    try:
        deadline = time.monotonic() + _TIMEOUT
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise Unavailable(f"another install in the crontab of {user} does not end; try again") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(number)


def _open_lock_directory(user: str) -> int:
    """Open the home directory of `user` to lock it, which needs no additional lock file."""
    for folder in (find_user(user).pw_dir, tempfile.gettempdir()):
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    raise Unavailable(f"neither the home of {user} nor {tempfile.gettempdir()} can be opened; check their rights")


def _end_with_newline(text: bytes | None) -> bytes | None:
    return text + b"\n" if text and not text.endswith(b"\n") else text


def _split_lines(text: bytes | None) -> list[str]:
    return text.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n") if text else []


def _check_output(result: subprocess.CompletedProcess[bytes]) -> bytes:
    """Return the output of the crontab program. Raises Refused with its message on an error."""
    if result.returncode != 0:
        message = b" ".join(result.stderr.split()).decode("utf-8", "backslashreplace")
        raise Refused(f"crontab answered: {message or f'exit status {result.returncode}'}; nothing was changed")
    return result.stdout


# Marked blocks


def set_block(text: bytes | None, owner: bytes, lines: Sequence[bytes]) -> bytes:
    """Return `text` with the block of `owner` replaced or appended. Raises Refused."""
    if text is None:
        return _format_block(owner, lines, _NOTHING)
    if match := _find_block(text, owner):
        return text[: match.start()] + _format_block(owner, lines, match["note"] or b"") + text[match.end() :]
    if text and not text.endswith(b"\n"):
        return text + b"\n" + _format_block(owner, lines, _NO_NEWLINE)
    return text + _format_block(owner, lines, b"")


def remove_block(text: bytes | None, owner: bytes) -> bytes | None:
    """Return `text` without the block of `owner`; None without text. Raises Refused if damaged."""
    match = _find_block(text or b"", owner)
    if text is None or match is None:
        return text
    before, note, after = text[: match.start()], match["note"] or b"", text[match.end() :]
    if after.startswith(_BEGIN) and not after.startswith(_BEGIN + b"("):
        # The note is about the original text, so the next block takes it over.
        return before + _BEGIN + note + after.removeprefix(_BEGIN)
    if note == _NOTHING and not before + after:
        return None
    return (before.removesuffix(b"\n") if note == _NO_NEWLINE and not after else before) + after


def _format_block(owner: bytes, lines: Sequence[bytes], note: bytes) -> bytes:
    return b"".join(line + b"\n" for line in (_BEGIN + note + owner, *lines, _END + owner))


def _find_block(text: bytes, owner: bytes) -> re.Match[bytes] | None:
    """Find the complete block of `owner`. Raises Refused if it is incomplete or repeated."""
    begin, end = _BEGIN + _NOTE + re.escape(owner) + b"\n", _END + re.escape(owner) + b"(?:\n|\\Z)"
    begins, ends = (len(re.findall(b"^" + mark, text, re.MULTILINE)) for mark in (begin, end))
    match = re.search(b"^" + begin + b"(?:.*\n)*?" + end, text, re.MULTILINE)
    if (begins, ends) != ((1, 1) if match else (0, 0)):
        name = owner.decode("utf-8", "backslashreplace")
        raise Refused(
            f"the marks around the block of {name} are damaged ({begins} BEGIN, {ends} END); "
            "nothing was changed: remove that block by hand, then try again"
        )
    return match
