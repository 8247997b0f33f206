"""pi-appliance music stations, play-station: web radio."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import click

from pi_appliance.cli._music_group import button, lists
from pi_appliance.cli._music_session import press, stations
from pi_appliance.cli._music_sources import station_names
from pi_appliance.cli._options import json_option
from pi_appliance.config.load import load
from pi_appliance.errors import UnknownName
from pi_appliance.model.music import Station, Uri, Where
from pi_appliance.reports.as_text import table

_stations = lists("stations", "Web radio.")


@button("list", "List the web radio stations.", group=_stations)
@json_option
def list_(config: Path, as_json: bool) -> None:
    """List the web radio stations, your own ones first."""
    known = stations(load(config))
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(station) for station in known]))
    elif known:
        rows = [(station.name, station.genre, station.country, station.url) for station in known]
        click.echo(table(("NAME", "GENRE", "COUNTRY", "URL"), rows))
    else:
        click.echo("there are no stations; name a file of them under `stations:` in the configuration")


@button("play-station", "Play a web radio station.")
@click.argument("name", nargs=-1, required=True, shell_complete=station_names)
def play_station(config: Path, name: tuple[str, ...]) -> None:
    """Replace the queue by the station NAME and play it. A part of its name will do; capitals do not count."""
    settings = load(config)
    station = _found(" ".join(name), stations(settings))
    press(settings, lambda player: player.add(Uri(uri=station.url, title=station.name), Where.INSTEAD, play=True))


def _found(name: str, known: Sequence[Station]) -> Station:
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
