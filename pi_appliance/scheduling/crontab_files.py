"""Where entries for cron go: a user's crontab, or a file of ours in /etc/cron.d.

In a crontab the entries are one marked block; the rest is other people's, and is given back to the byte.
"""

import contextlib
import difflib
import fcntl
import os
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.scheduling.crontab_block import put, take_out
from pi_appliance.system import files

SYSTEM_FILE = Path("/etc/cron.d/pi-appliance")
NOTICE = '# Written by "pi-appliance jobs install"; "pi-appliance jobs uninstall" takes it out again.'
_PATIENCE = 20.0  # seconds for the crontab program, and for another install of ours to end


@dataclass(frozen=True, slots=True)
class Plan:
    """What is there, and what is to be there; None where there is no crontab at all."""

    place: str
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        """Whether anything is to be done."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff, '' when there is none."""
        old, new = (_shown(text) for text in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, f"{self.place} (now)", f"{self.place} (then)", lineterm=""))


class UserCrontab:
    """The crontab of one user, with one marked block for each configuration file that has entries in it."""

    def __init__(self, config: Path, *, user: str | None = None, backup: Path | None = None) -> None:
        """USER is named by root only, for someone else's. Before a change the old bytes go into the file BACKUP."""
        self.owner = os.fsencode(config)
        self.user = user
        self.backup = backup
        self.place = f"crontab of {user or current_user()}"

    def read(self) -> bytes | None:
        """Return the crontab as it is, None if there is none. Raises Unavailable or Refused."""
        listed = self._run("-l")
        if listed.returncode != 0 and b"no crontab for" in listed.stderr:
            return None
        text = _output(listed)
        if b"\\r" not in text and b"\\b" not in text:
            return text
        # crontab -l prints a carriage return and a backspace as \r and \b; an editor is given them as they are.
        text = _output(self._run("-e", VISUAL="cat", EDITOR="cat"))
        if text.replace(b"\r", b"\\r").replace(b"\b", b"\\b") != listed.stdout:
            raise Refused(
                f"the {self.place} holds control characters that cannot be read back exactly; "
                "nothing was changed: remove \\r and \\b from it with crontab -e, or use --system"
            )
        return text

    def plan(self, entries: Sequence[str]) -> Plan:
        """Return what `install` would do."""
        return self._plan(self.read(), entries)

    def install(self, entries: Sequence[str]) -> Plan:
        """Make ENTRIES the lines of our block; without any, take the block out. Returns what was done.

        Raises Unavailable or Refused, and then the crontab is as it was.
        """
        with _alone(self.user or current_user()):
            plan = self.plan(entries)
            if not plan.changes:
                return plan
            if self.backup is not None and plan.before is not None:
                files.make_directory(self.backup.parent)
                files.write_file(self.backup, plan.before, mode=0o600)
            if self.read() != plan.before:
                raise Unavailable(f"another program changed the {self.place} just now; nothing was done, try again")
            self._replace(plan)
            return plan

    def uninstall(self) -> Plan:
        """Take our block out: what remains is, to the byte, what was there without it. Returns what was done."""
        return self.install([])

    def _plan(self, before: bytes | None, entries: Sequence[str]) -> Plan:
        block = [os.fsencode(line) for line in (NOTICE, *entries)]
        after = put(before, self.owner, block) if entries else take_out(before, self.owner)
        return Plan(self.place, before, after)

    def _replace(self, plan: Plan) -> None:
        try:
            self._write(plan.after)
            if _whole(self.read()) != _whole(plan.after):
                raise Refused(f"cron did not keep the {self.place} as it was given; the old one is back")
        except ApplianceError:
            if self.read() != plan.before:
                self._write(plan.before)
            raise

    def _write(self, text: bytes | None) -> None:
        if text is None:
            _output(self._run("-r"))
            return
        ended = self._run("-", text=text)
        if ended.returncode != 0 and text != _whole(text):
            # Debian's cron never takes back a last line without its newline, which only a hand in its folder can write.
            ended = self._run("-", text=_whole(text) or b"")
        _output(ended)

    def _run(self, *options: str, text: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        command = ["crontab", *(["-u", self.user] if self.user else []), *options]
        try:
            return subprocess.run(
                command,
                input=text,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
                env={**os.environ, "LC_ALL": "C", **environment},
            )
        except FileNotFoundError:
            raise Unavailable("cron is not installed; run: sudo apt install cron") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"the program crontab does not work: {error}") from None


class SystemCrontab:
    """A file of our own in /etc/cron.d, whose entries name the user they run as. Only root may change it."""

    def __init__(self, config: Path, *, path: Path = SYSTEM_FILE) -> None:
        self.head = f"# The entries of {config} for cron.\n{NOTICE}\n"
        self.path = path
        self.place = str(path)

    def read(self) -> bytes | None:
        """Return the file as it is, None if there is none. Raises Unavailable."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"{self.path} cannot be read: {error.strerror}") from None

    def plan(self, entries: Sequence[str]) -> Plan:
        """Return what `install` would do. Raises Refused if the file is not ours."""
        before = self.read()
        if before is not None and not before.startswith(os.fsencode(self.head)):
            first = before.split(b"\n", 1)[0].decode("utf-8", "backslashreplace")
            raise Refused(
                f"{self.path} belongs to something else (it begins with {first!r}) and stays as it is; "
                "uninstall that first, or remove the file"
            )
        text = self.head + "".join(f"{line}\n" for line in entries)
        return Plan(self.place, before, os.fsencode(text) if entries else None)

    def install(self, entries: Sequence[str]) -> Plan:
        """Make ENTRIES the content of the file; without any, remove it. Returns what was done. Raises as `plan`."""
        plan = self.plan(entries)
        if not plan.changes:
            return plan
        if plan.after is not None:
            files.write_file(self.path, plan.after)  # its draft has a dot in its name, so cron never reads half of it
            return plan
        try:
            self.path.unlink()
        except OSError as error:
            raise files.write_error(self.path, error) from None
        return plan

    def uninstall(self) -> Plan:
        """Remove the file. Returns what was done."""
        return self.install([])


def current_user() -> str:
    """Return the name of the user this process acts for."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        raise Refused(f"user {number} has no name on this machine, so cron has no crontab for it") from None


def known_user(name: str) -> pwd.struct_passwd:
    """Return what the machine knows of the user NAME. Raises Refused if there is none."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise Refused(f"no user of this machine is called {name!r}; see: getent passwd") from None


@contextlib.contextmanager
def _alone(user: str) -> Iterator[None]:
    """Keep other installs of ours away from the crontab of USER. Raises Unavailable when one does not end."""
    number = _open_folder(user)
    try:
        deadline = time.monotonic() + _PATIENCE
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


def _open_folder(user: str) -> int:
    """Open the folder whose lock stands for USER's crontab: the home, which needs no file to be left behind."""
    for folder in (known_user(user).pw_dir, tempfile.gettempdir()):
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    raise Unavailable(f"neither the home of {user} nor {tempfile.gettempdir()} can be opened; check their rights")


def _whole(text: bytes | None) -> bytes | None:
    """Return TEXT with a newline at its end, where it has an end."""
    return text + b"\n" if text and not text.endswith(b"\n") else text


def _shown(text: bytes | None) -> list[str]:
    return text.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n") if text else []


def _output(ended: subprocess.CompletedProcess[bytes]) -> bytes:
    """Return what the crontab program printed. Raises Refused with its own words when it did not do it."""
    if ended.returncode != 0:
        said = b" ".join(ended.stderr.split()).decode("utf-8", "backslashreplace")
        raise Refused(f"crontab answered: {said or f'exit status {ended.returncode}'}; nothing was changed")
    return ended.stdout
