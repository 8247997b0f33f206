"""pi-appliance music status, play, pause, …, seek, volume, mute: the buttons."""

import dataclasses
import json
import re
from pathlib import Path

import click

from pi_appliance.cli import _music_text
from pi_appliance.cli._music_group import button
from pi_appliance.cli._music_session import ask, press
from pi_appliance.cli._options import Number, json_option
from pi_appliance.config.load import load
from pi_appliance.errors import Refused
from pi_appliance.model.music import Opinion, PlayerState
from pi_appliance.ports_player import Player


@button("status", "Say what plays.")
@json_option
def status(config: Path, as_json: bool) -> None:
    """Say what plays, and how: in one line, and below it what more is known of the track."""

    async def asked(player: Player) -> tuple[PlayerState, Opinion]:
        state = await player.state()
        if as_json or state.track is None:
            return state, Opinion()
        uri = state.track.uri
        return state, (await player.opinions([uri])).get(uri, Opinion())

    state, opinion = ask(load(config), asked)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(state)))
        return
    click.echo(_music_text.line(state))
    for name, text in _music_text.details(state, opinion):
        click.echo(f"  {name:<9}  {text}")


@button("play", "Play, or go on.")
@click.argument("number", type=Number(min=1), required=False, metavar="[N]")
def play(config: Path, number: int | None) -> None:
    """Go on, or play track N of the queue."""
    press(load(config), lambda player: player.play(None if number is None else number - 1))


@button("pause", "Pause.")
def pause(config: Path) -> None:
    """Pause; nothing happens unless it plays."""
    press(load(config), lambda player: player.pause())


@button("toggle", "Pause if it plays, else play.")
def toggle(config: Path) -> None:
    """Pause if it plays, else play."""
    press(load(config), lambda player: player.toggle())


@button("next", "Go to the next track.")
def next_(config: Path) -> None:
    """Go to the next track."""
    press(load(config), lambda player: player.next())


@button("previous", "Go to the previous track.")
def previous(config: Path) -> None:
    """Go to the previous track."""
    press(load(config), lambda player: player.previous())


@button("stop", "Stop.")
def stop(config: Path) -> None:
    """Stop."""
    press(load(config), lambda player: player.stop())


@button("seek", "Go to another place in the track.", numbers=True)
@click.argument("place", metavar="[+|-]TIME")
def seek(config: Path, place: str) -> None:
    """Go to TIME from the start of the track, or by +TIME or -TIME from here. TIME is 90, 1:30 or 1:02:03."""
    match = re.fullmatch(r"([+-]?)(?:(?:(\d+):)?(\d{1,2}):)?(\d+(?:\.\d+)?)", place)
    if match is None or (match[3] and float(match[4]) >= 60):
        raise click.UsageError(f"{place!r} is no time; write seconds or m:ss such as 1:30, or a step such as +10")
    sign, hours, minutes, seconds = match.groups()
    wanted = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds)

    async def go(player: Player) -> None:
        here = (await player.state()).elapsed or 0.0 if sign else 0.0
        await player.seek(max(0.0, here - wanted) if sign == "-" else here + wanted)

    press(load(config), go)


@button("volume", "Say or set the volume.", numbers=True)
@click.argument("level", required=False, metavar="[N|+N|-N]")
def volume(config: Path, level: str | None) -> None:
    """Set the volume to N, 0 to 100, or change it by +N or -N, no further than it goes. Without N, say it."""
    if level is not None and not re.fullmatch(r"[+-]\d{1,9}|0?\d{1,2}|100", level):
        raise click.UsageError(f"{level!r} is no volume; write 0 to 100, or a change such as +5 or -5")

    async def turn(player: Player) -> tuple[int | None, int]:
        wanted = 0
        if level is not None:
            wanted = await _wanted(player, level)
            await player.set_volume(wanted)
        return (await player.state()).volume, wanted

    loud, wanted = ask(load(config), turn)
    most = ", as loud as is allowed now" if loud is not None and loud < wanted else ""
    click.echo("the player has no mixer" if loud is None else f"volume {loud}%{most}")


async def _wanted(player: Player, level: str) -> int:
    if level[0] not in "+-":
        return int(level)
    now = (await player.state()).volume
    if now is None:
        raise Refused("the player has no mixer, so it has no volume to change")
    return min(100, max(0, now + int(level)))


@button("mute", "Be silent for a while.")
def mute(config: Path) -> None:
    """Be silent; the music goes on, and unmute makes it as loud as before."""
    press(load(config), lambda player: player.set_mute(True))


@button("unmute", "Be as loud as before.")
def unmute(config: Path) -> None:
    """Be as loud as before mute."""
    press(load(config), lambda player: player.set_mute(False))
