"""What the page and the API may ask of the player."""

import asyncio
import math
from collections.abc import Mapping

from starlette.exceptions import HTTPException

from pi_appliance.engine.stations import Stations
from pi_appliance.errors import Refused, UnknownName, nearest
from pi_appliance.model.music import Uri, Where
from pi_appliance.ports_player import Player
from pi_appliance.web.world import Music

Given = Mapping[str, object]

# Which keys each command takes.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "play": ("position",),
    "pause": (),
    "toggle": (),
    "stop": (),
    "next": (),
    "previous": (),
    "volume": ("volume", "change"),
    "seek": ("seconds",),
    "play-station": ("station",),
}


async def command(music: Music, name: str, given: Given, stations: Stations) -> None:
    """Do what NAME says, with what was GIVEN for it.

    Raises UnknownName, HTTPException 400 for a wrong key or value, and what the player raises.
    """
    if name not in COMMANDS:
        raise UnknownName("command of the player", name, tuple(COMMANDS))
    for key in given:
        if key not in COMMANDS[name]:
            known = f"{nearest(key, COMMANDS[name])}" if COMMANDS[name] else "it takes nothing"
            raise HTTPException(400, f"{name} takes no {key!r}; {known}")
    match name:
        case "play":
            position = int(_number(given, "position", 0, 1_000_000)) if "position" in given else None
            await (await music.player()).play(position)
        case "volume":
            await _set_volume(music, given)
        case "seek":
            seconds = _number(given, "seconds", 0, 1_000_000)
            await (await music.player()).seek(seconds)
        case "play-station":
            station = await asyncio.to_thread(stations.to_play, str(given.get("station", "")))
            player = await music.player()
            await player.add(Uri(uri=station.url, title=station.name), Where.INSTEAD, play=True)
        case _:
            await _plain(await music.player(), name)


async def _plain(player: Player, name: str) -> None:
    """Do what needs nothing but its name."""
    match name:
        case "pause":
            await player.pause()
        case "toggle":
            await player.toggle()
        case "stop":
            await player.stop()
        case "next":
            await player.next()
        case "previous":
            await player.previous()


async def _set_volume(music: Music, given: Given) -> None:
    if ("volume" in given) == ("change" in given):
        raise HTTPException(400, 'volume takes either "volume", from 0 to 100, or "change", such as -5')
    key, low = ("volume", 0) if "volume" in given else ("change", -100)
    number = round(_number(given, key, low, 100))
    player = await music.player()
    if key == "change":
        now = (await player.state()).volume
        if now is None:
            raise Refused("this player has no volume to set; set it on the amplifier")
        number = min(100, max(0, now + number))
    await player.set_volume(number)


def _number(given: Given, key: str, low: float, high: float) -> float:
    """Return the number at KEY; a form brings it as text."""
    right = f"{key!r} must be a number from {low} to {high}"
    value = given.get(key)
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not low <= number <= high:  # never true for nan
        raise HTTPException(400, right if key in given else f"{right}, and it is missing")
    return number
