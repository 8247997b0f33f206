"""Loading of keys and passwords, which are never shown or logged."""

import base64
import html
import json
import re
import shlex
import stat
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus, urlsplit

from pi_appliance import plugins
from pi_appliance.config.model import Config, PluginConfig
from pi_appliance.errors import ConfigError, Problem, Refused

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
    return _NAME.sub(lambda match: _escaped(secrets[match[1]]), address)


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
        return "a $ that begins no ${NAME}", "write ${NAME} for the secret NAME, or %24 for a $"
    if not _NAME.fullmatch(address) and not _SHAPE.fullmatch(plain):
        return "this is no address", f"write one such as {example}"
    password = _PASSWORD.search(address)
    if password and not _NAME.search(password[0].partition("://")[2].partition(":")[2]):
        return "a password does not belong here", "put it among the secrets and write ${NAME} for it"
    return None


def _escaped(text: str) -> str:
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in text.encode())


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
        named.union(*(secret_names_in(job.healthchecks_url) for job in config.jobs.values() if job.healthchecks_url))
    )


def of_network(part: PluginConfig) -> Mapping[str, str]:
    """Return the names and descriptions of the secrets that the network `part` needs."""
    wanted: Mapping[str, str] = plugins.load("networks", part.kind).required_secrets(part.options)
    return wanted


def missing(part: PluginConfig, secrets: Mapping[str, str]) -> str:
    """Return a message with the missing secrets of the network `part`, or ''."""
    lacking = [name for name in of_network(part) if not secrets.get(name)]
    return f"no {', '.join(lacking)} among the secrets" if lacking else ""


MARK = "[redacted]"
SHORTEST = 4
"""Characters. Shorter values occur in ordinary words and are not redacted."""
_LONG_PART = 8
_ADDRESS = re.compile(rf"\b[a-z][a-z0-9+.-]*://(?:{re.escape(MARK)}|[^\s\"'<>)\]}}])+", re.IGNORECASE)
_NAMED = re.compile(r"""(?:--?(?P<flag>[\w-]+)[ =]|(?P<name>[\w.-]+)["']?\s*[:=]\s*)(?=\S)""")
_SCHEME = re.compile(r"\b(bearer|basic)\s+\S+", re.IGNORECASE)
# Session tokens change too often to be known by value: those after "Bearer", and JSON web tokens.
_SESSION = re.compile(r"(?<=bearer )[\w.~+/=-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+", re.IGNORECASE)
_LONG = re.compile(r"(?<![\w+/=-])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[\w+=-]{24,}(?![\w+/=-])")
_ALL_WITHIN = {"environment", "env", "headers"}


class Redactor:
    """Remove known secrets, and learn more of them from settings."""

    def __init__(self, values: Iterable[str]) -> None:
        self._spellings: set[str] = set()
        for value in values:
            self.learn(value)

    def learn(self, value: str) -> None:
        """Redact `value` in all texts from now on."""
        if value:
            raw = value.encode("utf-8", "surrogateescape")  # a variable may hold any bytes
            self._spellings |= {
                *(value, quote(raw, safe=""), quote(raw), quote_plus(raw), html.escape(value)),
                quote(quote(raw, safe=""), safe=""),  # as OAuth signs it
                *(json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]),
                *_base64(raw),
            }

    def known(self, text: str) -> str:
        """Return `text` without known secrets."""
        for each in sorted(self._spellings, key=len, reverse=True):
            text = text.replace(each, MARK)
        return text

    def heard(self, text: str) -> str:
        """Return the `text` of a server or library without known secrets and session tokens."""
        return _SESSION.sub(MARK, self.known(text))

    def text(self, text: str) -> str:
        """Return `text` without secrets known by value, name or pattern."""
        return "\n".join(_line(line) for line in self.known(text).split("\n"))

    def settings(self, value: object, name: str = "", *, hidden: bool = False) -> object:
        """Redact plain data, and learn the secrets in it.

        Args:
            value: Plain data, such as a section of the configuration.
            name: The key of `value`, which may mark it as secret.
            hidden: Redact all of `value`.
        """
        if isinstance(value, Mapping):
            within = hidden or name in _ALL_WITHIN or bool(SECRET_NAME.search(name))
            return {self.known(str(key)): self.settings(each, str(key), hidden=within) for key, each in value.items()}
        hidden = hidden or bool(SECRET_NAME.search(name))
        if isinstance(value, (list, tuple)):
            return self._listed(value, hidden=hidden)
        for address in _ADDRESS.findall(value) if isinstance(value, str) else ():
            self._learn_address(address)
        if hidden and value is not None and not isinstance(value, bool):
            self._learn_part(str(value))
            return MARK
        if isinstance(value, str):
            return self.text(value)
        return value if self.known(str(value)) == str(value) else MARK

    def _listed(self, values: Iterable[object], *, hidden: bool) -> list[object]:
        """Redact a list like a command line: the item after `--password` is a secret."""
        found, before = list[object](), ""
        for each in values:
            flag = before.startswith("-") and bool(SECRET_NAME.search(before.lstrip("-")))
            found.append(self.settings(each, hidden=hidden or flag))
            before = each if isinstance(each, str) else ""
        return found

    def _learn_address(self, address: str) -> None:
        try:
            parts = urlsplit(address)
        except ValueError:  # unbalanced brackets; it is not shown anyway
            return
        for part in (parts.password, parts.path.strip("/"), parts.query, parts.fragment):
            self._learn_part(part or "")
        for part in (parts.username or "", *parts.path.split("/")):
            if len(part) >= _LONG_PART:  # shorter parts, such as `post`, also occur elsewhere
                self.learn(part)

    def _learn_part(self, value: str) -> None:
        if len(value) >= SHORTEST:
            self.learn(value)


def _base64(raw: bytes) -> set[str]:
    """Return the base64 forms of `raw`: alone and, if long enough, at any offset."""
    found = {base64.b64encode(raw).decode("ascii").rstrip("=")}
    for before in range(3) if len(raw) >= _LONG_PART else ():
        whole = base64.b64encode(bytes(before) + raw).decode("ascii").rstrip("=")
        shared = (
            before + 1 if before else 0,
            -1 if (before + len(raw)) % 3 else None,
        )  # the characters at the ends also encode neighbouring bytes
        found.add(whole[slice(*shared)])
    return found | {each.replace("+", "-").replace("/", "_") for each in found}


def _line(line: str) -> str:
    line = _ADDRESS.sub(lambda match: _short(match[0]), line)
    line = _SCHEME.sub(lambda match: f"{match[1]} {MARK}", line)
    for match in _NAMED.finditer(line):
        if SECRET_NAME.search(match["flag"] or match["name"]):
            line = line[: match.end()] + MARK  # the end of the value is unknown
            break
    return _LONG.sub(MARK, line)


def _short(address: str) -> str:
    """Return `address` up to its host and port."""
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    host = re.split(r"[?#]", place.rpartition("@")[2])[0]
    return f"{scheme}://{host}" + (f"/{MARK}" if (slash and path) or re.search(r"[?#]", place) else "")
