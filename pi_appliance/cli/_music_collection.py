"""pi-appliance music stats, update, art: the library as a whole, looking for what is new, and pictures."""

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path

import click

from pi_appliance.cli._music_group import button
from pi_appliance.cli._music_session import ask, chosen
from pi_appliance.cli._music_text import called, plain, time
from pi_appliance.cli._options import json_option
from pi_appliance.cli._progress import ProgressLine
from pi_appliance.config.load import load
from pi_appliance.errors import Refused
from pi_appliance.model.music import Art, Counts, Track
from pi_appliance.ports_player import Player
from pi_appliance.reports import as_text


@button("stats", "Say how big the library is.")
@click.argument("folder", default="")
@json_option
def stats(config: Path, folder: str, as_json: bool) -> None:
    """Say how big the library is, or what of it is in FOLDER."""
    settings = load(config)
    counts = ask(settings, lambda player: player.counts(folder))
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(counts)))
        return
    of = "" if folder else f", {counts.albums:,} albums, {counts.artists:,} artists"
    click.echo(f"{_size(counts)}{of}")
    if counts.updated is not None:
        click.echo(f"updated {as_text.instant(datetime.fromtimestamp(counts.updated, UTC), settings.time_zone)}")


def _size(counts: Counts) -> str:
    return f"{counts.tracks:,} tracks of {time(counts.seconds)}"


@button("update", "Look for new music.")
@click.argument("folder", default="")
@click.option("--wait", is_flag=True, help="Until it is done; on a terminal it shows how far it is.")
def update(config: Path, folder: str, wait: bool) -> None:
    """Look for what is new, other or gone in the library, or in FOLDER of it."""
    if not wait:
        ask(load(config), lambda player: player.update(folder))
        click.echo(f"{plain(folder) or 'the library'} is being updated; status tells when it is done")
        return
    before, after = ask(load(config), lambda player: _updated(player, folder))
    change = after.tracks - before.tracks
    told = f"{abs(change):,} {'more' if change > 0 else 'fewer'} than before" if change else "as many as before"
    click.echo(f"updated: {_size(after)}, {told}")


async def _updated(player: Player, folder: str) -> tuple[Counts, Counts]:
    """Update FOLDER to the end, and return how big the library was and is. MPD itself does not tell how far it is."""
    before, bar = await player.counts(), ProgressLine()
    changes = player.changes()
    try:
        await anext(changes)  # so that the end is not missed
        await player.update(folder)
        while (state := await player.state()).updating is not None:
            bar.show(None, f"update {state.updating} goes on, {before.tracks:,} tracks before")
            await anext(changes)
    finally:
        bar.clear()
    return before, await player.counts()


@button("art", "Write or describe the picture of a track.")
@click.argument("what", default="", metavar="[N|FILE]")
@click.option("--to", "target", metavar="PATH", help="Write it to this file; - is the standard output.")
@json_option
def art(config: Path, what: str, target: str | None, as_json: bool) -> None:
    """Say what picture the current track, track N of the queue, or FILE of the library has, or write it to a file."""

    async def looked(player: Player) -> tuple[Track, Art]:
        track = await chosen(player, what)
        picture = await player.art(track.uri)
        if picture is None:
            raise Refused(f"there is no picture of {called(track)}, neither in the file nor in its folder")
        return track, picture

    track, picture = ask(load(config), looked)
    if target == "-":
        click.echo(picture.data, nl=False)
        return
    if target is not None:
        Path(target).write_bytes(picture.data)
    if as_json:
        click.echo(json.dumps({"uri": track.uri, "mime": picture.mime, "bytes": len(picture.data)}))
    else:
        wrote = f" written to {target}" if target is not None else ""
        click.echo(f"{called(track)}: {picture.mime}, {len(picture.data):,} bytes{wrote}")
