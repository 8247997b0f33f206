"""Writing of secrets to a file that only the service can read.

Each secret has one line. All other bytes of the file stay unchanged.
"""

import contextlib
import fcntl
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.config import secrets
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.system import files
from pi_appliance.system import systemd as units
from pi_appliance.system.systemd import Systemd

_PATIENCE = 30.0  # seconds; systemd-creds makes its key the first time


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file of NAME=value lines, mode 0600."""

    path: Path
    credential: bool = False  # systemd hands it to the service when that starts; nobody else need be able to read it
    encrypted: bool = False  # for this machine, by systemd

    def values(self) -> dict[str, str]:
        """Return the secrets in the file, none if it is missing. Raises `Refused`, `ConfigError`."""
        return secrets.parse(self._read(), self.path)

    def require_writable(self) -> None:
        """Raise Refused if it cannot be read, is open to others, or is not for us to write; Unavailable if the disk is.

        What is asked of the owner must not be lost for something that could have been told before.
        """
        folder = self._real.parent
        if not folder.is_dir():
            raise Refused(f"{folder} is not there; make it first: sudo mkdir -m 700 {folder}")
        if os.geteuid() != 0 and not (os.access(folder, os.W_OK) and _is_ours(self._real)):
            who = files.user_name(os.geteuid())
            raise Refused(f"{self.path} is not for {who} to write; run this with sudo in front")
        files.require_free_space(folder)
        self.values()

    def put(self, values: Mapping[str, str], *, owner: Path) -> None:
        """Let it hold VALUES too, in place of the lines of the same names; durably, wholly or not at all.

        A new file of root's belongs to whom OWNER, a file or folder, belongs to. Raises Refused for a value that no
        line can hold, and as `require_writable` does; Unavailable if the disk does not take it.
        """
        for name, value in values.items():
            _require_a_line(name, value)
        with _alone_in(self._real.parent):
            before = self._read()
            secrets.parse(before, self.path)
            content = _edited(before.decode("utf-8"), values).encode()
            uid, gid = self._owner(owner)
            with files.atomic_write(self._real, mode=0o600) as file:
                if os.geteuid() == 0:
                    os.fchown(file.fileno(), uid, gid)
                file.write(_encrypted(content) if self.encrypted else content)

    @property
    def _real(self) -> Path:
        """The file itself, where `path` is a link to it."""
        return Path(os.path.realpath(self.path))

    def _read(self) -> bytes:
        if not self.path.exists():
            return b""
        return _decrypted(self.path) if self.encrypted else secrets.read_closed(self.path)

    def _owner(self, owner: Path) -> tuple[int, int]:
        like = self._real if self._real.exists() else owner
        found = like.stat()
        return found.st_uid, found.st_gid


def _is_ours(path: Path) -> bool:
    """Return whether `path` is our file or does not exist yet."""
    return not path.exists() or path.stat().st_uid == os.geteuid()


def _edited(text: str, values: Mapping[str, str]) -> str:
    """Return TEXT with the lines of VALUES in it: where the last of that name was, else at the end."""
    lines = text.splitlines(keepends=True)
    left = dict(values)
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        name, value = secrets.parse_line(line)
        if line.lstrip().startswith("#") or value is None or name not in values:
            continue
        ending = line[len(line.rstrip("\r\n")) :] or "\n"
        lines[number] = f"{_line(name, left.pop(name))}{ending}" if name in left else ""
    if left and lines and not lines[-1].endswith("\n"):
        lines.append("\n")
    return "".join([*lines, *(f"{_line(name, value)}\n" for name, value in left.items())])


def _line(name: str, value: str) -> str:
    """Return the line that reads as NAME and VALUE: in quotes only where it would not otherwise."""
    plain = f"{name}={value}"
    return plain if secrets.parse_line(plain) == (name, value) else f'{name}="{value}"'


def _require_a_line(name: str, value: str) -> None:
    line = _line(name, value)
    try:
        good = secrets.parse(line.encode(), Path(secrets.NAME)) == {name: value} and value != ""
    except (ApplianceError, UnicodeEncodeError):
        good = False
    if not good:
        raise Refused(f"what was given as {name} is nothing that a line of {secrets.NAME} can hold; nothing was stored")


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock the secret files in `folder`, so that concurrent writers lose no change."""
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise files.write_error(folder, error) from None
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _decrypted(path: Path) -> bytes:
    return _systemd_creds("decrypt", str(path), "-", content=b"", failure=f"{path} cannot be decrypted")


def _encrypted(content: bytes) -> bytes:
    return _systemd_creds("encrypt", "-", "-", content=content, failure="the secrets cannot be encrypted")


def _systemd_creds(verb: str, *words: str, content: bytes, failure: str) -> bytes:
    try:
        done = subprocess.run(
            ["systemd-creds", f"--name={secrets.NAME}", verb, *words],
            input=content,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{failure}: systemd-creds does not run ({type(error).__name__})") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Refused(f"{failure}: {said[-1] if said else 'systemd-creds gave no reason'}; only root can")
    return done.stdout


_STORES = {"LoadCredential": "/etc/credstore", "LoadCredentialEncrypted": "/etc/credstore.encrypted"}
_IN_THE_UNIT = ("SetCredential", "SetCredentialEncrypted")


def of_service(config: Path, systemd: Systemd) -> SecretFile | None:
    """Return the file that systemd makes the credential of, for the service that runs CONFIG.

    None where there is no such service or credential. Raises Refused if the secrets stand in the unit itself.
    """
    text = systemd.text(units.MAIN_UNIT) if systemd.is_running else None
    if text is None or str(config) not in text.split():
        return None
    found: dict[str, SecretFile] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition("=")
        name, _, where = value.partition(":")
        if key in _STORES and not value:  # begins the list anew
            found.pop(key, None)
        elif key in _STORES and name == secrets.NAME:
            path = Path(where) if where else Path(_STORES[key], name)
            found[key] = SecretFile(path, credential=True, encrypted=key.endswith("Encrypted"))
        elif key in _IN_THE_UNIT and name == secrets.NAME:
            raise Refused(
                f"the secrets stand in {units.MAIN_UNIT} itself ({key}=); put them into a file: docs/operating.md"
            )
    return next(iter(found.values()), None)


def place(config: Path, systemd: Systemd) -> SecretFile:
    """Return the file of secrets that goes with CONFIG. Raises Refused as `of_service` does."""
    return of_service(config, systemd) or SecretFile(config.parent / secrets.NAME)


def load(config: Path, environment: Mapping[str, str], named: Iterable[str], systemd: Systemd) -> secrets.Secrets:
    """Return the secrets as the service has them, for a person: those of a credential from what it is made of.

    Raises as `secrets.load` does; Refused if the file of the credential is not for us to read.
    """
    file = None if environment.get("CREDENTIALS_DIRECTORY") else of_service(config, systemd)
    if file is None:
        return secrets.load(config, environment, named)
    if os.geteuid() != 0:
        who = files.user_name(os.geteuid())
        raise Refused(f"the service has its secrets from {file.path}, not for {who} to read; run this with sudo")
    return secrets.with_environment(file.values(), str(file.path), environment, named)
