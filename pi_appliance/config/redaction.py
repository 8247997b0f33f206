"""Removal of secrets from texts and settings. When in doubt, text is removed.

Three rules apply:

- by value: known secrets, in every encoding that may occur
- by name: values whose key or option is named like a secret
- by pattern: the part of an address after the host, and long random words
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus, urlsplit

from pi_appliance.config.secrets import SECRET_NAME

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
