"""pi-appliance music queue, add, insert, play-now, move, remove, clear, shuffle, save: what plays next."""

import dataclasses
import json
import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli.terminal import Number, format_instant, format_table, json_option
from pi_appliance.config.loader import load_config
from pi_appliance.errors import Refused
from pi_appliance.music.cli import library, sources
from pi_appliance.music.cli import sources as _music_sources
from pi_appliance.music.cli.group import music_command, music_group
from pi_appliance.music.cli.library import PageOptions, list_options
from pi_appliance.music.cli.player_text import entry_row, plain, track_row
from pi_appliance.music.cli.session import query, run_command, track_at
from pi_appliance.music.cli.sources import source_arguments
from pi_appliance.music.model import (
    AddResult,
    LibraryFilter,
    Page,
    Playlist,
    Queue,
    QueuePosition,
    SavedPlaylist,
    Source,
    Track,
)
from pi_appliance.music.player import Player
from pi_appliance.music.sources import describe_source

_STEP = 500  # tracks asked for at a time
_PLACES = click.Choice([str(where) for where in QueuePosition])


@music_command("queue", "List what plays next.")
@list_options
def queue(config: Path, wish: PageOptions) -> None:
    """List the queue; > marks the current track."""

    async def listed(player: Player) -> None:
        current = (await player.state()).track

        def row(number: int, track: Track) -> Sequence[str]:
            here = current is not None and track.id == current.id
            return (">" if here else " ", str(number), *track_row(track))

        await library.tell(wish, lambda *part: _window(player, *part), _HEAD, row, empty="the queue is empty")

    query(load_config(config), listed)


_HEAD = (" ", "N", "TITLE", "ARTIST", "ALBUM", "TIME", "FILE")


async def _window(player: Player, start: int, count: int) -> Page[Track]:
    part = await player.list_queue(start, count)
    more = part.start + len(part.tracks) < part.length
    return Page(items=part.tracks, start=part.start, length=part.length, has_more=more)


@music_command("add", "Put something into the queue.")
@source_arguments
@click.option("--to", "where", type=_PLACES, default="end", show_default=True, help="Where, or instead of all.")
@click.option("--play", is_flag=True, help="And play it.")
def add(config: Path, words: tuple[str, ...], wanted: LibraryFilter, where: str, play: bool) -> None:
    """Put each SOURCE into the queue: at its end, behind the current track (next), or instead of all that is there.

    SOURCE is a station, playlist:NAME, album:NAME, artist:NAME, genre:NAME, search:WORDS, an address, a file or a
    folder of the library. With --artist, --album and --genre together: what is of all of them.
    """
    _add(config, words, wanted, QueuePosition(where), play=play)


@music_command("insert", "Put something behind the current track.")
@source_arguments
def insert(config: Path, words: tuple[str, ...], wanted: LibraryFilter) -> None:
    """Put each SOURCE, as for add, behind the current track, in the order you give."""
    _add(config, words, wanted, QueuePosition.NEXT, play=False)


@music_command("play-now", "Play something instead of the queue.")
@source_arguments
def play_now(config: Path, words: tuple[str, ...], wanted: LibraryFilter) -> None:
    """Play each SOURCE, as for add, instead of all that is in the queue."""
    _add(config, words, wanted, QueuePosition.REPLACE, play=True)


def _add(config: Path, words: Sequence[str], wanted: LibraryFilter, where: QueuePosition, *, play: bool) -> None:
    settings = load_config(config)
    wishes = _music_sources.read(settings, words, wanted)

    async def added(player: Player) -> None:
        for source, to, plays in _in_turn(wishes, where, play=play):
            with _music_sources.hints(settings, source):
                came = await player.add_source(source, to, play=plays)
            click.echo(_told(came, to, play=plays))

    query(settings, added)


def _in_turn(
    sources: Sequence[Source], where: QueuePosition, *, play: bool
) -> list[tuple[Source, QueuePosition, bool]]:
    """Return SOURCES in the order in which they are to be added, so that they come to stand in the order given."""
    first, *others = sources
    if where is not QueuePosition.NEXT:  # what comes instead of all comes once; the others go behind it
        return [(first, where, play), *((each, QueuePosition.END, False) for each in others)]
    return [*((each, QueuePosition.NEXT, False) for each in reversed(others)), (first, QueuePosition.NEXT, play)]


def _told(added: AddResult, where: QueuePosition, *, play: bool) -> str:
    place = f"at {added.position + 1}" if added.count == 1 else f"{added.count} tracks from {added.position + 1} on"
    if where is QueuePosition.NEXT:  # where it is now, what is added in front of it moves on
        place = "next" if added.count == 1 else f"{added.count} tracks, next"
    return f"{'playing' if play else 'added'} {plain(added.name)}, {place}"


@music_command("move", "Move a track of the queue.")
@click.argument("number", type=Number(min=1), metavar="FROM")
@click.argument("to", type=Number(min=1), metavar="TO")
def move(config: Path, number: int, to: int) -> None:
    """Move track FROM of the queue to place TO. What plays goes on."""

    async def moved(player: Player) -> Track:
        track = await track_at(player, number)
        await track_at(player, to)  # told in our words, as the other
        assert track.id is not None, "a track of the queue has an id"
        await player.move_track(track.id, to - 1)
        return track

    click.echo(f"moved {plain(query(load_config(config), moved).label)} to {to}")


@music_command("remove", "Take tracks out of the queue.")
@click.argument("which", nargs=-1, required=True, metavar="N|A-B...")
def remove(config: Path, which: tuple[str, ...]) -> None:
    """Take track N of the queue out, or those from A to B; 5- is all from the fifth on."""
    spans = [_span(each) for each in which]

    async def removed(player: Player) -> tuple[int, Queue]:
        before = await player.list_queue(0, 0)
        ids: set[int] = set()
        for start, end in spans:
            await track_at(player, start + 1)
            if end is not None and end > before.length:
                raise Refused(f"there is no track {end} in the queue; it ends with {before.length}")
            ids |= await _ids(player, start, before.length if end is None else end)
        await player.remove_tracks(ids)
        return len(ids), await player.list_queue(0, 0)

    count, left = query(load_config(config), removed)
    click.echo(f"removed {count} {'track' if count == 1 else 'tracks'}; {left.length} left in the queue")


def _span(text: str) -> tuple[int, int | None]:
    """Return where TEXT, such as 3, 3-5 or 3-, begins (from 0) and where it ends (not with it). Raises UsageError."""
    match = re.fullmatch(r"(\d{1,9})(-?)(\d{1,9})?", text, re.ASCII)
    if match is None or int(match[1]) < 1 or (match[3] and int(match[3]) < int(match[1])):
        raise click.UsageError(f"{text!r} is no track of the queue; write 3, 3-5 or 3-")
    first = int(match[1])
    return first - 1, int(match[3]) if match[3] else None if match[2] else first


async def _ids(player: Player, start: int, end: int) -> set[int]:
    found: set[int] = set()
    while start < end:
        part = await player.list_queue(start, min(_STEP, end - start))
        if not part.tracks:
            break
        found |= {track.id for track in part.tracks if track.id is not None}
        start += len(part.tracks)
    return found


@music_command("clear", "Empty the queue.")
def clear(config: Path) -> None:
    """Empty the queue."""
    run_command(load_config(config), lambda player: player.clear_queue())


@music_command("shuffle", "Put the queue into a random order.")
def shuffle(config: Path) -> None:
    """Put the queue into a random order, once and for all; `random` only plays it so."""
    run_command(load_config(config), lambda player: player.shuffle_queue())


@music_command("save", "Keep the queue as a playlist.")
@click.argument("name")
@click.option("--replace", is_flag=True, help="Instead of the playlist that has the name.")
def save(config: Path, name: str, replace: bool) -> None:
    """Keep the queue as the playlist NAME."""

    async def saved(player: Player) -> Queue:
        await player.save_queue(name, replace=replace)
        return await player.list_queue(0, 0)

    click.echo(f"saved {plain(name)}, {query(load_config(config), saved).length} tracks")


_playlists = music_group("playlists", "Saved lists, and what is in them.")
_NUMBER = Number(min=1)


@music_command("list", "List the playlists.", group=_playlists)
@json_option
def list_(config: Path, as_json: bool) -> None:
    """List the playlists, and when each was changed."""
    settings = load_config(config)
    found = query(settings, lambda player: player.list_playlists())
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in found]))
    elif found:
        rows = [(plain(each.name), _changed(each, settings.time_zone)) for each in found]
        click.echo(format_table(("NAME", "CHANGED"), rows))
    else:
        click.echo("there are no playlists; pi-appliance music save NAME keeps the queue as one")


def _changed(each: Playlist, zone: ZoneInfo) -> str:
    return format_instant(datetime.fromisoformat(each.modified), zone) if each.modified else "-"


@music_command("show", "List what is in a playlist.", group=_playlists)
@click.argument("name")
@list_options
def show(config: Path, name: str, wish: PageOptions) -> None:
    """List what is in the playlist NAME."""

    async def listed(player: Player) -> None:
        await library.tell(
            wish,
            partial(player.list_playlist, name),
            ("N", "KIND", "NAME", "ARTIST", "TIME", "FILE"),
            lambda number, entry: (str(number), *entry_row(entry)),
            empty=f"the playlist {plain(name)} is empty",
        )

    query(load_config(config), listed)


@music_command("play", "Play a playlist.", group=_playlists)
@click.argument("name")
def play(config: Path, name: str) -> None:
    """Play the playlist NAME instead of all that is in the queue."""
    run_command(
        load_config(config),
        lambda player: player.add_source(SavedPlaylist(playlist=name), QueuePosition.REPLACE, play=True),
    )


@music_command("add", "Put something at the end of a playlist.", group=_playlists)
@click.argument("name")
@source_arguments
def playlist_add(config: Path, name: str, words: tuple[str, ...], wanted: LibraryFilter) -> None:
    """Put each SOURCE, as for `music add`, at the end of the playlist NAME, which is made if it is not there."""
    settings = load_config(config)
    wishes = sources.read(settings, words, wanted)

    async def added(player: Player) -> None:
        for source in wishes:
            await player.add_to_playlist(name, source)
            click.echo(f"added {plain(describe_source(source))} to {plain(name)}")

    query(settings, added)


@music_command("remove", "Take entries out of a playlist.", group=_playlists)
@click.argument("name")
@click.argument("numbers", nargs=-1, required=True, type=_NUMBER, metavar="N...")
def playlist_remove(config: Path, name: str, numbers: tuple[int, ...]) -> None:
    """Take the entries N, as `show` counts them, out of the playlist NAME."""
    positions = {number - 1 for number in numbers}

    async def removed(player: Player) -> None:
        await _check(player, name, *positions)
        await player.remove_from_playlist(name, positions)

    query(load_config(config), removed)
    click.echo(f"removed {len(positions)} {'entry' if len(positions) == 1 else 'entries'} from {plain(name)}")


@music_command("move", "Move an entry of a playlist.", group=_playlists)
@click.argument("name")
@click.argument("number", type=_NUMBER, metavar="FROM")
@click.argument("to", type=_NUMBER, metavar="TO")
def playlist_move(config: Path, name: str, number: int, to: int) -> None:
    """Move entry FROM of the playlist NAME to place TO."""

    async def moved(player: Player) -> None:
        await _check(player, name, number - 1, to - 1)
        await player.move_in_playlist(name, number - 1, to - 1)

    query(load_config(config), moved)
    click.echo(f"moved {number} to {to} in {plain(name)}")


@music_command("rename", "Call a playlist otherwise.", group=_playlists)
@click.argument("name")
@click.argument("to")
def rename(config: Path, name: str, to: str) -> None:
    """Call the playlist NAME otherwise: TO."""
    query(load_config(config), lambda player: player.rename_playlist(name, to))
    click.echo(f"{plain(name)} is now {plain(to)}")


@music_command("delete", "Delete a playlist.", group=_playlists)
@click.argument("name")
def delete(config: Path, name: str) -> None:
    """Delete the playlist NAME. The tracks stay in the library."""
    query(load_config(config), lambda player: player.delete_playlist(name))
    click.echo(f"deleted {plain(name)}")


async def _check(player: Player, name: str, *positions: int) -> None:
    """Raise Refused, in positions as people count them, if one of POSITIONS is not in the playlist NAME."""
    for position in sorted(positions):
        if not (await player.list_playlist(name, position, 1)).items:
            raise Refused(f"there is no entry {position + 1} in the playlist {name!r}")
