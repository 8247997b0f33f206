"""Player kind 'mpd': an MPD on this machine or elsewhere in the house. What it does stands in _mpd_player.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pi_appliance.players import _address

if TYPE_CHECKING:
    from pi_appliance.players._mpd_player import Mpd


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a player of this kind takes under `with:`."""

    address: Annotated[str, "host:port or the path of a socket; a password goes among the secrets, as MPD_PASSWORD"] = (
        "localhost:6600"
    )
    stand_in: Annotated[bool, "start a private, silent MPD when none answers"] = True
    music: Annotated[Path | None, "the music folder of the stand-in; without it, an empty one"] = None
    partition: Annotated[str, "the partition of MPD to speak of; without it, MPD's first one"] = ""

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with the address: where, what, and what would be right."""
        try:
            _address.parse(self.address)
        except ValueError as error:
            shown = "this" if "@" in self.address else repr(self.address)  # never a password
            return [(("address",), f"{shown} is not an address of MPD", str(error))]
        return []

    @property
    def place(self) -> _address.Place:
        """Where it is: the path of a socket, or host and port."""
        return _address.parse(self.address)


def connect(options: Options, secrets: Mapping[str, str]) -> "Mpd":
    """Return the player. Nothing is sent before the first command; each command finds out for itself who is there."""
    from pi_appliance.players._mpd_player import Mpd  # noqa: PLC0415 - asyncio is as big as all the rest

    return Mpd(options.address, options.place, secrets.get("MPD_PASSWORD", ""), options.partition)
