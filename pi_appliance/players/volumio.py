"""Player kind 'volumio': a Volumio in the house, by its REST API. What it does stands in _volumio_player.py."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pi_appliance.players import _address

if TYPE_CHECKING:
    from pi_appliance.players._volumio_player import Volumio

PORT = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a player of this kind takes under `with:`."""

    address: Annotated[str, "its name or address in the house, with :port if that is not 3000"] = "volumio.local"
    listen: Annotated[int, "the port on which the appliance waits for Volumio to tell of changes; 0: any free one"] = 0
    poll: Annotated[timedelta, "how often to look for changes while Volumio does not tell of them"] = timedelta(
        seconds=5
    )

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong: where, what, and what would be right."""
        wrong: list[tuple[tuple[str | int, ...], str, str]] = []
        try:
            _place(self.address)
        except ValueError as error:
            wrong.append((("address",), f"{self.address!r} is not an address of Volumio", str(error)))
        if not 0 <= self.listen < 65_536:
            wrong.append((("listen",), f"{self.listen} is no port", "a port is a number up to 65535; 0: any free one"))
        if self.poll < timedelta(seconds=1):
            wrong.append((("poll",), "that would keep Volumio busy", "look every second at most, such as 5s"))
        return wrong

    @property
    def server(self) -> tuple[str, int]:
        """Where its REST API is: host and port. Not called `place`, for there is no MPD to be reached there."""
        return _place(self.address)


def connect(options: Options, secrets: Mapping[str, str]) -> "Volumio":  # noqa: ARG001 - Volumio has no password
    """Return the player. Nothing is sent before the first command; each command finds out for itself who is there."""
    from pi_appliance.players._volumio_player import Volumio  # noqa: PLC0415 - asyncio is as big as all the rest

    return Volumio(options.address, options.server, listen=options.listen, poll=options.poll)


def _place(text: str) -> tuple[str, int]:
    bare = ":" not in text or (text.startswith("[") and text.endswith("]"))
    with contextlib.suppress(ValueError):
        place = _address.parse(f"{text}:{PORT}" if bare else text)
        if isinstance(place, tuple) and not any(character in text for character in "/@ "):
            return place
    raise ValueError("write a name or an address such as volumio.local, with :port if that is not 3000")
