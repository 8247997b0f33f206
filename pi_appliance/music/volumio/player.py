"""Player kind `volumio`: a Volumio in the local network."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pi_appliance.config.units import PORT
from pi_appliance.errors import Issues
from pi_appliance.music.mpd import player

if TYPE_CHECKING:
    from pi_appliance.music.volumio.playback import VolumioPlayer

DEFAULT_PORT = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options under `with:` of a player of kind `volumio`."""

    address: Annotated[str, "its name or address, with :port if that is not 3000"] = "volumio.local"
    listen: Annotated[int, "the port on which the appliance receives Volumio's push notifications; 0: any", PORT] = 0
    poll: Annotated[timedelta, "how often to read the state while there are no push notifications"] = timedelta(
        seconds=5
    )

    def check(self) -> Issues:
        """Return the problems: key, message, hint."""
        problems: Issues = []
        try:
            _parse_address(self.address)
        except ValueError as error:
            problems.append((("address",), f"{self.address!r} is not an address of Volumio", str(error)))
        if self.poll < timedelta(seconds=1):
            problems.append((("poll",), "that would keep Volumio busy", "use at least one second, such as 5s"))
        return problems

    @property
    def server(self) -> tuple[str, int]:
        """Host and port of the REST API.

        It is not called `place`, which is the address of an MPD.
        """
        return _parse_address(self.address)


def connect(options: Options, secrets: Mapping[str, str]) -> "VolumioPlayer":  # noqa: ARG001 - Volumio has no password
    """Return the player.

    Nothing is sent before the first command, and each request has its own connection.
    """
    from pi_appliance.music.volumio.playback import VolumioPlayer  # noqa: PLC0415 - asyncio is slow to import

    return VolumioPlayer(options.address, options.server, listen=options.listen, poll=options.poll)


def _parse_address(text: str) -> tuple[str, int]:
    has_no_port = ":" not in text or (text.startswith("[") and text.endswith("]"))
    with contextlib.suppress(ValueError):
        address = player.parse_address(f"{text}:{DEFAULT_PORT}" if has_no_port else text)
        if isinstance(address, tuple) and not any(character in text for character in "/@ "):
            return address
    raise ValueError("write a name or an address such as volumio.local, with :port if that is not 3000")
