"""pi-appliance music repeat, random, single, consume, crossfade, gain, abilities: how it is set, and what it can."""

import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click

from pi_appliance.cli.terminal import Number, format_table, json_option
from pi_appliance.config.loader import load_config
from pi_appliance.errors import Refused, UnknownName
from pi_appliance.music.cli import player_text
from pi_appliance.music.cli.group import music_command, music_group
from pi_appliance.music.cli.player_text import plain
from pi_appliance.music.cli.session import DEFAULT, partition_of, query, remember_partition, run_command
from pi_appliance.music.model import Capability, Mode, Output, Partition, PlayerState, ReplayGainMode, TrackRating
from pi_appliance.music.player import Player

_ON_OFF = click.Choice(["on", "off"])
_MODES = click.Choice([str(mode) for mode in Mode])
_MEANINGS = {
    Capability.VOLUME: "set the volume",
    Capability.MUTE: "mute by itself; the others are muted by their volume",
    Capability.SEEK: "go to a place in a track",
    Capability.SINGLE: "stop after each track",
    Capability.CONSUME: "take what was played out of the queue",
    Capability.CROSSFADE: "let tracks overlap",
    Capability.REPLAY_GAIN: "make the loudness of tracks even",
    Capability.OUTPUTS: "switch where sound comes out",
    Capability.NEXT: "put something right behind the current track",
    Capability.MOVE: "move tracks in the queue",
    Capability.REMOVE: "take tracks out of the queue",
    Capability.SHUFFLE: "put the queue into a random order",
    Capability.SAVE: "save the queue as a playlist",
    Capability.PLAYLISTS: "list and play playlists",
    Capability.EDIT_PLAYLISTS: "change playlists",
    Capability.FOLDERS: "list the folders of the library",
    Capability.TAGS: "list artists, albums and genres",
    Capability.SEARCH: "search the library",
    Capability.STICKERS: "keep ratings and favourites by itself; the appliance keeps those of the others",
    Capability.ART: "give pictures of albums",
    Capability.UPDATE: "look for what is new in the library",
    Capability.PARTITIONS: "be several players at once",
}


@music_command("repeat", "Begin again at the end of the queue, or not.")
@click.argument("how", type=_ON_OFF, required=False)
def repeat(config: Path, how: str | None) -> None:
    """Begin again at the end of the queue, or not. Without a word, say how it is."""
    _mode(config, "repeat", how, lambda player: player.set_modes(repeat=how == "on"))


@music_command("random", "Play in a random order, or not.")
@click.argument("how", type=_ON_OFF, required=False)
def random(config: Path, how: str | None) -> None:
    """Play the queue in a random order, or not. Without a word, say how it is."""
    _mode(config, "random", how, lambda player: player.set_modes(random=how == "on"))


@music_command("single", "Stop after each track, or not.")
@click.argument("how", type=_MODES, required=False)
def single(config: Path, how: str | None) -> None:
    """Stop after each track (with repeat: play it again), or after this one (once). Without a word, say how it is."""
    _mode(config, "single", how, lambda player: player.set_modes(single=Mode(how or "")))


@music_command("consume", "Take what was played out of the queue, or not.")
@click.argument("how", type=_MODES, required=False)
def consume(config: Path, how: str | None) -> None:
    """Take tracks out of the queue as they were played, or only this one (once). Without a word, say how it is."""
    _mode(config, "consume", how, lambda player: player.set_modes(consume=Mode(how or "")))


@music_command("crossfade", "Let tracks overlap.", numbers=True)
@click.argument("seconds", type=Number(0, 60), required=False)
def crossfade(config: Path, seconds: int | None) -> None:
    """Let tracks overlap by so many SECONDS; 0: not. Without a number, say how it is."""
    if seconds is None:
        click.echo(f"crossfade {_state(config).crossfade} s")
    else:
        run_command(load_config(config), lambda player: player.set_crossfade(seconds))


@music_command("gain", "Make the loudness of tracks even.")
@click.argument("by", type=click.Choice([str(gain) for gain in ReplayGainMode]), required=False)
def gain(config: Path, by: str | None) -> None:
    """Make the loudness even by the ReplayGain that is in the files. Without a word, say how it is."""
    if by is None:
        click.echo(f"gain {_state(config).replay_gain}")
    else:
        run_command(load_config(config), lambda player: player.set_replay_gain(ReplayGainMode(by)))


@music_command("abilities", "Say what this player can.")
@json_option
def abilities(config: Path, as_json: bool) -> None:
    """Say what the player can, as it is set up now, and what not."""
    can = query(load_config(config), lambda player: player.capabilities())
    if as_json:
        click.echo(json.dumps({str(each): each in can for each in Capability}))
        return
    rows = [("yes" if each in can else "no", str(each), _MEANINGS[each]) for each in Capability]
    click.echo(format_table(("CAN", "ABILITY", "WHAT IT IS"), rows))


def _mode(config: Path, name: str, how: str | None, change: Callable[[Player], Awaitable[None]]) -> None:
    if how is not None:
        run_command(load_config(config), change)
        return
    now = getattr(_state(config), name)
    click.echo(f"{name} {now if isinstance(now, Mode) else 'on' if now else 'off'}")


def _state(config: Path) -> PlayerState:
    return query(load_config(config), lambda player: player.state())


@music_command("status", "Say what plays.")
@json_option
def status(config: Path, as_json: bool) -> None:
    """Say what plays, and how: in one line, and below it what more is known of the track."""

    async def asked(player: Player) -> tuple[PlayerState, TrackRating]:
        state = await player.state()
        if as_json or state.track is None:
            return state, TrackRating()
        uri = state.track.uri
        return state, (await player.ratings([uri])).get(uri, TrackRating())

    state, opinion = query(load_config(config), asked)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(state)))
        return
    click.echo(player_text.line(state))
    for name, text in player_text.details(state, opinion):
        click.echo(f"  {name:<9}  {text}")


@music_command("play", "Play, or go on.")
@click.argument("number", type=Number(min=1), required=False, metavar="[N]")
def play(config: Path, number: int | None) -> None:
    """Go on, or play track N of the queue."""
    run_command(load_config(config), lambda player: player.play(None if number is None else number - 1))


@music_command("pause", "Pause.")
def pause(config: Path) -> None:
    """Pause; nothing happens unless it plays."""
    run_command(load_config(config), lambda player: player.pause())


@music_command("toggle", "Pause if it plays, else play.")
def toggle(config: Path) -> None:
    """Pause if it plays, else play."""
    run_command(load_config(config), lambda player: player.toggle())


@music_command("next", "Go to the next track.")
def next_(config: Path) -> None:
    """Go to the next track."""
    run_command(load_config(config), lambda player: player.next())


@music_command("previous", "Go to the previous track.")
def previous(config: Path) -> None:
    """Go to the previous track."""
    run_command(load_config(config), lambda player: player.previous())


@music_command("stop", "Stop.")
def stop(config: Path) -> None:
    """Stop."""
    run_command(load_config(config), lambda player: player.stop())


@music_command("seek", "Go to another place in the track.", numbers=True)
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

    run_command(load_config(config), go)


@music_command("volume", "Say or set the volume.", numbers=True)
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

    loud, wanted = query(load_config(config), turn)
    most = ", as loud as is allowed now" if loud is not None and loud < wanted else ""
    click.echo("the player has no mixer" if loud is None else f"volume {loud}%{most}")


async def _wanted(player: Player, level: str) -> int:
    if level[0] not in "+-":
        return int(level)
    now = (await player.state()).volume
    if now is None:
        raise Refused("the player has no mixer, so it has no volume to change")
    return min(100, max(0, now + int(level)))


@music_command("mute", "Be silent for a while.")
def mute(config: Path) -> None:
    """Be silent; the music goes on, and unmute makes it as loud as before."""
    run_command(load_config(config), lambda player: player.set_mute(True))


@music_command("unmute", "Be as loud as before.")
def unmute(config: Path) -> None:
    """Be as loud as before mute."""
    run_command(load_config(config), lambda player: player.set_mute(False))


_partitions = music_group("partitions", "Players within the player: a queue, a volume and outputs of their own.")


@music_command("list", "List the partitions.", group=_partitions)
@json_option
def list_(config: Path, as_json: bool) -> None:
    """List the partitions of the player; > marks the one that these commands speak of."""
    settings = load_config(config)
    found = query(settings, lambda player: player.list_partitions(), anywhere=True)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in found]))
        return
    used = partition_of(settings)
    click.echo(format_table((" ", "NAME"), [(">" if each.name == used else " ", plain(each.name)) for each in found]))


@music_command("new", "Make a partition.", group=_partitions)
@click.argument("name")
def new(config: Path, name: str) -> None:
    """Make the partition NAME. It has no outputs yet: move-output gives it some."""
    query(load_config(config), lambda player: player.create_partition(name), anywhere=True)
    click.echo(f"made the partition {plain(name)}")


@music_command("use", "Speak of another partition from now on.", group=_partitions)
@click.argument("name")
def use(config: Path, name: str) -> None:
    """Let all commands of `music` speak of the partition NAME from now on; `default` is the one there always is."""
    settings = load_config(config)
    if name != DEFAULT:
        _require(query(settings, lambda player: player.list_partitions(), anywhere=True), name)
    remember_partition(settings, name)
    click.echo(f"the commands speak of the partition {plain(name)} now")


@music_command("delete", "Delete a partition.", group=_partitions)
@click.argument("name")
def delete(config: Path, name: str) -> None:
    """Delete the partition NAME, which must have no outputs. If the commands speak of it, they go back to default."""
    settings = load_config(config)
    query(settings, lambda player: player.delete_partition(name), anywhere=True)
    if partition_of(settings) == name:
        remember_partition(settings, DEFAULT)
    click.echo(f"deleted the partition {plain(name)}")


@music_command("move-output", "Move an output into a partition.", group=_partitions)
@click.argument("output")
@click.option("--to", "name", metavar="PARTITION", help="Into this one; else into the one the commands speak of.")
def move_output(config: Path, output: str, name: str | None) -> None:
    """Move the output called OUTPUT, from whichever partition it is in."""
    settings = load_config(config)
    target = partition_of(settings) if name is None else name

    async def moved(player: Player) -> None:
        _require(await player.list_partitions(), target)
        await player.use_partition(target)
        await player.move_output(output)

    query(settings, moved, anywhere=True)
    click.echo(f"{plain(output)} is in the partition {plain(target)} now")


def _require(known: Sequence[Partition], name: str) -> None:
    """Raise UnknownName if NAME is none of KNOWN."""
    names = [each.name for each in known]
    if name not in names:
        raise UnknownName("partition", name, names)


_outputs = music_group("outputs", "Where sound comes out.")
_HEAD = ("N", "NAME", "SOUNDS", "PLUGIN")


@music_command("list", "List where sound comes out.", group=_outputs)
@json_option
def list_outputs(config: Path, as_json: bool) -> None:
    """List the outputs of the player, and which of them sound."""
    _tell(query(load_config(config), lambda player: player.list_outputs()), as_json=as_json)


@music_command("on", "Let an output sound.", group=_outputs)
@click.argument("name", nargs=-1, required=True)
def on(config: Path, name: tuple[str, ...]) -> None:
    """Let the output NAME sound; its number in the list will do too."""
    _switch(config, " ".join(name), on=True)


@music_command("off", "Silence an output.", group=_outputs)
@click.argument("name", nargs=-1, required=True)
def off(config: Path, name: tuple[str, ...]) -> None:
    """Silence the output NAME; its number in the list will do too."""
    _switch(config, " ".join(name), on=False)


def _switch(config: Path, name: str, *, on: bool) -> None:
    async def switched(player: Player) -> Sequence[Output]:
        await player.set_output(_named(await player.list_outputs(), name).id, on)
        return await player.list_outputs()

    _tell(query(load_config(config), switched), as_json=False)


def _named(known: Sequence[Output], name: str) -> Output:
    """Return the output called NAME, capitals aside, else the one of that number from 1. Raises UnknownName."""
    found = [each for each in known if each.name.casefold() == name.casefold()]
    if not found and name.isdecimal() and 1 <= int(name) <= len(known):
        found = [known[int(name) - 1]]
    if not found:
        raise UnknownName("output", name, [each.name for each in known])
    return found[0]


def _tell(found: Sequence[Output], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in found]))
    elif found:
        rows = [
            (str(number), plain(each.name), "yes" if each.enabled else "no", each.plugin)
            for number, each in enumerate(found, start=1)
        ]
        click.echo(format_table(_HEAD, rows))
    else:
        click.echo("the player has no outputs here")
