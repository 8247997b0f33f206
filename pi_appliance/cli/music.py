"""pi-appliance music: what plays, and the buttons."""

import asyncio
import dataclasses
import inspect
import json
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from pi_appliance.cli import _music_usb
from pi_appliance.cli._options import config_option, json_option
from pi_appliance.config.load import load, load_stations
from pi_appliance.engine.hub import open_player
from pi_appliance.errors import Refused, UnknownName
from pi_appliance.model.music import Play, PlayerState, Queue, Station, Track
from pi_appliance.ports_player import Player
from pi_appliance.reports.as_text import table
from pi_appliance.system import secrets

T = TypeVar("T")
WINDOW = 500  # tracks asked for at a time, so that a long queue does not come as one answer
_STATUSES = """

\b
Exit status:
  0   done
  1   the player refused, or nobody can know if it did it
  2   wrong use, an unknown name, or a wrong configuration
  75  the player is not reached
"""


@click.group("music", short_help="What plays, and the buttons.")
def command() -> None:
    """Show what plays and press the buttons. Positions in the queue count from 1."""


command.add_command(_music_usb.group)


def _button(name: str, short_help: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function; its help ends with the exit statuses."""

    def made(function: Callable[..., None]) -> click.Command:
        text = inspect.cleandoc(function.__doc__ or "") + _STATUSES
        settings = {"ignore_unknown_options": True}  # -10 is a number
        return command.command(name, help=text, short_help=short_help, context_settings=settings)(
            config_option(function)
        )

    return made


@_button("status", "Say what plays.")
@json_option
def status(config: Path, as_json: bool) -> None:
    """Say what plays, in one line."""
    state = _with_player(config, lambda player: player.state())
    click.echo(json.dumps(dataclasses.asdict(state)) if as_json else _line(state))


@_button("play", "Play, or go on.")
@click.argument("number", type=click.IntRange(min=1), required=False, metavar="[N]")
def play(config: Path, number: int | None) -> None:
    """Go on, or play track N of the queue."""
    _press(config, lambda player: player.play(None if number is None else number - 1))


@_button("pause", "Pause.")
def pause(config: Path) -> None:
    """Pause; nothing happens unless it plays."""
    _press(config, lambda player: player.pause())


@_button("toggle", "Pause if it plays, else play.")
def toggle(config: Path) -> None:
    """Pause if it plays, else play."""
    _press(config, lambda player: player.toggle())


@_button("next", "Go to the next track.")
def next_(config: Path) -> None:
    """Go to the next track."""
    _press(config, lambda player: player.next())


@_button("previous", "Go to the previous track.")
def previous(config: Path) -> None:
    """Go to the previous track."""
    _press(config, lambda player: player.previous())


@_button("stop", "Stop.")
def stop(config: Path) -> None:
    """Stop."""
    _press(config, lambda player: player.stop())


@_button("volume", "Say or set the volume.")
@click.argument("level", required=False, metavar="[N|+N|-N]")
def volume(config: Path, level: str | None) -> None:
    """Set the volume to N, 0 to 100, or change it by +N or -N, no further than it goes. Without N, say it."""
    if level is not None and not re.fullmatch(r"[+-]\d{1,9}|0?\d{1,2}|100", level):
        raise click.UsageError(f"{level!r} is no volume; write 0 to 100, or a change such as +5 or -5")

    async def turn(player: Player) -> int | None:
        if level is None or level[0] in "+-":
            now = (await player.state()).volume
            if level is None:
                return now
            if now is None:
                raise Refused("the player has no mixer, so it has no volume to change")
            wanted = min(100, max(0, now + int(level)))
        else:
            wanted = int(level)
        await player.set_volume(wanted)
        return wanted

    loud = _with_player(config, turn)
    click.echo("the player has no mixer" if loud is None else f"volume {loud}%")


@_button("seek", "Go to another place in the track.")
@click.argument("place", metavar="[+|-]TIME")
def seek(config: Path, place: str) -> None:
    """Go to TIME from the start of the track, or by +TIME or -TIME from here. TIME is 90, 1:30 or 1:02:03."""
    match = re.fullmatch(r"([+-]?)(?:(?:(\d+):)?(\d{1,2}):)?(\d+(?:\.\d+)?)", place)
    if match is None:
        raise click.UsageError(f"{place!r} is no time; write seconds or m:ss such as 1:30, or a step such as +10")
    sign, hours, minutes, seconds = match.groups()
    wanted = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds)

    async def go(player: Player) -> None:
        here = (await player.state()).elapsed or 0.0 if sign else 0.0
        await player.seek(here - wanted if sign == "-" else here + wanted)

    _press(config, go)


@_button("queue", "List what plays next.")
@json_option
def queue(config: Path, as_json: bool) -> None:
    """List the queue; > marks the current track."""
    state, tracks = _with_player(config, _whole_queue)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(track) for track in tracks]))
        return
    current = state.track.id if state.track else None
    rows = [
        (">" if track.id == current else " ", str(number), track.label, track.artist, _time(track.duration))
        for number, track in enumerate(tracks, start=1)
    ]
    click.echo(table((" ", "N", "TITLE", "ARTIST", "TIME"), rows) if rows else "the queue is empty")


@_button("add", "Put something at the end of the queue.")
@click.argument("uris", nargs=-1, required=True, metavar="URI...")
def add(config: Path, uris: tuple[str, ...]) -> None:
    """Put files or folders of the library, or streams, at the end of the queue."""

    async def add_all(player: Player) -> None:
        for uri in uris:
            click.echo(f"added {(await player.add(uri)).label}")

    _with_player(config, add_all)


@_button("clear", "Empty the queue.")
def clear(config: Path) -> None:
    """Empty the queue."""
    _press(config, lambda player: player.clear())


@_button("stations", "List the web radio stations.")
@json_option
def stations(config: Path, as_json: bool) -> None:
    """List the web radio stations of the configuration."""
    known = load_stations(load(config).stations)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(station) for station in known]))
    elif known:
        rows = [(station.name, station.genre, station.country, station.url) for station in known]
        click.echo(table(("NAME", "GENRE", "COUNTRY", "URL"), rows))
    else:
        click.echo("there are no stations; name a file of them under `stations:` in the configuration")


@_button("play-station", "Play a web radio station.")
@click.argument("name", nargs=-1, required=True)
def play_station(config: Path, name: tuple[str, ...]) -> None:
    """Replace the queue by the station NAME and play it. A part of its name will do; capitals do not count."""
    station = _station(" ".join(name), load_stations(load(config).stations))
    _press(config, lambda player: player.play_uri(station.url, station.name))


def _station(name: str, known: Sequence[Station]) -> Station:
    """Return the station called NAME, else the only one whose name has NAME in it. Raises UnknownName, UsageError."""
    wanted = name.casefold()
    found = [each for each in known if each.name.casefold() == wanted]
    found = found or [each for each in known if wanted in each.name.casefold()]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(each.name for each in found)
        raise click.UsageError(f"{len(found)} stations have {name!r} in their name: {names}; say more of it")
    raise UnknownName("station", name, [each.name for each in known])


def _press(config: Path, button: Callable[[Player], Awaitable[None]]) -> None:
    """Do one thing and say what plays then."""

    async def pressed(player: Player) -> PlayerState:
        await button(player)
        return await player.state()

    click.echo(_line(_with_player(config, pressed)))


def _with_player(config: Path, work: Callable[[Player], Awaitable[T]]) -> T:
    settings = load(config)
    known = secrets.load(settings.path, os.environ)
    address = getattr(settings.player and settings.player.with_, "address", "its address")

    def tell(_: str) -> None:  # all of why stands on the page and in the log; here it would come with each button
        click.echo(f"MPD at {address} is not reached; this is the silent stand-in", err=True)

    async def worked() -> T:
        player = await open_player(settings.player, settings.state, known, tell=tell)
        try:
            return await work(player)
        finally:
            await player.close()

    return asyncio.run(worked())


async def _whole_queue(player: Player) -> tuple[PlayerState, list[Track]]:
    tracks: list[Track] = []
    window: Queue | None = None
    while window is None or (window.tracks and len(tracks) < window.length):
        window = await player.queue(len(tracks), WINDOW)
        tracks += window.tracks
    return await player.state(), tracks


def _line(state: PlayerState) -> str:
    words = {Play.PLAYING: "playing", Play.PAUSED: "paused", Play.STOPPED: "stopped"}
    parts = [words[state.play]]
    if (track := state.track) is not None:
        parts[0] += f": {f'{track.artist} - ' if track.artist else ''}{track.label}"
        parts.append(f"{(track.position or 0) + 1} of {state.queue_length}")
        if state.elapsed is not None:
            parts.append(f"{_time(state.elapsed)}{f'/{_time(track.duration)}' if track.duration else ''}")
    else:
        parts.append(f"{state.queue_length} in the queue" if state.queue_length else "the queue is empty")
    if state.volume is not None:
        parts.append(f"volume {state.volume}%")
    flags: dict[str, Any] = {name: getattr(state, name) for name in ("repeat", "random", "single", "consume")}
    parts += [name for name, on in flags.items() if on]
    return ", ".join(parts) + (f"; {state.error}" if state.error else "")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
