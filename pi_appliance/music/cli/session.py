"""The player, for as long as one command takes. asyncio and all that is big is loaded when there is a question."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import click

from pi_appliance.config import secrets
from pi_appliance.config.model import Config
from pi_appliance.errors import Refused
from pi_appliance.music.cli import player_text
from pi_appliance.music.model import PlayerState, Track
from pi_appliance.music.player import Player
from pi_appliance.music.stations.service import Stations
from pi_appliance.system import files

T = TypeVar("T")
DEFAULT = "default"  # the partition that there always is
_PARTITION = "partition"  # in the state folder: the name of the one that the commands speak of


def query(settings: Config, work: Callable[[Player], Awaitable[T]], *, anywhere: bool = False) -> T:
    """Return what WORK with the player of SETTINGS comes to. ANYWHERE: it matters not in which partition."""
    import asyncio  # noqa: PLC0415 - as big as all the rest of a command that only prints its help

    async def worked() -> T:
        async with opened(settings, DEFAULT if anywhere else partition_of(settings)) as player:
            return await work(player)

    return asyncio.run(worked())


def run_command(settings: Config, work: Callable[[Player], Awaitable[object]]) -> None:
    """Do one thing and say what plays then."""

    async def pressed(player: Player) -> PlayerState:
        await work(player)
        return await player.state()

    click.echo(player_text.line(query(settings, pressed)))


@asynccontextmanager
async def opened(settings: Config, partition: str) -> AsyncIterator[Player]:
    """Give the player, speaking of PARTITION; on stderr stands, if it is so, that it is only the stand-in.

    Raises Unavailable; Refused where there is no such partition any more.
    """
    from pi_appliance.music.hub import open_player  # noqa: PLC0415 - as above

    known = secrets.load(settings.path, os.environ)
    address = getattr(settings.player and settings.player.options, "address", "its address")

    def tell(_: str) -> None:  # all of why stands on the page and in the log; here it would come with each button
        click.echo(f"MPD at {address} is not reached; this is the built-in silent player", err=True)

    player = await open_player(settings, known, notify=tell)
    try:
        if partition != DEFAULT:
            await _enter(player, partition)
        yield player
    finally:
        await player.close()


async def _enter(player: Player, partition: str) -> None:
    try:
        await player.use_partition(partition)
    except Refused as error:
        raise Refused(f"{error}; go back with: pi-appliance music partitions use {DEFAULT}") from None


def partition_of(settings: Config) -> str:
    """Return the partition that the commands speak of."""
    try:
        return (settings.state_dir / _PARTITION).read_text("utf-8").strip() or DEFAULT
    except FileNotFoundError:
        return DEFAULT


def remember_partition(settings: Config, name: str) -> None:
    """Let the commands speak of the partition NAME from now on."""
    if name == DEFAULT:
        (settings.state_dir / _PARTITION).unlink(missing_ok=True)
    else:
        files.write_file(files.make_directory(settings.state_dir, mode=0o750) / _PARTITION, f"{name}\n".encode())


def stations(settings: Config) -> Stations:
    """Return the web radio stations: those of the owner's file, and the household's own."""
    return Stations(settings.stations, settings.state_dir)


async def track_at(player: Player, number: int) -> Track:
    """Return the track that is number NUMBER of the queue, from 1. Raises Refused if there is none."""
    queue = await player.list_queue(number - 1, 1)
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
