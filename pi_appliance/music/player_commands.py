"""What the page and the API may ask of the player in one word: play, volume, modes and the like."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException

from pi_appliance.errors import Refused, UnknownName
from pi_appliance.music.model import Mode, QueuePosition, ReplayGainMode, Uri
from pi_appliance.music.player import Player
from pi_appliance.music.stations.service import Stations
from pi_appliance.operations import Argument, boolean, enum, integer, number, parse_arguments, text
from pi_appliance.web.interface import Music
from pi_appliance.web.params import Given

Values = Mapping[str, Any]
_FAR = 1_000_000  # seconds, or places in a queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One word, what it does, and which keys it takes. `either`: exactly one of them is to be given."""

    what: str
    act: Callable[[Music, Stations, Values], Awaitable[None]]
    keys: Sequence[Argument] = ()
    either: str = ""
    example: Mapping[str, Any] = field(default_factory=dict)


async def command(music: Music, name: str, given: Given, stations: Stations) -> None:
    """Do what NAME says, with what was GIVEN for it.

    Raises UnknownName, HTTPException 400 for a wrong key or value, and what the player raises.
    """
    if name not in COMMANDS:
        raise UnknownName("command of the player", name, tuple(COMMANDS))
    wanted = COMMANDS[name]
    values = parse_arguments(name, wanted.keys, given)
    if wanted.either and len([value for value in values.values() if value is not None]) != 1:
        raise HTTPException(400, f"{name} takes either {wanted.either}")
    await wanted.act(music, stations, values)


async def play_station(music: Music, stations: Stations, name: str) -> None:
    """Play the station NAME, and nothing else. Raises UnknownName, and what the player raises."""
    station = await asyncio.to_thread(stations.resolved, name)  # it may look up a list on the web
    player = await music.player()
    await player.add_source(Uri(uri=station.url, title=station.name), QueuePosition.REPLACE, play=True)


async def _play(player: Player, values: Values) -> None:
    if values["id"] is not None and values["position"] is not None:
        raise HTTPException(400, 'play takes either "position" or "id", not both')
    await (player.play(values["position"]) if values["id"] is None else player.play_id(values["id"]))


async def _seek(player: Player, values: Values) -> None:
    seconds = values["seconds"]
    if seconds is None:
        elapsed = (await player.state()).elapsed
        if elapsed is None:
            raise Refused("nothing plays that could be gone forward or back in")
        seconds = max(0.0, elapsed + values["change"])
    await player.seek(seconds)


async def _volume(player: Player, values: Values) -> None:
    volume = values["volume"]
    if volume is None:
        now = (await player.state()).volume
        if now is None:
            raise Refused("this player has no volume to set; set it on the amplifier")
        volume = min(100, max(0, now + values["change"]))
    await player.set_volume(round(volume))


async def _modes(player: Player, values: Values) -> None:
    if not any(value is not None for value in values.values()):
        raise HTTPException(400, 'modes takes one of "repeat", "random", "single" and "consume" at least')
    await player.set_modes(**values)


async def _station(music: Music, stations: Stations, values: Values) -> None:
    await play_station(music, stations, values["station"])


def _on(act: Callable[[Player, Values], Awaitable[None]]) -> Callable[[Music, Stations, Values], Awaitable[None]]:
    """Return what asks the player for ACT, if there is one."""

    async def asked(music: Music, _: Stations, values: Values) -> None:
        await act(await music.player(), values)

    return asked


COMMANDS: Mapping[str, Command] = {
    "play": Command(
        what="Go on, or play the track at a place of the queue or with an id.",
        act=_on(_play),
        keys=(
            integer("position", "a place in the queue, from 0", 0, _FAR),
            integer("id", "of a track in it", 0, 2**31),
        ),
        example={"position": 1},
    ),
    "pause": Command(what="Pause; nothing happens unless it plays.", act=_on(lambda player, _: player.pause())),
    "toggle": Command(what="Pause if it plays, else play.", act=_on(lambda player, _: player.toggle())),
    "stop": Command(what="Stop.", act=_on(lambda player, _: player.stop())),
    "next": Command(what="Go to the next track.", act=_on(lambda player, _: player.next())),
    "previous": Command(what="Go to the previous track.", act=_on(lambda player, _: player.previous())),
    "seek": Command(
        what="Go to a second of the track, or forward and back by some.",
        act=_on(_seek),
        keys=(
            number("seconds", "from the start of the track", 0, _FAR),
            number("change", "so many seconds on, or back if below 0", -_FAR, _FAR),
        ),
        either='"seconds", from 0 to 1000000, or "change", such as -10',
        example={"seconds": 90},
    ),
    "volume": Command(
        what="Set the volume, or change it, as far as it may go.",
        act=_on(_volume),
        keys=(number("volume", "how loud", 0, 100), number("change", "so much louder or quieter", -100, 100)),
        either='"volume", from 0 to 100, or "change", such as -5',
        example={"volume": 40},
    ),
    "mute": Command(
        what="Be silent, or as loud as before.",
        act=_on(lambda player, values: player.set_mute(values["on"])),
        keys=(boolean("on", "whether it is silent", required=True),),
        example={"on": True},
    ),
    "modes": Command(
        what="Set how the queue is played; what is not named stays as it is.",
        act=_on(_modes),
        keys=(
            boolean("repeat", "begin again at the end of the queue"),
            boolean("random", "play in any order"),
            enum("single", "stop behind each track", Mode),
            enum("consume", "take what was played out of the queue", Mode),
        ),
        example={"random": True, "single": "once"},
    ),
    "crossfade": Command(
        what="Let tracks overlap.",
        act=_on(lambda player, values: player.set_crossfade(values["seconds"])),
        keys=(integer("seconds", "0: not", 0, 60, required=True),),
        example={"seconds": 5},
    ),
    "replay-gain": Command(
        what="Choose by what loudness is made even.",
        act=_on(lambda player, values: player.set_replay_gain(values["gain"])),
        keys=(enum("gain", "by what", ReplayGainMode, required=True),),
        example={"gain": "album"},
    ),
    "play-station": Command(
        what="Play a station by its name, in place of the queue.",
        act=_station,
        keys=(text("station", "a name of /stations", required=True),),
        example={"station": "Groove"},
    ),
}
