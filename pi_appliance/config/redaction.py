"""Remove secrets from texts, settings, errors and logs."""

import base64
import contextlib
import html
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from pi_appliance.config.secrets import SECRET_NAME

MARK = "[redacted]"
SHORTEST = 4
"""Characters. Shorter values occur in ordinary words and are not redacted."""
_LONG_PART = 8
_ADDRESS = re.compile(rf"\b[a-z][a-z0-9+.-]*://(?:{re.escape(MARK)}|[^\s\"'<>)\]}}])+", re.IGNORECASE)
_NAMED = re.compile(r"""(?:--?(?P<flag>[\w-]+)[ =]|(?P<name>[\w.-]+)["']?\s*[:=]\s*)(?=\S)""")
# Session tokens change too often to be known by value: those after "Bearer", and JSON web tokens.
_SESSION = re.compile(r"(?<=bearer )[\w.~+/=-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+", re.IGNORECASE)
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

    def remove_known(self, text: str) -> str:
        """Return `text` without known secrets."""
        for each in sorted(self._spellings, key=len, reverse=True):
            text = text.replace(each, MARK)
        return text

    def redact_message(self, text: str) -> str:
        """Return the `text` of a server or library without known secrets and session tokens."""
        return _SESSION.sub(MARK, self.remove_known(text))

    def redact_text(self, text: str) -> str:
        """Return `text` without secrets, session tokens, values named like them, and URL paths."""
        text = _ADDRESS.sub(lambda match: _host_only(match[0]), self.redact_message(text))
        return "\n".join(_redact_named(line) for line in text.split("\n"))

    def redact_settings(self, value: object, name: str = "", *, hidden: bool = False) -> object:
        """Redact plain data, and learn the secrets in it.

        Args:
            value: Plain data, such as a section of the configuration.
            name: The key of `value`, which may mark it as secret.
            hidden: Redact all of `value`.
        """
        if isinstance(value, Mapping):
            within = hidden or name in _ALL_WITHIN or bool(SECRET_NAME.search(name))
            return {
                self.remove_known(str(key)): self.redact_settings(each, str(key), hidden=within)
                for key, each in value.items()
            }
        hidden = hidden or bool(SECRET_NAME.search(name))
        if isinstance(value, (list, tuple)):
            return self._redact_list(value, hidden=hidden)
        for address in _ADDRESS.findall(value) if isinstance(value, str) else ():
            self._learn_address(address)
        if hidden and value is not None and not isinstance(value, bool):
            self._learn_part(str(value))
            return MARK
        if isinstance(value, str):
            return self.redact_text(value)
        return value if self.remove_known(str(value)) == str(value) else MARK

    def _redact_list(self, values: Iterable[object], *, hidden: bool) -> list[object]:
        """Redact a list like a command line: the item after `--password` is a secret."""
        redacted, before = list[object](), ""
        for each in values:
            flag = before.startswith("-") and bool(SECRET_NAME.search(before.lstrip("-")))
            redacted.append(self.redact_settings(each, hidden=hidden or flag))
            before = each if isinstance(each, str) else ""
        return redacted

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


@contextlib.contextmanager
def redact_errors(redactor: Redactor) -> Iterator[None]:
    """Remove secrets from the error that the block raises, and from its causes."""
    try:
        yield
    except Exception as error:
        for each in _error_chain(error):
            each.args = tuple(redactor.redact_message(arg) if isinstance(arg, str) else arg for arg in each.args)
        raise


def redact_logs(redactor: Redactor) -> None:
    """Remove secrets from all later log records: libraries log their requests."""
    make = logging.getLogRecordFactory()

    def make_redacted(*args: Any, **named: Any) -> logging.LogRecord:
        record = make(*args, **named)
        with contextlib.suppress(TypeError, ValueError):  # the handler reports arguments that do not fit
            record.msg, record.args = redactor.redact_message(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = redactor.redact_message(logging.Formatter().formatException(record.exc_info))
        return record

    logging.setLogRecordFactory(make_redacted)


def _error_chain(error: BaseException | None) -> Iterable[BaseException]:
    """Yield `error` and its causes, as a traceback shows them."""
    visited = set[int]()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _base64(raw: bytes) -> set[str]:
    """Return the base64 forms of `raw`: alone and, if long enough, at any offset."""
    forms = {base64.b64encode(raw).decode("ascii").rstrip("=")}
    for before in range(3) if len(raw) >= _LONG_PART else ():
        whole = base64.b64encode(bytes(before) + raw).decode("ascii").rstrip("=")
        shared = (
            before + 1 if before else 0,
            -1 if (before + len(raw)) % 3 else None,
        )  # the characters at the ends also encode neighbouring bytes
        forms.add(whole[slice(*shared)])
    return forms | {each.replace("+", "-").replace("/", "_") for each in forms}


def _redact_named(line: str) -> str:
    for match in _NAMED.finditer(line):
        if SECRET_NAME.search(match["flag"] or match["name"]):
            return line[: match.end()] + MARK  # the end of the value is unknown
    return line


def _host_only(address: str) -> str:
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    host = re.split(r"[?#]", place.rpartition("@")[2])[0]
    return f"{scheme}://{host}" + (f"/{MARK}" if (slash and path) or re.search(r"[?#]", place) else "")
