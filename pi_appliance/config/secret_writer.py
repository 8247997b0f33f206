"""Write secrets to a file that only the service can read.

All other bytes of the file stay unchanged.
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

_TIMEOUT = 30.0  # seconds; systemd-creds creates its key the first time


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file of NAME=value lines, mode 0600."""

    path: Path
    credential: bool = False  # systemd passes it to the service at its start
    encrypted: bool = False  # by systemd, for this machine

    def values(self) -> dict[str, str]:
        """Return the secrets in the file, if it exists. Raises `Refused` or `ConfigError`."""
        return secrets.parse(self._read(), self.path)

    def require_writable(self) -> None:
        """Check that secrets can be stored, before the owner types them.

        Raises:
            Refused: It cannot be read or written, or others can read it.
            Unavailable: The disk is full or read-only.
        """
        folder = self._real.parent
        if not folder.is_dir():
            raise Refused(f"{folder} does not exist; create it first: sudo mkdir -m 700 {folder}")
        if os.geteuid() != 0 and not (os.access(folder, os.W_OK) and _is_ours(self._real)):
            user = files.user_name(os.geteuid())
            raise Refused(f"{self.path} cannot be written by {user}; run this with sudo")
        files.require_free_space(folder)
        self.values()

    def store(self, values: Mapping[str, str], *, owner: Path) -> None:
        """Write `values` atomically, in place of the lines of the same names.

        A new file that root creates gets the owner of `owner`, a file or folder.

        Raises:
            Refused: A value does not fit into one line, or as `require_writable`.
            Unavailable: The file cannot be written.
        """
        for name, value in values.items():
            _require_valid_line(name, value)
        with _lock_folder(self._real.parent):
            before = self._read()
            secrets.parse(before, self.path)
            content = _replace_lines(before.decode("utf-8"), values).encode()
            uid, gid = self._owner(owner)
            with files.atomic_write(self._real, mode=0o600) as file:
                if os.geteuid() == 0:
                    os.fchown(file.fileno(), uid, gid)
                file.write(_encrypt(content) if self.encrypted else content)

    @property
    def _real(self) -> Path:
        """The file itself, where `path` is a link to it."""
        return Path(os.path.realpath(self.path))

    def _read(self) -> bytes:
        if not self.path.exists():
            return b""
        return _decrypt(self.path) if self.encrypted else secrets.read_closed(self.path)

    def _owner(self, owner: Path) -> tuple[int, int]:
        like = self._real if self._real.exists() else owner
        status = like.stat()
        return status.st_uid, status.st_gid


def _is_ours(path: Path) -> bool:
    """Return whether `path` is our file or does not exist yet."""
    return not path.exists() or path.stat().st_uid == os.geteuid()


def _replace_lines(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with a line for each of `values`, in place of an existing one if possible."""
    lines = text.splitlines(keepends=True)
    remaining = dict(values)
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        name, value = secrets.parse_line(line)
        if line.lstrip().startswith("#") or value is None or name not in values:
            continue
        ending = line[len(line.rstrip("\r\n")) :] or "\n"
        lines[number] = f"{_format_line(name, remaining.pop(name))}{ending}" if name in remaining else ""
    if remaining and lines and not lines[-1].endswith("\n"):
        lines.append("\n")
    return "".join([*lines, *(f"{_format_line(name, value)}\n" for name, value in remaining.items())])


def _format_line(name: str, value: str) -> str:
    plain = f"{name}={value}"
    return plain if secrets.parse_line(plain) == (name, value) else f'{name}="{value}"'


def _require_valid_line(name: str, value: str) -> None:
    line = _format_line(name, value)
    try:
        good = secrets.parse(line.encode(), Path(secrets.NAME)) == {name: value} and value != ""
    except (ApplianceError, UnicodeEncodeError):
        good = False
    if not good:
        raise Refused(f"the value of {name} does not fit into a line of {secrets.NAME}; nothing was stored")


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
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


def _decrypt(path: Path) -> bytes:
    return _systemd_creds("decrypt", str(path), "-", content=b"", failure=f"{path} cannot be decrypted")


def _encrypt(content: bytes) -> bytes:
    return _systemd_creds("encrypt", "-", "-", content=content, failure="the secrets cannot be encrypted")


def _systemd_creds(verb: str, *words: str, content: bytes, failure: str) -> bytes:
    try:
        done = subprocess.run(
            ["systemd-creds", f"--name={secrets.NAME}", verb, *words],
            input=content,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{failure}: systemd-creds does not run ({type(error).__name__})") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Refused(f"{failure}: {lines[-1] if lines else 'systemd-creds gave no reason'}; only root can")
    return done.stdout


_CREDENTIAL_FOLDERS = {"LoadCredential": "/etc/credstore", "LoadCredentialEncrypted": "/etc/credstore.encrypted"}
_VALUE_KEYS = ("SetCredential", "SetCredentialEncrypted")


def of_service(config: Path, systemd: Systemd) -> SecretFile | None:
    """Return the file of the systemd credential of the service that runs `config`, or None.

    Raises:
        Refused: The secrets are in the unit itself.
    """
    text = systemd.unit_text(units.MAIN_UNIT) if systemd.is_running else None
    if text is None or str(config) not in text.split():
        return None
    credentials: dict[str, SecretFile] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition("=")
        name, _, where = value.partition(":")
        if key in _CREDENTIAL_FOLDERS and not value:  # an empty value clears the list
            credentials.pop(key, None)
        elif key in _CREDENTIAL_FOLDERS and name == secrets.NAME:
            path = Path(where) if where else Path(_CREDENTIAL_FOLDERS[key], name)
            credentials[key] = SecretFile(path, credential=True, encrypted=key.endswith("Encrypted"))
        elif key in _VALUE_KEYS and name == secrets.NAME:
            raise Refused(
                f"the secrets are in {units.MAIN_UNIT} itself ({key}=); put them into a file: docs/operating.md"
            )
    return next(iter(credentials.values()), None)


def place(config: Path, systemd: Systemd) -> SecretFile:
    """Return the file of secrets for `config`. Raises `Refused` as `of_service`."""
    return of_service(config, systemd) or SecretFile(config.parent / secrets.NAME)


def store_own_secret(config: Path, name: str, value: str, environment: Mapping[str, str]) -> None:
    """Write the secret `name` into the secrets beside the configuration file `config`.

    Args:
        config: The configuration file of this process.
        name: The name of the secret.
        value: The secret.
        environment: The variables of this process.

    Raises:
        Refused: It would not be used, because it comes from elsewhere, or the file cannot be
            written.
        Unavailable: The disk is full or read-only.
    """
    file = SecretFile(config.parent / secrets.NAME)
    if secrets.load(config, environment, [name]).origin(name) == "the environment":
        raise Refused(f"{name} is set in the environment of the service, so it can only be changed there")
    if secrets.credential_file(environment) is not None:
        raise Refused(
            f"the secrets are a credential of systemd: write {name}=… into its file and restart the service;"
            " see docs/operating.md"
        )
    file.require_writable()
    file.store({name: value}, owner=config)


def load(config: Path, environment: Mapping[str, str], named: Iterable[str], systemd: Systemd) -> secrets.Secrets:
    """Return the secrets as the service has them. Those of a credential are read from its file.

    Raises:
        Refused: The file cannot be read, or as `secrets.load`.
    """
    file = None if environment.get("CREDENTIALS_DIRECTORY") else of_service(config, systemd)
    if file is None:
        return secrets.load(config, environment, named)
    if os.geteuid() != 0:
        user = files.user_name(os.geteuid())
        raise Refused(f"the service reads its secrets from {file.path}, but the user {user} cannot; run this with sudo")
    return secrets.with_environment(file.values(), str(file.path), environment, named)
