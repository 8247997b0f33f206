"""pi-appliance music stations, play-station: web radio."""

import dataclasses
import json
from pathlib import Path

import click

from pi_appliance.cli.options import json_option
from pi_appliance.cli.text import table
from pi_appliance.config.loader import load_config
from pi_appliance.errors import UnknownName
from pi_appliance.music.cli.group import music_command, music_group
from pi_appliance.music.cli.session import run_command, stations
from pi_appliance.music.cli.sources import station_names
from pi_appliance.music.model import QueuePosition, Station, Uri
from pi_appliance.music.stations.service import Stations

_stations = music_group("stations", "Web radio.")
_genre = click.option("--genre", metavar="TEXT", help="What it plays.")
_country = click.option("--country", metavar="TEXT", help="Where it is from.")
_untried = click.option("--untried", is_flag=True, help="Take the address as it is, without trying it.")


@music_command("list", "List the web radio stations.", group=_stations)
@json_option
def list_(config: Path, as_json: bool) -> None:
    """List the web radio stations, the household's own ones first."""
    known = stations(load_config(config)).shown()
    if as_json:
        click.echo(json.dumps([{**dataclasses.asdict(each.station), "own": each.own} for each in known]))
    elif known:
        rows = [
            (each.station.name, each.station.genre, each.station.country, "own" if each.own else "", each.station.url)
            for each in known
        ]
        click.echo(table(("NAME", "GENRE", "COUNTRY", "", "URL"), rows))
    else:
        click.echo("there are no stations; pi-appliance music stations add NAME URL makes one")


@music_command("add", "Add a station of your own.", group=_stations)
@click.argument("name")
@click.argument("url")
@_genre
@_country
@_untried
def add(config: Path, name: str, url: str, genre: str | None, country: str | None, untried: bool) -> None:
    """Keep the web radio at URL, a stream or a list of streams (.m3u, .pls), as the station NAME.

    It is kept in the state folder; your file of stations stays as it is.
    """
    station = Station(name=name, url=url, genre=genre or "", country=country or "")
    kept = stations(load_config(config)).add(station, check=not untried)
    click.echo(f"added {kept.name}")


@music_command("edit", "Change a station.", group=_stations)
@click.argument("name")
@click.option("--name", "to", metavar="TEXT", help="Another name.")
@click.option("--url", metavar="URL", help="Another address.")
@_genre
@_country
@_untried
def edit(
    config: Path, name: str, to: str | None, url: str | None, genre: str | None, country: str | None, untried: bool
) -> None:
    """Change what is given of the station NAME; one of your file is then covered by one of your own."""
    changes = {"name": to, "url": url, "genre": genre, "country": country}
    given = {key: text for key, text in changes.items() if text is not None}
    if not given:
        raise click.UsageError("nothing is to be changed; give --name, --url, --genre or --country")
    known = stations(load_config(config))
    kept = known.edit(name, dataclasses.replace(known.one(name), **given), check=not untried)
    click.echo(f"changed {kept.name}")


@music_command("remove", "Take a station away.", group=_stations)
@click.argument("name", nargs=-1, required=True, shell_complete=station_names)
def remove(config: Path, name: tuple[str, ...]) -> None:
    """Take the station NAME away. One of your file is only hidden: restore brings it back."""
    stations(load_config(config)).remove(" ".join(name))
    click.echo(f"removed {' '.join(name)}")


@music_command("restore", "Bring back a station of your file.", group=_stations)
@click.argument("name", nargs=-1, required=True)
def restore(config: Path, name: tuple[str, ...]) -> None:
    """Bring back the station NAME of your file, as it is there: removed or changed, it is so no more."""
    click.echo(f"{stations(load_config(config)).restore(' '.join(name)).name} is back")


@music_command("play-station", "Play a web radio station.")
@click.argument("name", nargs=-1, required=True, shell_complete=station_names)
def play_station(config: Path, name: tuple[str, ...]) -> None:
    """Replace the queue by the station NAME and play it. A part of its name will do; capitals do not count."""
    settings = load_config(config)
    station = _found(" ".join(name), stations(settings))
    run_command(
        settings,
        lambda player: player.add_source(Uri(uri=station.url, title=station.name), QueuePosition.REPLACE, play=True),
    )


def _found(name: str, stations: Stations) -> Station:
    """Return the station called NAME, else the only one whose name has NAME in it, as it is to be played.

    Raises UnknownName, UsageError.
    """
    wanted, known = name.casefold(), [each.name for each in stations.all()]
    found = [each for each in known if each.casefold() == wanted] or [
        each for each in known if wanted in each.casefold()
    ]
    if len(found) == 1:
        return stations.to_play(found[0])
    if found:
        raise click.UsageError(f"{len(found)} stations have {name!r} in their name: {', '.join(found)}; say more of it")
    raise UnknownName("station", name, known)
