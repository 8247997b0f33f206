"""pi-appliance music playlists: saved lists, and what is in them."""

import dataclasses
import json
from datetime import datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import _music_lists, _music_sources
from pi_appliance.cli._music_group import button, lists
from pi_appliance.cli._music_lists import Wish, list_options
from pi_appliance.cli._music_session import ask, press
from pi_appliance.cli._music_sources import source_arguments
from pi_appliance.cli._music_text import entry_row, plain
from pi_appliance.cli._options import Number, json_option
from pi_appliance.config.load import load
from pi_appliance.core.sources import describe
from pi_appliance.errors import Refused
from pi_appliance.model.music import Playlist, Saved, Wanted, Where
from pi_appliance.ports_player import Player
from pi_appliance.reports.as_text import instant, table

_playlists = lists("playlists", "Saved lists, and what is in them.")
_NUMBER = Number(min=1)


@button("list", "List the playlists.", group=_playlists)
@json_option
def list_(config: Path, as_json: bool) -> None:
    """List the playlists, and when each was changed."""
    settings = load(config)
    found = ask(settings, lambda player: player.playlists())
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in found]))
    elif found:
        rows = [(plain(each.name), _changed(each, settings.time_zone)) for each in found]
        click.echo(table(("NAME", "CHANGED"), rows))
    else:
        click.echo("there are no playlists; pi-appliance music save NAME keeps the queue as one")


def _changed(each: Playlist, zone: ZoneInfo) -> str:
    return instant(datetime.fromisoformat(each.changed), zone) if each.changed else "-"


@button("show", "List what is in a playlist.", group=_playlists)
@click.argument("name")
@list_options
def show(config: Path, name: str, wish: Wish) -> None:
    """List what is in the playlist NAME."""

    async def listed(player: Player) -> None:
        await _music_lists.tell(
            wish,
            partial(player.playlist, name),
            ("N", "KIND", "NAME", "ARTIST", "TIME", "FILE"),
            lambda number, entry: (str(number), *entry_row(entry)),
            empty=f"the playlist {plain(name)} is empty",
        )

    ask(load(config), listed)


@button("play", "Play a playlist.", group=_playlists)
@click.argument("name")
def play(config: Path, name: str) -> None:
    """Play the playlist NAME instead of all that is in the queue."""
    press(load(config), lambda player: player.add(Saved(playlist=name), Where.INSTEAD, play=True))


@button("add", "Put something at the end of a playlist.", group=_playlists)
@click.argument("name")
@source_arguments
def add(config: Path, name: str, words: tuple[str, ...], wanted: Wanted) -> None:
    """Put each SOURCE, as for `music add`, at the end of the playlist NAME, which is made if it is not there."""
    settings = load(config)
    wishes = _music_sources.read(settings, words, wanted)

    async def added(player: Player) -> None:
        for source in wishes:
            await player.playlist_add(name, source)
            click.echo(f"added {plain(describe(source))} to {plain(name)}")

    ask(settings, added)


@button("remove", "Take entries out of a playlist.", group=_playlists)
@click.argument("name")
@click.argument("numbers", nargs=-1, required=True, type=_NUMBER, metavar="N...")
def remove(config: Path, name: str, numbers: tuple[int, ...]) -> None:
    """Take the entries N, as `show` counts them, out of the playlist NAME."""
    positions = {number - 1 for number in numbers}

    async def removed(player: Player) -> None:
        await _check(player, name, *positions)
        await player.playlist_remove(name, positions)

    ask(load(config), removed)
    click.echo(f"removed {len(positions)} {'entry' if len(positions) == 1 else 'entries'} from {plain(name)}")


@button("move", "Move an entry of a playlist.", group=_playlists)
@click.argument("name")
@click.argument("number", type=_NUMBER, metavar="FROM")
@click.argument("to", type=_NUMBER, metavar="TO")
def move(config: Path, name: str, number: int, to: int) -> None:
    """Move entry FROM of the playlist NAME to place TO."""

    async def moved(player: Player) -> None:
        await _check(player, name, number - 1, to - 1)
        await player.playlist_move(name, number - 1, to - 1)

    ask(load(config), moved)
    click.echo(f"moved {number} to {to} in {plain(name)}")


@button("rename", "Call a playlist otherwise.", group=_playlists)
@click.argument("name")
@click.argument("to")
def rename(config: Path, name: str, to: str) -> None:
    """Call the playlist NAME otherwise: TO."""
    ask(load(config), lambda player: player.rename_playlist(name, to))
    click.echo(f"{plain(name)} is now {plain(to)}")


@button("delete", "Delete a playlist.", group=_playlists)
@click.argument("name")
def delete(config: Path, name: str) -> None:
    """Delete the playlist NAME. The tracks stay in the library."""
    ask(load(config), lambda player: player.delete_playlist(name))
    click.echo(f"deleted {plain(name)}")


async def _check(player: Player, name: str, *positions: int) -> None:
    """Raise Refused, in positions as people count them, if one of POSITIONS is not in the playlist NAME."""
    for position in sorted(positions):
        if not (await player.playlist(name, position, 1)).items:
            raise Refused(f"there is no entry {position + 1} in the playlist {name!r}")
