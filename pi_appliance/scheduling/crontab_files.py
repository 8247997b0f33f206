"""Where entries for cron go: a user's crontab, or a file of ours in /etc/cron.d.

In a crontab the entries are one marked block. All other bytes stay unchanged.
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
    """The present and the new content. None means there is no crontab."""

    place: str
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        """Whether there is a change."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff, or '' without one."""
        old, new = (_split_lines(text) for text in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, f"{self.place} (now)", f"{self.place} (then)", lineterm=""))


class UserCrontab:
    """The crontab of one user, with a marked block for each configuration file with entries."""

    def __init__(self, config: Path, *, user: str | None = None, backup: Path | None = None) -> None:
        """Create it without access to cron yet.

        Args:
            config: the configuration file, which owns the block.
            user: another user. Only root may name one.
            backup: receives the old content before a change.

        """
        self.owner = os.fsencode(config)
        self.user = user
        self.backup = backup
        self.place = f"crontab of {user or current_user()}"

    def read(self) -> bytes | None:
        """Return the crontab, or None if there is none. Raises Unavailable or Refused."""
        listed = self._run_crontab("-l")
        if listed.returncode != 0 and b"no crontab for" in listed.stderr:
            return None
        text = _check_output(listed)
        if b"\\r" not in text and b"\\b" not in text:
            return text
        # crontab -l escapes carriage return and backspace. An editor gets the original bytes.
        text = _check_output(self._run_crontab("-e", VISUAL="cat", EDITOR="cat"))
        if text.replace(b"\r", b"\\r").replace(b"\b", b"\\b") != listed.stdout:
            raise Refused(
                f"the {self.place} holds control characters that cannot be read back exactly; "
                "nothing was changed: remove \\r and \\b from it with crontab -e, or use --system"
            )
        return text

    def plan(self, entries: Sequence[str]) -> Plan:
        """Return the change that `install` would make."""
        return self._plan(self.read(), entries)

    def install(self, entries: Sequence[str]) -> Plan:
        """Write `entries` into our block, or remove the block without entries.

        Returns:
            The change that was made.

        Raises:
            Refused: the change is not possible. The crontab is unchanged.
            Unavailable: cron does not work. The crontab is unchanged.

        """
        with _lock_crontab(self.user or current_user()):
            plan = self.plan(entries)
            if not plan.changes:
                return plan
            if self.backup is not None and plan.before is not None:
                files.make_directory(self.backup.parent)
                files.write_file(self.backup, plan.before, mode=0o600)
            if self.read() != plan.before:
                raise Unavailable(f"another program changed the {self.place} just now; nothing was done, try again")
            self._replace_crontab(plan)
            return plan

    def uninstall(self) -> Plan:
        """Remove our block and return the change. The other bytes stay unchanged."""
        return self.install([])

    def _plan(self, before: bytes | None, entries: Sequence[str]) -> Plan:
        block = [os.fsencode(line) for line in (NOTICE, *entries)]
        after = put(before, self.owner, block) if entries else take_out(before, self.owner)
        return Plan(self.place, before, after)

    def _replace_crontab(self, plan: Plan) -> None:
        try:
            self._write_crontab(plan.after)
            if _end_with_newline(self.read()) != _end_with_newline(plan.after):
                raise Refused(f"cron did not keep the {self.place} as it was given; the old one is back")
        except ApplianceError:
            if self.read() != plan.before:
                self._write_crontab(plan.before)
            raise

    def _write_crontab(self, text: bytes | None) -> None:
        if text is None:
            _check_output(self._run_crontab("-r"))
            return
        result = self._run_crontab("-", text=text)
        if result.returncode != 0 and text != _end_with_newline(text):
            # Debian's cron rejects a last line without a newline, but its file may contain one.
            result = self._run_crontab("-", text=_end_with_newline(text) or b"")
        _check_output(result)

    def _run_crontab(self, *options: str, text: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
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
    """Our own file in /etc/cron.d. Its entries name their user. Only root may change it."""

    def __init__(self, config: Path, *, path: Path = SYSTEM_FILE) -> None:
        self.head = f"# The entries of {config} for cron.\n{NOTICE}\n"
        self.path = path
        self.place = str(path)

    def read(self) -> bytes | None:
        """Return the file, or None if there is none. Raises Unavailable."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"{self.path} cannot be read: {error.strerror}") from None

    def plan(self, entries: Sequence[str]) -> Plan:
        """Return the change that `install` would make. Raises Refused if the file is not ours."""
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
        """Write `entries` to the file, or delete it without entries. Raises as `plan`.

        Returns:
            The change that was made.

        """
        plan = self.plan(entries)
        if not plan.changes:
            return plan
        if plan.after is not None:
            files.write_file(self.path, plan.after)  # cron ignores the draft, because its name has a dot
            return plan
        try:
            self.path.unlink()
        except OSError as error:
            raise files.write_error(self.path, error) from None
        return plan

    def uninstall(self) -> Plan:
        """Delete the file and return the change."""
        return self.install([])


def current_user() -> str:
    """Return the name of the effective user."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        raise Refused(f"user {number} has no name on this machine, so cron has no crontab for it") from None


def known_user(name: str) -> pwd.struct_passwd:
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


def _open_lock_directory(user: str) -> int:
    """Open the directory whose lock protects the crontab of `user`.

    The home directory needs no additional lock file.
    """
    for folder in (known_user(user).pw_dir, tempfile.gettempdir()):
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    raise Unavailable(f"neither the home of {user} nor {tempfile.gettempdir()} can be opened; check their rights")


def _end_with_newline(text: bytes | None) -> bytes | None:
    """Return `text` with a newline at its end, unless it is empty."""
    return text + b"\n" if text and not text.endswith(b"\n") else text


def _split_lines(text: bytes | None) -> list[str]:
    return text.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n") if text else []


def _check_output(result: subprocess.CompletedProcess[bytes]) -> bytes:
    """Return the output of the crontab program. Raises Refused with its message on an error."""
    if result.returncode != 0:
        message = b" ".join(result.stderr.split()).decode("utf-8", "backslashreplace")
        raise Refused(f"crontab answered: {message or f'exit status {result.returncode}'}; nothing was changed")
    return result.stdout
