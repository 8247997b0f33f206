"""pi-appliance music favourites, like, unlike, rate: what the household thinks of tracks."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from pi_appliance.cli import _music_lists
from pi_appliance.cli._music_group import button
from pi_appliance.cli._music_lists import Wish, list_options
from pi_appliance.cli._music_session import ask, chosen
from pi_appliance.cli._music_text import called, entry_row
from pi_appliance.config.load import load
from pi_appliance.model.music import Entry, Opinion, Window
from pi_appliance.ports_player import Player

_NONE = "none"


@button("favourites", "List the favourite tracks.")
@list_options
def favourites(config: Path, wish: Wish) -> None:
    """List the favourite tracks with their ratings. What stands under FILE can be added."""

    async def listed(player: Player) -> tuple[Window[Entry], Mapping[str, Opinion]]:
        window = await _music_lists.read(wish, player.favourites)
        known = {} if wish.as_json else await player.opinions([_uri(entry) for entry in window.items])
        return window, known

    window, known = ask(load(config), listed)

    def row(_: int, entry: Entry) -> tuple[str, ...]:
        opinion = known.get(_uri(entry), Opinion())
        return (str(opinion.rating or "-"), *entry_row(entry)[1:])

    _music_lists.show(
        wish,
        window,
        ("RATING", "NAME", "ARTIST", "TIME", "FILE"),
        row,
        empty="there are no favourites yet; pi-appliance music like makes what plays one",
    )


def _uri(entry: Entry) -> str:
    return entry.track.uri if entry.track else entry.uri


@button("like", "Make a track a favourite.")
@click.argument("what", default="", metavar="[N|FILE]")
def like(config: Path, what: str) -> None:
    """Make the current track a favourite, or track N of the queue, or FILE of the library."""
    _change(config, what, lambda before: dataclasses.replace(before, favourite=True), "is a favourite")


@button("unlike", "Make a track no favourite any more.")
@click.argument("what", default="", metavar="[N|FILE]")
def unlike(config: Path, what: str) -> None:
    """Let the current track, or track N of the queue, or FILE be no favourite any more."""
    _change(config, what, lambda before: dataclasses.replace(before, favourite=False), "is no favourite")


@button("rate", "Rate a track.")
@click.argument("rating", type=click.Choice([*map(str, range(1, 11)), _NONE]), metavar="1-10|none")
@click.argument("what", default="", metavar="[N|FILE]")
def rate(config: Path, rating: str, what: str) -> None:
    """Rate the current track, or track N of the queue, or FILE: from 1 to 10, or none to take the rating back."""
    number = None if rating == _NONE else int(rating)
    told = "is not rated" if number is None else f"is rated {number} of 10"
    _change(config, what, lambda before: dataclasses.replace(before, rating=number), told)


def _change(config: Path, what: str, change: Callable[[Opinion], Opinion], told: str) -> None:
    async def changed(player: Player) -> str:
        track = await chosen(player, what)
        before = (await player.opinions([track.uri])).get(track.uri, Opinion())
        await player.set_opinion(track.uri, change(before))
        return called(track)

    click.echo(f"{ask(load(config), changed)} {told}")
