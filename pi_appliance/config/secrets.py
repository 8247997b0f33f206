"""Secrets: load them, and insert them into addresses."""

import os
import re
import shlex
import stat
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from pi_appliance import plugins
from pi_appliance.config.options import Config, PluginConfig
from pi_appliance.errors import ConfigError, Problem, Refused
from pi_appliance.system import files, network

_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://\S+")
_PASSWORD = re.compile(r"://[^/?#@]*:[^/?#@]+@")
_PLAIN = frozenset(string.ascii_letters + string.digits + "-._~")


def secret_names_in(address: str) -> tuple[str, ...]:
    """Return the names of the secrets in `address`, without duplicates."""
    return tuple(dict.fromkeys(_NAME.findall(address)))


def missing_secrets(address: str, secrets: Mapping[str, str]) -> list[str]:
    """Return the names used in `address` that have no value in `secrets`."""
    return [name for name in secret_names_in(address) if not secrets.get(name)]


def substitute_secrets(address: str, secrets: Mapping[str, str]) -> str:
    """Return `address` with the values of its secrets, all of which must be in `secrets`.

    A secret that is the whole address is inserted unchanged. Within an address it is
    percent-encoded, so a password may contain any character.
    """
    whole = _NAME.fullmatch(address)
    if whole:
        return secrets[whole[1]]
    return _NAME.sub(lambda match: _escape(secrets[match[1]]), address)


def redact_address(address: str) -> str:
    """Return the scheme of `address` and the names of its secrets, which are safe to show."""
    shape = _SHAPE.fullmatch(_NAME.sub("x", address))
    named = ", ".join(secret_names_in(address))
    scheme = f"{shape[1]}://…" if shape and not _NAME.fullmatch(address) else "…"
    return f"{scheme} ({named})" if named else scheme


def find_address_problem(address: str, example: str) -> tuple[str, str] | None:
    """Return the problem of a configured `address` and its correction, or None.

    The texts do not contain the address, because it may contain a secret.
    """
    plain = _NAME.sub("x", address)
    if "$" in plain:
        return "a $ must start a ${NAME}", "write ${NAME} for the secret NAME, or %24 for a $"
    if not _NAME.fullmatch(address) and not _SHAPE.fullmatch(plain):
        return "this is not an address", f"write one such as {example}"
    password = _PASSWORD.search(address)
    if password and not _NAME.search(password[0].partition("://")[2].partition(":")[2]):
        return "a password does not belong here", "put it among the secrets and write ${NAME} for it"
    return None


def _escape(text: str) -> str:
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in text.encode())


NAME = "secrets.env"
MIN_PASSWORD_LENGTH = 8  # characters of WEB_PASSWORD, if the network may guess
MIN_PASSPHRASE = 12  # characters: who finds a backup can try millions of them
KNOWN = ("WEB_PASSWORD", "MPD_PASSWORD", "MPD_PROXY_PASSWORD", "MQTT_PASSWORD", "HOTSPOT_PASSWORD", "BACKUP_PASSPHRASE")
"""Secrets of the appliance itself. Networks, notifiers and pings name their own in the
configuration.
"""


class Secrets(Mapping[str, str]):
    """Secrets by name. Its text contains only the names, so that no value is logged."""

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
        """Return the source of the secret `name`: a file, or the environment; '' if unknown."""
        return self._origins.get(name, "")


def listen_problem(part: str, host: str, name: str, password: str) -> str:
    """Return why `part` may not listen on `host` with `password`, and the correction; or ''.

    Args:
        part: The part of the appliance that listens.
        host: The address to listen on.
        name: The name of the secret.
        password: Its value.
    """
    if len(password) >= MIN_PASSWORD_LENGTH or network.is_loopback_only(host):
        return ""
    requirement = f"a password of at least {MIN_PASSWORD_LENGTH} characters" if password else "a password"
    return f"{part} may not listen on {host} without {requirement}: write {name}=… into {NAME}, or host: 127.0.0.1"


NOT_SET_UP = "the set-up is not finished: the page has no password yet"


def page_problem(config: Config, password: str) -> str:
    """Return why the page may not listen with `password`, and the correction; or ''.

    Without a password, it listens and asks for the code of the set-up.
    """
    return listen_problem("the page", config.web.host, "WEB_PASSWORD", password) if password else ""


def needs_setup(config: Config, known: Mapping[str, str]) -> bool:
    """Return whether the page asks for the code of the set-up, because `known` has no password."""
    return not known.get("WEB_PASSWORD") and not network.is_loopback_only(config.web.host)


def load(config: Path, environment: Mapping[str, str], named: Iterable[str] = ()) -> Secrets:
    """Return the secrets for the configuration file `config`.

    They come from the credentials of systemd, else from secrets.env beside `config`. Variables of
    `environment` take precedence if their name is in `KNOWN` or `named`.

    Raises:
        Refused: Others can read the file.
        ConfigError: A line is not NAME=value.
    """
    beside = config.parent / NAME
    credentials = credential_file(environment)
    if credentials is not None:
        return with_environment(parse(read(credentials), credentials), str(credentials), environment, named)
    values = parse(read_closed(beside), beside) if beside.exists() else {}
    return with_environment(values, str(beside), environment, named)


def credential_file(environment: Mapping[str, str]) -> Path | None:
    """Return the file of secrets that systemd passed to this process, if it did."""
    folder = environment.get("CREDENTIALS_DIRECTORY")
    return Path(folder, NAME) if folder and Path(folder, NAME).is_file() else None


def with_environment(
    values: Mapping[str, str], origin: str, environment: Mapping[str, str], named: Iterable[str]
) -> Secrets:
    """Return `values` of `origin`, overridden by the secrets in `environment`."""
    over = {name: environment[name] for name in (*KNOWN, *named) if environment.get(name)}
    origins = {**dict.fromkeys(values, origin), **dict.fromkeys(over, "the environment")}
    return Secrets({**values, **over}, origins)


def read_closed(path: Path) -> bytes:
    """Read the private file `path`. Raises `Refused` if others can read it, or we cannot."""
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Refused(f"{path} can be read by others and is not used; run: chmod 600 {shlex.quote(str(path))}")
    return read(path)


def read(path: Path) -> bytes:
    """Read the file `path`. Raises `Refused`."""
    try:
        return path.read_bytes()
    except OSError as error:
        denied = isinstance(error, PermissionError)
        advice = files.access_advice(path) if denied else "it must belong to the user that runs this"
        raise Refused(f"{path} cannot be read: {error.strerror}; {advice}") from None


def parse(content: bytes, path: Path) -> dict[str, str]:
    """Return the secrets in `content` of `path` by name. Raises Refused or ConfigError."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8 text; save it again as UTF-8") from None
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, value = parse_line(line)
        if value is None or not name.replace("_", "").isalnum():
            # The line itself is not shown: it may be a secret.
            raise ConfigError(
                [Problem(str(path), number, 1, "this line is not NAME=value", "such as X_CONSUMER_KEY=…")]
            )
        values[name] = value
    return values


def parse_line(line: str) -> tuple[str, str | None]:
    """Return the name and the value in `line` without quotes; None without a `=`."""
    name, equals, value = line.strip().partition("=")
    if not equals:
        return name, None
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return name.strip(), value


_MIN_LENGTH = 6  # characters of a variable that is only named like a secret
SECRET_NAME = re.compile(
    r"pass(?:word|phrase|wd|code)?$|^pass|secret|token|credential|bearer|cookie|topic|"
    r"(?:^|[-_.])(?:auth|(?:keys?|pin|pwd)$)|^healthchecks-url$",
    re.IGNORECASE,
)
"""Matches names of settings that are usually secret."""


def secret_variables(environment: Mapping[str, str], named: Collection[str]) -> frozenset[str]:
    """Return the secrets in `environment`, with those `named` in the configuration.

    They include keys of networks that the configuration does not name any more, recognized by their
    names.
    """
    kinds = tuple(f"{kind.upper().replace('-', '_')}_" for kind in plugins.names("networks"))
    keys = {name for name in environment if name.startswith(kinds) and SECRET_NAME.search(name)}
    return frozenset(keys | (environment.keys() & {*KNOWN, *named}))


def environment_without_secrets(named: Collection[str]) -> dict[str, str]:
    """Return the environment for a program. `named` are secrets of the configuration."""
    hidden = secret_variables(os.environ, named)
    return {name: value for name, value in os.environ.items() if name not in hidden}


def values(
    config: Path | None, environment: Mapping[str, str], named: Collection[str] = ()
) -> tuple[frozenset[str], bool]:
    """Return all secret values for `config`, and whether they are complete.

    Unlike `load`, this also reads a file that others can read, invalid lines, and variables named
    like secrets.
    """
    secret_values = {environment[name] for name in secret_variables(environment, named)}
    named_like_secrets = (name for name in environment if SECRET_NAME.search(name) and name != "PWD")
    secret_values |= {environment[name] for name in named_like_secrets if len(environment[name]) >= _MIN_LENGTH}
    is_complete = True
    for file in _files(config, environment):
        try:
            text = file.read_text("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            is_complete = False
            continue
        for line in text.splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                name, value = parse_line(line)
                secret_values |= {name} if value is None else {value, value.strip("\"'")}
    return frozenset(secret_values - {""}), is_complete


def _files(config: Path | None, environment: Mapping[str, str]) -> list[Path]:
    files = [config.absolute().parent / NAME] if config is not None else []
    if folder := environment.get("CREDENTIALS_DIRECTORY"):
        files.append(Path(folder, NAME))
    return files


def secret_names(config: Config) -> frozenset[str]:
    """Return the names of the secrets that networks, notifiers, pings and webhooks use."""
    named = {name for part in config.notifiers.values() for name in part.options.names()}
    named.update(*(of_network(part) for part in config.networks.values()))
    named.update(job.triggers.webhook for job in config.jobs.values() if job.triggers.webhook)
    return frozenset(
        named.union(*(secret_names_in(job.healthchecks_url) for job in config.jobs.values() if job.healthchecks_url))
    )


def of_network(part: PluginConfig) -> Mapping[str, str]:
    """Return the names and descriptions of the secrets that the network `part` needs."""
    wanted: Mapping[str, str] = plugins.load("networks", part.kind).required_secrets(part.options)
    return wanted


def missing(part: PluginConfig, secrets: Mapping[str, str]) -> str:
    """Return a message with the missing secrets of the network `part`, or ''."""
    lacking = [name for name in of_network(part) if not secrets.get(name)]
    return f"missing secrets: {', '.join(lacking)}" if lacking else ""
