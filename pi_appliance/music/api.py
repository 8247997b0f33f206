"""Handlers of the operations on the player and on web radio stations."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Annotated, Any, TypedDict

from pi_appliance import plugins
from pi_appliance.config import secrets, units
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import InvalidOption, Refused, Unavailable, UnknownName
from pi_appliance.music import sound_cards
from pi_appliance.music.model import (
    DEFAULT_PARTITION,
    Capability,
    Mode,
    Output,
    PlayerState,
    QueuePosition,
    Station,
    Track,
    TrackRating,
    Uri,
)
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import Music, MusicJson, MusicServices, music_values, remember_partition
from pi_appliance.music.player_settings import find_setting
from pi_appliance.music.radio.stations import ListedStation
from pi_appliance.music.radio.streams import require_public_host
from pi_appliance.music.sound_cards import SoundCard
from pi_appliance.operations import Values
from pi_appliance.web.security import VISITOR, owner_text

_CHECK_TIMEOUT = 6.0  # seconds to wait for the state of a player that is checked

Handler = Callable[[MusicServices, Values], Awaitable[MusicJson]]


def check_address(services: MusicServices, uri: str) -> None:
    """Refuse an address of this machine from the network. It may wait for the name service."""
    if VISITOR.get().address:
        require_public_host(uri, services.config.radio.local_hosts)


async def player_of(services: MusicServices) -> Player:
    """Return the player. Raises Unavailable."""
    return await services.daemon.hub.player()


def player_command(act: Callable[[Player, Values], Awaitable[object]]) -> Handler:
    """Return a handler that awaits `act`, then returns the new state of the player."""

    async def handle(services: MusicServices, values: Values) -> MusicJson:
        player = await player_of(services)
        await act(player, values)
        return visible_music(services.daemon.hub, await player.state())

    return handle


def visible_music(hub: Music, after: PlayerState | None = None) -> MusicJson:
    """Return the player. Its errors, which may name servers and files, are for the owner."""
    values = music_values(hub, after)
    values["error"] = owner_text(values["error"], "the player is not reached")
    if values["player"]:
        values["player"]["error"] = owner_text(values["player"]["error"], "it cannot be played")
    return values


async def track_at(player: Player, number: int) -> Track:
    """Return the track `number` of the queue, counted from 1. Raises Refused if there is none."""
    queue = await player.list_queue(number - 1, 1)
    if queue.tracks:
        return queue.tracks[0]
    end = f"there is no track {number} in the queue; it ends with {queue.length}"
    raise Refused(end if queue.length else "the queue is empty")


async def find_track(player: Player, name: str | None) -> Track:
    """Return a track by queue number or file, by default the current one. Raises Refused."""
    if name and name.isdecimal() and int(name) > 0:
        return await track_at(player, int(name))
    if name:
        return Track(uri=name)
    track = (await player.state()).track
    if track is None:
        raise Refused("no track is the current one; name a file, or a number of the queue")
    return track


# Playback


class PlayerStatusJson(MusicJson):
    """The player, and the rating of its current track."""

    rating: int | None
    favourite: bool


async def status(services: MusicServices, _: Values) -> PlayerStatusJson:
    """Return the state of the player, or why there is none, and the rating of the current track."""
    hub, rating = services.daemon.hub, TrackRating()
    with contextlib.suppress(Unavailable):
        player = await player_of(services)
        state = hub.state or await player.state()
        if state.track:
            with contextlib.suppress(Refused):  # some players have no ratings
                rating = (await player.ratings([state.track.uri])).get(state.track.uri, rating)
    return {**visible_music(hub), "rating": rating.rating, "favourite": rating.favourite}


async def reconnect(services: MusicServices, _: Values) -> MusicJson:
    """Try to reach the configured player now."""
    services.daemon.hub.reconnect_now()
    return visible_music(services.daemon.hub)


class PlayerCheckJson(TypedDict):
    """The answer of a player, in words."""

    text: str


async def check_player(services: MusicServices, values: Values) -> PlayerCheckJson:
    """Ask a player for its state. Raises Unavailable with the reason if it does not answer.

    The password is sent to the configured player only, and not to an address that is just tried.
    """
    config = services.config
    kind = values["kind"] or (config.player.kind if config.player else "mpd")
    plugin = plugins.load("players", kind)
    is_known = config.player is not None and config.player.kind == kind
    options = config.player.options if config.player and is_known else plugin.Options()
    known = secrets.load(config.path, os.environ, secret_names(config)) if is_known else {}
    if values["address"] and values["address"] != options.address:
        options, known = replace(options, address=values["address"]), {}
        for _, wrong, hint in options.check():
            raise InvalidOption(f"{wrong}; {hint}")
    player: Player = plugin.connect(options, known)
    try:
        async with asyncio.timeout(_CHECK_TIMEOUT):
            capabilities = await player.capabilities()
            outputs = await player.list_outputs() if Capability.OUTPUTS in capabilities else ()
    except TimeoutError:
        raise Unavailable(f"{options.address} does not answer within {_CHECK_TIMEOUT:.0f} seconds") from None
    finally:
        await player.close()
    names = ", ".join(each.name for each in outputs if each.on)
    mixer = "the volume can be set" if Capability.VOLUME in capabilities else "it has no mixer"
    return {"text": units.join_clauses(f"{options.address} answers", mixer, f"output: {names}" if names else "")}


class CapabilityJson(TypedDict):
    """A capability, and whether the player has it."""

    capability: Capability
    supported: bool
    description: str


async def capabilities(services: MusicServices, _: Values) -> list[CapabilityJson]:
    """Return every capability, and whether the player has it."""
    supported = await (await player_of(services)).capabilities()
    return [
        {"capability": each, "supported": each in supported, "description": each.description} for each in Capability
    ]


async def play(services: MusicServices, values: Values) -> MusicJson:
    """Resume, or play a track of the queue."""
    return await (_play_position if values["id"] is None else _play_id)(services, values)


async def _play(player: Player, values: Values) -> None:
    await player.play(values["position"] if values["number"] is None else values["number"] - 1)


_play_position = player_command(_play)
_play_id = player_command(lambda player, values: player.play_id(values["id"]))
pause = player_command(lambda player, _: player.pause())
toggle = player_command(lambda player, _: player.toggle())
stop = player_command(lambda player, _: player.stop())
next = player_command(lambda player, _: player.next())  # noqa: A001 - the word of the command
previous = player_command(lambda player, _: player.previous())
mute = player_command(lambda player, values: player.set_mute(values["on"]))
unmute = player_command(lambda player, _: player.set_mute(False))


async def _seek(player: Player, values: Values) -> None:
    seconds = values["seconds"]
    if isinstance(seconds, str):
        elapsed = (await player.state()).elapsed
        if elapsed is None:
            raise Refused("nothing plays in which to seek")
        seconds = max(0.0, elapsed + float(seconds))
    await player.seek(seconds)


seek = player_command(_seek)


class VolumeJson(MusicJson):
    """The player, and the volume that was requested."""

    requested: Annotated[int | None, "before the volume policy"]


async def volume(services: MusicServices, values: Values) -> VolumeJson:
    """Set or change the volume, and return the new one beside the requested one."""
    player, requested = await player_of(services), values["volume"]
    if isinstance(requested, str):
        current = (await player.state()).volume
        if current is None:
            raise Refused("the player has no mixer, so it has no volume to change")
        requested = min(100, max(0, current + int(requested)))
    if requested is not None:
        await player.set_volume(requested)
    return {**music_values(services.daemon.hub, await player.state()), "requested": requested}


async def _set_modes(player: Player, values: Values) -> None:
    modes: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    for name in ("single", "consume"):
        if name in modes:
            modes[name] = Mode(modes[name])
    if modes:
        await player.set_modes(**modes)


async def _change_setting(player: Player, values: Values) -> None:
    setting = find_setting(values)
    value = values[setting.argument.name]
    if value is not None:
        await player.change_setting(setting, value)


modes = player_command(_set_modes)
player_setting = player_command(_change_setting)

# Outputs


async def list_outputs(services: MusicServices, _: Values) -> Sequence[Output]:
    """Return the audio outputs of the player."""
    return await (await player_of(services)).list_outputs()


async def list_sound_cards(_: MusicServices, __: Values) -> Sequence[SoundCard]:
    """Return the sound cards of this machine that can play."""
    return sound_cards.list_cards(sound_cards.machine_root())


async def use_sound_card(services: MusicServices, values: Values) -> SoundCard:
    """Let another sound card play, and wait until MPD, which starts again, is reached."""
    hub = services.daemon.hub
    was_reached = _is_reached(hub)
    card = await sound_cards.request_card(values["id"], sound_cards.machine_root())
    if was_reached and not _is_reached(hub):
        hub.reconnect_now()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_TIMEOUT):
                async for _ in hub.watch_changes():
                    if _is_reached(hub):
                        return card
        raise Unavailable(f"{card.id} is chosen, but MPD did not come back; see: systemctl status mpd")
    return card


def _is_reached(hub: Music) -> bool:
    return hub.state is not None and not hub.uses_fallback


async def set_output(services: MusicServices, values: Values) -> Sequence[Output]:
    """Enable or disable an output by its id."""
    await (await player_of(services)).set_output(values["id"], values["on"])
    return await list_outputs(services, values)


async def _switch_output(services: MusicServices, values: Values, *, enabled: bool) -> Sequence[Output]:
    output = _find_output(await (await player_of(services)).list_outputs(), values["output"])
    return await set_output(services, {"id": output.id, "on": enabled})


enable_output = partial(_switch_output, enabled=True)
disable_output = partial(_switch_output, enabled=False)


def _find_output(known: Sequence[Output], name: str) -> Output:
    for each in known:
        if each.name.casefold() == name.casefold():
            return each
    if name.isdecimal() and 1 <= int(name) <= len(known):
        return known[int(name) - 1]
    raise UnknownName("output", name, [each.name for each in known])


# Partitions


class PartitionJson(TypedDict):
    """A partition, and whether it is in use."""

    name: str
    current: bool


async def list_partitions(services: MusicServices, _: Values) -> list[PartitionJson]:
    """Return the partitions, and which of them is in use."""
    player = await player_of(services)
    partitions, current = await player.list_partitions(), await _current_partition(player)
    return [{"name": each.name, "current": each.name == current} for each in partitions]


async def create_partition(services: MusicServices, values: Values) -> list[PartitionJson]:
    """Create a partition."""
    await (await player_of(services)).create_partition(values["name"])
    return await list_partitions(services, values)


async def use_partition(services: MusicServices, values: Values) -> MusicJson:
    """Use a partition, also after a restart."""
    player, name = await player_of(services), values["name"]
    await _require_partition(player, name)
    await player.use_partition(name)
    remember_partition(services.config.state_dir, name)
    return visible_music(services.daemon.hub, await player.state())


async def delete_partition(services: MusicServices, values: Values) -> list[PartitionJson]:
    """Delete a partition; if it is in use, the default one is used."""
    player, name = await player_of(services), values["name"]
    was_current = await _current_partition(player) == name != DEFAULT_PARTITION
    if was_current:
        await player.use_partition(DEFAULT_PARTITION)
    try:
        await player.delete_partition(name)
    except Refused:
        if was_current:
            await player.use_partition(name)
        raise
    if was_current:
        remember_partition(services.config.state_dir, DEFAULT_PARTITION)
    return await list_partitions(services, values)


async def move_output(services: MusicServices, values: Values) -> Sequence[Output]:
    """Move an output into a partition, by default the one in use."""
    player, target = await player_of(services), values["to"]
    current = await _current_partition(player)
    if target is None or target == current:
        await player.move_output(values["output"])
    else:
        await _require_partition(player, target)
        await player.use_partition(target)
        try:
            await player.move_output(values["output"])
        finally:
            await player.use_partition(current)
    return await list_outputs(services, values)


async def _current_partition(player: Player) -> str:
    try:
        return (await player.state()).partition
    except Refused:  # the partition in use may have been deleted
        return ""


async def _require_partition(player: Player, name: str) -> None:
    names = [each.name for each in await player.list_partitions()]
    if name not in names:
        raise UnknownName("partition", name, names)


# Ratings


class RatedTrackJson(TypedDict):
    """A track and its rating."""

    track: Track
    rating: int | None
    favourite: bool


async def _change_rating(services: MusicServices, values: Values, **change: Any) -> RatedTrackJson:
    player = await player_of(services)
    track = Track(uri=values["uri"]) if values["uri"] else await find_track(player, values["track"])
    rating = replace((await player.ratings([track.uri])).get(track.uri, TrackRating()), **change)
    await player.set_rating(track.uri, rating)
    return {"track": track, "rating": rating.rating, "favourite": rating.favourite}


like = partial(_change_rating, favourite=True)
unlike = partial(_change_rating, favourite=False)


async def rate(services: MusicServices, values: Values) -> RatedTrackJson:
    """Set or remove the rating of a track."""
    return await _change_rating(services, values, rating=values["rating"] or None)


async def ratings(services: MusicServices, values: Values) -> Mapping[str, TrackRating]:
    """Return the ratings of tracks by their URIs."""
    return await (await player_of(services)).ratings(values["uri"])


# Stations

_STATION_FIELDS = [each.name for each in fields(Station)]


async def list_stations(services: MusicServices, values: Values) -> list[ListedStation]:
    """Return the stations with their origin."""
    start, count = values["start"], values["count"]
    return (await asyncio.to_thread(services.stations.views))[start : start + count]


async def list_removed(services: MusicServices, _: Values) -> Sequence[Station]:
    """Return the stations of the owner's file that can be restored."""
    return await asyncio.to_thread(services.stations.removed)


async def add_station(services: MusicServices, values: Values) -> Station:
    """Add a custom station."""
    station = Station(**{name: values[name] or "" for name in _STATION_FIELDS})
    check_host = partial(check_address, services)
    await asyncio.to_thread(check_host, station.url)
    add = partial(services.stations.add, check=values["check"], check_address=check_host)
    return await asyncio.to_thread(add, station)


async def edit_station(services: MusicServices, values: Values) -> Station:
    """Change the given fields of a station."""
    changes = {name: values[name] for name in _STATION_FIELDS if values[name] is not None}
    stations, name = services.stations, values["station"]
    current = await asyncio.to_thread(stations.get, name)
    station = replace(current, **changes)
    check_host = partial(check_address, services)
    if station.url != current.url:
        await asyncio.to_thread(check_host, station.url)
    edit = partial(stations.edit, check=values["check"], check_address=check_host)
    return await asyncio.to_thread(edit, name, station)


class RemovedStationJson(TypedDict):
    """The name of a station that was removed."""

    removed: str


async def remove_station(services: MusicServices, values: Values) -> RemovedStationJson:
    """Remove or hide a station."""
    await asyncio.to_thread(services.stations.remove, values["station"])
    return {"removed": values["station"]}


async def restore_station(services: MusicServices, values: Values) -> Station:
    """Restore a station of the owner's file."""
    return await asyncio.to_thread(services.stations.restore, values["station"])


async def play_station(services: MusicServices, values: Values) -> MusicJson:
    """Play a station in place of the queue."""
    stations, check_host = services.stations, partial(check_address, services)
    station = await asyncio.to_thread(lambda: stations.resolved(stations.find(values["station"]).name, check_host))
    player = await player_of(services)
    await player.add_source(Uri(uri=station.url, title=station.name), QueuePosition.REPLACE, play=True)
    return visible_music(services.daemon.hub, await player.state())
