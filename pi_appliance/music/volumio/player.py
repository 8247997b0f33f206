"""What Volumio's REST API has no route for: refused in words that name the lack, and a way out."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, NoReturn

from pi_appliance.errors import Refused
from pi_appliance.music.model import Entry, Output, Page, Partition, ReplayGainMode, Source, TrackRating
from pi_appliance.music.mpd import player

if TYPE_CHECKING:
    from pi_appliance.music.volumio.playback import VolumioPlayer


_PAGE = "do it on Volumio's own page"


def refuse(what: str, way_out: str = _PAGE) -> NoReturn:
    """Raise Refused: Volumio cannot do WHAT from outside."""
    raise Refused(f"Volumio lets nobody {what} from outside; {way_out}")


class UnsupportedCommands:
    """The part of a player that a Volumio is not. Every method raises Refused."""

    async def set_crossfade(self, seconds: int) -> None:  # noqa: ARG002 - the port's signature, here and below
        """Refuse: Volumio has no crossfade."""
        raise Refused("Volumio has no crossfade; an MPD has")

    async def set_replay_gain(self, gain: ReplayGainMode) -> None:  # noqa: ARG002
        """Refuse: Volumio has it switched off."""
        raise Refused("Volumio has no ReplayGain; an MPD has")

    async def list_outputs(self) -> Sequence[Output]:
        """Refuse: outputs are chosen in its settings."""
        refuse("see or choose where its sound comes out", "see Settings, Playback Options, on its own page")

    async def set_output(self, id: int, on: bool) -> None:  # noqa: A002, ARG002
        """Refuse: outputs are chosen in its settings."""
        await self.list_outputs()

    async def move_track(self, id: int, to: int) -> None:  # noqa: A002, ARG002
        """Refuse: the REST API cannot."""
        refuse("move tracks of its queue")

    async def remove_tracks(self, ids: Collection[int]) -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse("take single tracks out of its queue", f"clear all of it, or {_PAGE}")

    async def shuffle_queue(self) -> None:
        """Refuse: the REST API cannot."""
        refuse("shuffle its queue", "switch random on instead")

    async def save_queue(self, name: str, *, replace: bool = False) -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse("save its queue")

    async def update_library(self, folder: str = "") -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse(
            "start a scan of its library", "it scans a stick that is put in; else see Settings, Sources, on its page"
        )

    async def add_to_playlist(self, name: str, source: Source) -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse("edit its playlists")

    async def remove_from_playlist(self, name: str, positions: Collection[int]) -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse("edit its playlists")

    async def move_in_playlist(self, name: str, position: int, to: int) -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse("edit its playlists")

    async def rename_playlist(self, name: str, to: str) -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse("rename its playlists")

    async def delete_playlist(self, name: str) -> None:  # noqa: ARG002
        """Refuse: the REST API cannot."""
        refuse("delete its playlists")

    async def ratings(self, uris: Collection[str]) -> Mapping[str, TrackRating]:  # noqa: ARG002
        """Refuse: there are no stickers."""
        refuse("keep ratings in it", "the appliance keeps them itself")

    async def set_rating(self, uri: str, opinion: TrackRating) -> None:  # noqa: ARG002
        """Refuse: there are no stickers."""
        refuse("keep ratings in it", "the appliance keeps them itself")

    async def list_favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:  # noqa: ARG002
        """Refuse: there are no stickers. Volumio's own favourites can be browsed as the folder `favourites`."""
        refuse("keep favourites in it", "its own are in the folder `favourites`; the appliance keeps others itself")

    async def list_partitions(self) -> Sequence[Partition]:
        """Refuse: there are none."""
        raise Refused("Volumio has no partitions; an MPD has")

    async def use_partition(self, name: str) -> None:  # noqa: ARG002
        """Refuse: there are none."""
        await self.list_partitions()

    async def create_partition(self, name: str) -> None:  # noqa: ARG002
        """Refuse: there are none."""
        await self.list_partitions()

    async def delete_partition(self, name: str) -> None:  # noqa: ARG002
        """Refuse: there are none."""
        await self.list_partitions()

    async def move_output(self, name: str) -> None:  # noqa: ARG002
        """Refuse: there are none."""
        await self.list_partitions()


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


def connect(options: Options, secrets: Mapping[str, str]) -> "VolumioPlayer":  # noqa: ARG001 - Volumio has no password
    """Return the player. Nothing is sent before the first command; each command finds out for itself who is there."""
    from pi_appliance.music.volumio.playback import VolumioPlayer  # noqa: PLC0415 - asyncio is as big as all the rest

    return VolumioPlayer(options.address, options.server, listen=options.listen, poll=options.poll)


def _place(text: str) -> tuple[str, int]:
    bare = ":" not in text or (text.startswith("[") and text.endswith("]"))
    with contextlib.suppress(ValueError):
        place = player.parse_address(f"{text}:{PORT}" if bare else text)
        if isinstance(place, tuple) and not any(character in text for character in "/@ "):
            return place
    raise ValueError("write a name or an address such as volumio.local, with :port if that is not 3000")
