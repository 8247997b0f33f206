"""Loading of keys and passwords, which are never shown or logged."""

import re
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from pi_appliance import plugins
from pi_appliance.config import addresses
from pi_appliance.config.model import Config, PluginConfig
from pi_appliance.errors import ConfigError, Problem, Refused

NAME = "secrets.env"
KNOWN = ("WEB_PASSWORD", "MPD_PASSWORD")
"""Those of the appliance itself. Networks, notices and pings name their own in the configuration."""


class Secrets(Mapping[str, str]):
    """Secrets by name. Printing it shows the names only, so that none slips into a log."""

    def __init__(self, values: Mapping[str, str], origins: Mapping[str, str] | None = None) -> None:
        self._values = {name: value for name, value in values.items() if value}
        self._origins = dict(origins or {})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._values)) or 'none'})"

    def origin(self, name: str) -> str:
        """Return where the secret NAME comes from, in words: a file, or the environment. '' where nobody said."""
        return self._origins.get(name, "")


def load(config: Path, environment: Mapping[str, str], named: Iterable[str] = ()) -> Secrets:
    """Return the secrets that go with the configuration file CONFIG.

    From systemd's credentials where the service has some, else from secrets.env beside CONFIG; a name that ENVIRONMENT
    holds wins over both, if it is KNOWN or NAMED by the configuration. Raises Refused for a file that others can read,
    ConfigError for a line that is no NAME=value.
    """
    beside = config.parent / NAME
    credentials = Path(environment["CREDENTIALS_DIRECTORY"], NAME) if "CREDENTIALS_DIRECTORY" in environment else None
    if credentials is not None and credentials.is_file():
        return with_environment(parse(read(credentials), credentials), str(credentials), environment, named)
    values = parse(read_closed(beside), beside) if beside.exists() else {}
    return with_environment(values, str(beside), environment, named)


def with_environment(
    values: Mapping[str, str], origin: str, environment: Mapping[str, str], named: Iterable[str]
) -> Secrets:
    """Return `values` of `origin`, overridden by the secrets in `environment`."""
    over = {name: environment[name] for name in (*KNOWN, *named) if environment.get(name)}
    origins = {**dict.fromkeys(values, origin), **dict.fromkeys(over, "the environment")}
    return Secrets({**values, **over}, origins)


def read_closed(path: Path) -> bytes:
    """Read the private file `path`. Raises `Refused` if others can read it, or we cannot."""
    refuse_if_others_can_read(path)
    return read(path)


def refuse_if_others_can_read(path: Path) -> None:
    """Raise Refused, with what to do, if others than its owner may read PATH."""
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Refused(f"{path} can be read by others and is not used; run: chmod 600 {shlex.quote(str(path))}")


def read(path: Path) -> bytes:
    """Read the file `path`. Raises `Refused`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}; it must belong to the user that runs this") from None


def parse(content: bytes, path: Path) -> dict[str, str]:
    """Return the secrets by name that CONTENT, of the file PATH, holds. Raises Refused, ConfigError."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8 text; save it again as UTF-8") from None
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, value = parse_line(line)
        if value is None or not is_name(name):
            # The line itself is not shown: it may be a secret.
            raise ConfigError([Problem(str(path), number, 1, "this line is no NAME=value", "such as X_CONSUMER_KEY=…")])
        values[name] = value
    return values


def parse_line(line: str) -> tuple[str, str | None]:
    """Return the name and the value of LINE: what stands behind the =, without a pair of quotes around it.

    None where there is no =. What stands between the quotes is taken as it is.
    """
    name, equals, value = line.strip().partition("=")
    if not equals:
        return name, None
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return name.strip(), value


def is_name(text: str) -> bool:
    """Return whether `text` is a valid name of a secret."""
    return text.replace("_", "").isalnum()


_SHORTEST = 6  # characters of a variable that is taken for a secret by its name alone; `true` and `1` are none
_HARMLESS = ("PWD",)
SECRET_NAME = re.compile(
    r"pass(?:word|phrase|wd|code)?$|^pass|secret|token|credential|bearer|cookie|topic|"
    r"(?:^|[-_.])(?:auth|(?:keys?|pin|pwd)$)|^healthchecks-url$",
    re.IGNORECASE,
)
"""Matches names of settings that are usually secret."""


def secret_variables(environment: Mapping[str, str], named: Collection[str]) -> frozenset[str]:
    """Return which variables of ENVIRONMENT are secrets of the appliance, of which its configuration has NAMED some.

    Also keys of networks that it names no longer, or not yet: by what they are called.
    """
    kinds = tuple(f"{kind.upper().replace('-', '_')}_" for kind in plugins.names("networks"))
    keys = {name for name in environment if name.startswith(kinds) and SECRET_NAME.search(name)}
    return frozenset(keys | (environment.keys() & {*KNOWN, *named}))


def values(
    config: Path | None, environment: Mapping[str, str], named: Collection[str] = ()
) -> tuple[frozenset[str], bool]:
    """Return all values that go with CONFIG, and whether they are all: False where a file of secrets keeps us out.

    More than what `secrets.load` returns: also from a file that it refuses, from lines that it does not understand,
    and from ENVIRONMENT what is NAMED and whatever is called like a secret.
    """
    found = {environment[name] for name in secret_variables(environment, named)}
    like = [name for name in environment if SECRET_NAME.search(name) and name not in _HARMLESS]
    found |= {environment[name] for name in like if len(environment[name]) >= _SHORTEST}
    whole = True
    for file in _files(config, environment):
        try:
            text = file.read_text("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            whole = False
            continue
        for line in text.splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                name, value = parse_line(line)
                found |= {name} if value is None else {value, value.strip("\"'")}
    return frozenset(found - {""}), whole


def _files(config: Path | None, environment: Mapping[str, str]) -> list[Path]:
    found = [config.absolute().parent / NAME] if config is not None else []
    if folder := environment.get("CREDENTIALS_DIRECTORY"):
        found.append(Path(folder, NAME))
    return found


def secret_names(config: Config) -> frozenset[str]:
    """Return the names of the secrets that networks, notifiers and pings use."""
    named = {name for part in config.notifiers.values() for name in part.options.names()}
    named.update(*(of_network(part) for part in config.networks.values()))
    return frozenset(
        named.union(
            *(addresses.secret_names_in(job.healthchecks_url) for job in config.jobs.values() if job.healthchecks_url)
        )
    )


def of_network(part: PluginConfig) -> Mapping[str, str]:
    """Return the names and descriptions of the secrets that the network `part` needs."""
    wanted: Mapping[str, str] = plugins.load("networks", part.kind).required_secrets(part.options)
    return wanted


def missing(part: PluginConfig, secrets: Mapping[str, str]) -> str:
    """Return a message with the missing secrets of the network `part`, or ''."""
    lacking = [name for name in of_network(part) if not secrets.get(name)]
    return f"no {', '.join(lacking)} among the secrets" if lacking else ""
