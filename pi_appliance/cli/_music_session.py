"""The player, for as long as one command takes. asyncio and all that is big is loaded when there is a question."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import click

from pi_appliance.cli import _music_text
from pi_appliance.config.load import load_stations
from pi_appliance.errors import Refused
from pi_appliance.model.config import Config
from pi_appliance.model.music import PlayerState, Station, Track
from pi_appliance.ports_player import Player
from pi_appliance.system import secrets

T = TypeVar("T")


def ask(settings: Config, work: Callable[[Player], Awaitable[T]]) -> T:
    """Return what WORK with the player of SETTINGS comes to."""
    import asyncio  # noqa: PLC0415 - as big as all the rest of a command that only prints its help

    async def worked() -> T:
        async with opened(settings) as player:
            return await work(player)

    return asyncio.run(worked())


def press(settings: Config, work: Callable[[Player], Awaitable[object]]) -> None:
    """Do one thing and say what plays then."""

    async def pressed(player: Player) -> PlayerState:
        await work(player)
        return await player.state()

    click.echo(_music_text.line(ask(settings, pressed)))


@asynccontextmanager
async def opened(settings: Config) -> AsyncIterator[Player]:
    """Give the player; on stderr stands, if it is so, that it is only the stand-in. Raises Unavailable."""
    from pi_appliance.engine.hub import open_player  # noqa: PLC0415 - as above

    known = secrets.load(settings.path, os.environ)
    address = getattr(settings.player and settings.player.with_, "address", "its address")

    def tell(_: str) -> None:  # all of why stands on the page and in the log; here it would come with each button
        click.echo(f"MPD at {address} is not reached; this is the silent stand-in", err=True)

    player = await open_player(settings.player, settings.state, known, tell=tell)
    try:
        yield player
    finally:
        await player.close()


def stations(settings: Config) -> Sequence[Station]:
    """Return the web radio stations there are. Raises ConfigError."""
    return load_stations(settings.stations)


async def track_at(player: Player, number: int) -> Track:
    """Return the track that is number NUMBER of the queue, from 1. Raises Refused if there is none."""
    queue = await player.queue(number - 1, 1)
    if not queue.tracks:
        raise Refused(
            f"there is no track {number} in the queue; it ends with {queue.length}"
            if queue.length
            else "the queue is empty"
        )
    return queue.tracks[0]


async def chosen(player: Player, what: str) -> Track:
    """Return the track WHAT: the current one for '', else by its number in the queue, or its file. Raises Refused."""
    if what.isdecimal() and int(what) > 0:
        return await track_at(player, int(what))
    if what:
        return Track(uri=what)
    track = (await player.state()).track
    if track is None:
        raise Refused("no track is the current one; name a file, or a number of the queue")
    return track
