"""Handlers of the operations on web radio stations."""

import asyncio
from dataclasses import asdict, fields, replace
from functools import partial

from pi_appliance.music.api import check_address
from pi_appliance.music.model import Station
from pi_appliance.music.player_hub import MusicServices
from pi_appliance.operations import Values

_FIELDS = [each.name for each in fields(Station)]


async def list_stations(services: MusicServices, values: Values) -> object:
    """Return the stations with their origin."""
    start, count = values["start"], values["count"]
    views = await asyncio.to_thread(services.stations.views)
    return [
        {**asdict(each.station), "custom": each.custom, "overrides": each.overrides}
        for each in views[start : start + count]
    ]


async def list_removed(services: MusicServices, _: Values) -> object:
    """Return the stations of the owner's file that can be restored."""
    return [asdict(each) for each in await asyncio.to_thread(services.stations.removed)]


async def add_station(services: MusicServices, values: Values) -> object:
    """Add a custom station."""
    station = Station(**{name: values[name] or "" for name in _FIELDS})
    check_host = partial(check_address, services)
    await asyncio.to_thread(check_host, station.url)
    add = partial(services.stations.add, check=values["check"], check_address=check_host)
    return asdict(await asyncio.to_thread(add, station))


async def edit_station(services: MusicServices, values: Values) -> object:
    """Change the given fields of a station."""
    changes = {name: values[name] for name in _FIELDS if values[name] is not None}
    stations, name = services.stations, values["station"]
    current = await asyncio.to_thread(stations.get, name)
    station = replace(current, **changes)
    check_host = partial(check_address, services)
    if station.url != current.url:
        await asyncio.to_thread(check_host, station.url)
    edit = partial(stations.edit, check=values["check"], check_address=check_host)
    return asdict(await asyncio.to_thread(edit, name, station))


async def remove_station(services: MusicServices, values: Values) -> object:
    """Remove or hide a station."""
    await asyncio.to_thread(services.stations.remove, values["station"])
    return {"removed": values["station"]}


async def restore_station(services: MusicServices, values: Values) -> object:
    """Restore a station of the owner's file."""
    return asdict(await asyncio.to_thread(services.stations.restore, values["station"]))
