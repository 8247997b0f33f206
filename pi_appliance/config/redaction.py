"""Takes out of texts and settings what a stranger must not see. Rather too much than too little.

By value: what is known to be secret, in every spelling that it may have. By name: whatever is called like a secret. By
look: what stands behind the host of an address, and long words that nobody would remember.
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
"""Characters; a shorter secret is none, and stands in many a word."""
_LONG_PART = 8
_ADDRESS = re.compile(rf"\b[a-z][a-z0-9+.-]*://(?:{re.escape(MARK)}|[^\s\"'<>)\]}}])+", re.IGNORECASE)
_NAMED = re.compile(r"""(?:--?(?P<flag>[\w-]+)[ =]|(?P<name>[\w.-]+)["']?\s*[:=]\s*)(?=\S)""")
_SCHEME = re.compile(r"\b(bearer|basic)\s+\S+", re.IGNORECASE)
# What opens a session, and is made anew so often that nobody knows its value: after "Bearer", or a JSON web token.
_SESSION = re.compile(r"(?<=bearer )[\w.~+/=-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+", re.IGNORECASE)
_LONG = re.compile(r"(?<![\w+/=-])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[\w+=-]{24,}(?![\w+/=-])")
_ALL_WITHIN = {"environment", "env", "headers"}


class Redactor:
    """Knows VALUES that are secret, and learns more from settings."""

    def __init__(self, values: Iterable[str]) -> None:
        self._spellings: set[str] = set()
        for value in values:
            self.learn(value)

    def learn(self, value: str) -> None:
        """Take out VALUE from now on, wherever it occurs."""
        if value:
            raw = value.encode("utf-8", "surrogateescape")  # a variable may hold any bytes
            self._spellings |= {
                *(value, quote(raw, safe=""), quote(raw), quote_plus(raw), html.escape(value)),
                quote(quote(raw, safe=""), safe=""),  # as OAuth signs it
                *(json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]),
                *_base64(raw),
            }

    def known(self, text: str) -> str:
        """Return TEXT without any value that is known."""
        for each in sorted(self._spellings, key=len, reverse=True):
            text = text.replace(each, MARK)
        return text

    def heard(self, text: str) -> str:
        """Return TEXT, which a server or a library said, without what is known, and what looks like a session."""
        return _SESSION.sub(MARK, self.known(text))

    def text(self, text: str) -> str:
        """Return TEXT without what is known, is called like a secret, or looks like one."""
        return "\n".join(_line(line) for line in self.known(text).split("\n"))

    def settings(self, value: object, name: str = "", *, hidden: bool = False) -> object:
        """Return VALUE, plain data called NAME, with the secrets in it taken out and learnt. HIDDEN: all of it is."""
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
        """Take a list to be words of a command: what follows --password is one."""
        found, before = list[object](), ""
        for each in values:
            flag = before.startswith("-") and bool(SECRET_NAME.search(before.lstrip("-")))
            found.append(self.settings(each, hidden=hidden or flag))
            before = each if isinstance(each, str) else ""
        return found

    def _learn_address(self, address: str) -> None:
        try:
            parts = urlsplit(address)
        except ValueError:  # brackets that are none of an address; it is not shown anyway
            return
        for part in (parts.password, parts.path.strip("/"), parts.query, parts.fragment):
            self._learn_part(part or "")
        for part in (parts.username or "", *parts.path.split("/")):
            if len(part) >= _LONG_PART:  # shorter ones are words like `post`, which stand elsewhere too
                self.learn(part)

    def _learn_part(self, value: str) -> None:
        if len(value) >= SHORTEST:
            self.learn(value)


def _base64(raw: bytes) -> set[str]:
    """Return how RAW looks in base64: alone and, if it is long enough, wherever it stands among other bytes."""
    found = {base64.b64encode(raw).decode("ascii").rstrip("=")}
    for before in range(3) if len(raw) >= _LONG_PART else ():
        whole = base64.b64encode(bytes(before) + raw).decode("ascii").rstrip("=")
        shared = (
            before + 1 if before else 0,
            -1 if (before + len(raw)) % 3 else None,
        )  # letters with neighbours in them
        found.add(whole[slice(*shared)])
    return found | {each.replace("+", "-").replace("/", "_") for each in found}


def _line(line: str) -> str:
    line = _ADDRESS.sub(lambda match: _short(match[0]), line)
    line = _SCHEME.sub(lambda match: f"{match[1]} {MARK}", line)
    for match in _NAMED.finditer(line):
        if SECRET_NAME.search(match["flag"] or match["name"]):
            line = line[: match.end()] + MARK  # where it ends, nobody knows
            break
    return _LONG.sub(MARK, line)


def _short(address: str) -> str:
    """Return ADDRESS as far as its host and port."""
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    host = re.split(r"[?#]", place.rpartition("@")[2])[0]
    return f"{scheme}://{host}" + (f"/{MARK}" if (slash and path) or re.search(r"[?#]", place) else "")
