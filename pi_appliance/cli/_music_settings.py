"""pi-appliance music repeat, random, single, consume, crossfade, gain, abilities: how it is set, and what it can."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from pi_appliance.cli._music_group import button
from pi_appliance.cli._music_session import ask, press
from pi_appliance.cli._options import Number, json_option
from pi_appliance.config.load import load
from pi_appliance.model.music import Can, Gain, Mode, PlayerState
from pi_appliance.ports_player import Player
from pi_appliance.reports.as_text import table

_ON_OFF = click.Choice(["on", "off"])
_MODES = click.Choice([str(mode) for mode in Mode])
_MEANINGS = {
    Can.VOLUME: "set the volume",
    Can.MUTE: "mute by itself; the others are muted by their volume",
    Can.SEEK: "go to a place in a track",
    Can.SINGLE: "stop after each track",
    Can.CONSUME: "take what was played out of the queue",
    Can.CROSSFADE: "let tracks overlap",
    Can.REPLAY_GAIN: "make the loudness of tracks even",
    Can.OUTPUTS: "switch where sound comes out",
    Can.NEXT: "put something right behind the current track",
    Can.MOVE: "move tracks in the queue",
    Can.REMOVE: "take tracks out of the queue",
    Can.SHUFFLE: "put the queue into a random order",
    Can.SAVE: "save the queue as a playlist",
    Can.PLAYLISTS: "list and play playlists",
    Can.EDIT_PLAYLISTS: "change playlists",
    Can.FOLDERS: "list the folders of the library",
    Can.TAGS: "list artists, albums and genres",
    Can.SEARCH: "search the library",
    Can.STICKERS: "keep ratings and favourites by itself; the appliance keeps those of the others",
    Can.ART: "give pictures of albums",
    Can.UPDATE: "look for what is new in the library",
    Can.PARTITIONS: "be several players at once",
}


@button("repeat", "Begin again at the end of the queue, or not.")
@click.argument("how", type=_ON_OFF, required=False)
def repeat(config: Path, how: str | None) -> None:
    """Begin again at the end of the queue, or not. Without a word, say how it is."""
    _mode(config, "repeat", how, lambda player: player.set_modes(repeat=how == "on"))


@button("random", "Play in a random order, or not.")
@click.argument("how", type=_ON_OFF, required=False)
def random(config: Path, how: str | None) -> None:
    """Play the queue in a random order, or not. Without a word, say how it is."""
    _mode(config, "random", how, lambda player: player.set_modes(random=how == "on"))


@button("single", "Stop after each track, or not.")
@click.argument("how", type=_MODES, required=False)
def single(config: Path, how: str | None) -> None:
    """Stop after each track (with repeat: play it again), or after this one (once). Without a word, say how it is."""
    _mode(config, "single", how, lambda player: player.set_modes(single=Mode(how or "")))


@button("consume", "Take what was played out of the queue, or not.")
@click.argument("how", type=_MODES, required=False)
def consume(config: Path, how: str | None) -> None:
    """Take tracks out of the queue as they were played, or only this one (once). Without a word, say how it is."""
    _mode(config, "consume", how, lambda player: player.set_modes(consume=Mode(how or "")))


@button("crossfade", "Let tracks overlap.", numbers=True)
@click.argument("seconds", type=Number(0, 60), required=False)
def crossfade(config: Path, seconds: int | None) -> None:
    """Let tracks overlap by so many SECONDS; 0: not. Without a number, say how it is."""
    if seconds is None:
        click.echo(f"crossfade {_state(config).crossfade} s")
    else:
        press(load(config), lambda player: player.set_crossfade(seconds))


@button("gain", "Make the loudness of tracks even.")
@click.argument("by", type=click.Choice([str(gain) for gain in Gain]), required=False)
def gain(config: Path, by: str | None) -> None:
    """Make the loudness even by the ReplayGain that is in the files. Without a word, say how it is."""
    if by is None:
        click.echo(f"gain {_state(config).replay_gain}")
    else:
        press(load(config), lambda player: player.set_replay_gain(Gain(by)))


@button("abilities", "Say what this player can.")
@json_option
def abilities(config: Path, as_json: bool) -> None:
    """Say what the player can, as it is set up now, and what not."""
    can = ask(load(config), lambda player: player.abilities())
    if as_json:
        click.echo(json.dumps({str(each): each in can for each in Can}))
        return
    rows = [("yes" if each in can else "no", str(each), _MEANINGS[each]) for each in Can]
    click.echo(table(("CAN", "ABILITY", "WHAT IT IS"), rows))


def _mode(config: Path, name: str, how: str | None, change: Callable[[Player], Awaitable[None]]) -> None:
    if how is not None:
        press(load(config), change)
        return
    now = getattr(_state(config), name)
    click.echo(f"{name} {now if isinstance(now, Mode) else 'on' if now else 'off'}")


def _state(config: Path) -> PlayerState:
    return ask(load(config), lambda player: player.state())
