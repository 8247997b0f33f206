"""The last events, each with an id, so that a phone that slept gets just what it missed."""

import json
import secrets
from collections import deque
from collections.abc import Mapping
from typing import Any

_MOST = 500  # events; an evening of music has fewer, and they take half a megabyte
_AT_ONCE = 20  # events handed out in one piece: what waits in memory for a slow phone


class Ring:
    """Events as the bytes that go to every phone. Ids are EPOCH-NUMBER; another epoch is another life of the daemon."""

    def __init__(self, most: int = _MOST) -> None:
        self.number = 0
        self._epoch = secrets.token_hex(4)
        self._events: deque[bytes] = deque(maxlen=most)

    def add(self, name: str, data: Mapping[str, Any]) -> None:
        """Add the event NAME."""
        self.number += 1
        self._events.append(encoded(name, data, self.id))

    @property
    def id(self) -> str:
        """The id of the newest event, or of the moment before the first one."""
        return f"{self._epoch}-{self.number}"

    def place(self, told: str) -> int | None:
        """Return the number of the event with the id TOLD; None if what came after it is not known (any more)."""
        epoch, _, number = told.partition("-")
        if epoch != self._epoch or not (number.isascii() and number.isdigit() and len(number) < 20):
            return None
        return int(number) if self._holds_all_after(int(number)) else None

    def after(self, number: int) -> tuple[bytes, int] | None:
        """Return what came after NUMBER, or the first of it, and the number it goes up to.

        None if some of it is forgotten.
        """
        if not self._holds_all_after(number):
            return None
        first = len(self._events) - (self.number - number)
        found = [self._events[place] for place in range(first, min(first + _AT_ONCE, len(self._events)))]
        return b"".join(found), number + len(found)

    def _holds_all_after(self, number: int) -> bool:
        return self.number - len(self._events) <= number <= self.number


def encoded(name: str, data: Mapping[str, Any], number: str = "") -> bytes:
    """Return the server-sent event NAME; without NUMBER it does not count as one that was missed or not."""
    told = json.dumps(data, separators=(",", ":"))  # one line, whatever is in it
    return (f"id: {number}\n" if number else "").encode() + f"event: {name}\ndata: {told}\n\n".encode()
