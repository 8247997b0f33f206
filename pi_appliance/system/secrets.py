"""Secrets: keys and passwords, from where only the service can read them; never shown, never logged."""

import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pi_appliance.errors import ConfigError, Problem, Refused

NAME = "secrets.env"
KNOWN = (
    "X_CONSUMER_KEY",
    "X_CONSUMER_SECRET",
    "X_ACCESS_TOKEN",
    "X_ACCESS_TOKEN_SECRET",
    "WEB_PASSWORD",
    "MPD_PASSWORD",
)


class Secrets(Mapping[str, str]):
    """Secrets by name. Printing it shows the names only, so that none slips into a log."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._values)) or 'none'})"


def load(config: Path, environment: Mapping[str, str], named: Iterable[str] = ()) -> Secrets:
    """Return the secrets that go with the configuration file CONFIG.

    From systemd's credentials where the service has some, else from secrets.env beside CONFIG; a name that ENVIRONMENT
    holds wins over both, if it is KNOWN or NAMED by an address of the configuration. Raises Refused for a file that
    others can read, ConfigError for a line that is no NAME=value.
    """
    values: dict[str, str] = {}
    credentials = Path(environment["CREDENTIALS_DIRECTORY"], NAME) if "CREDENTIALS_DIRECTORY" in environment else None
    if credentials is not None and credentials.is_file():
        values |= _read(credentials)
    elif (beside := config.parent / NAME).exists():
        _refuse_if_others_can_read(beside)
        values |= _read(beside)
    values |= {name: environment[name] for name in (*KNOWN, *named) if environment.get(name)}
    return Secrets({name: value for name, value in values.items() if value})


def _refuse_if_others_can_read(path: Path) -> None:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Refused(f"{path} can be read by others and is not used; run: chmod 600 {shlex.quote(str(path))}")


def _read(path: Path) -> dict[str, str]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}; it must belong to the user that runs this") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8 text; save it again as UTF-8") from None
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals or not name.strip().replace("_", "").isalnum():
            # The line itself is not shown: it may be a secret.
            raise ConfigError([Problem(str(path), number, 1, "this line is no NAME=value", "such as X_CONSUMER_KEY=…")])
        values[name.strip()] = value.strip().strip("\"'")
    return values
