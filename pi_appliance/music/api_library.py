"""Handlers of the operations on the queue, the library, the playlists and USB drives."""

import asyncio
import base64
import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, TypedDict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pi_appliance.errors import ApplianceError, InvalidOption, Refused, suggest
from pi_appliance.music import model
from pi_appliance.music.api import check_address, find_track, player_command, player_of, track_at, visible_music
from pi_appliance.music.covers import SIZES, Covers
from pi_appliance.music.model import (
    AddResult,
    Entry,
    EntryType,
    LibraryFilter,
    LibraryStats,
    Page,
    QueuePosition,
    RatedEntry,
    SavedPlaylist,
    Source,
    Track,
    TrackRating,
    Uri,
    cut_page,
    extended,
    replace_items,
)
from pi_appliance.music.operations import URI
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import MusicJson, MusicServices
from pi_appliance.music.radio.stations import Stations, resolve_source
from pi_appliance.music.usb.drives import UsbDrive, count_tracks
from pi_appliance.music.usb.mounts import UsbNotConfigured
from pi_appliance.operations import Argument, Operation, Values
from pi_appliance.roles import Role
from pi_appliance.system.http import is_web_address
from pi_appliance.web.params import Call

_TAGS = ("artist", "album", "genre", "search")
_STEP = 500  # tracks requested at a time

# Queue


class QueueJson(TypedDict):
    """A page of the queue."""

    start: int
    length: int
    more: Annotated[bool, "whether there are tracks after this page"]
    items: Sequence[Track]
    version: int
    current: Annotated[int | None, "the position of the current track"]


async def list_queue(services: MusicServices, values: Values) -> QueueJson:
    """Return a page of the queue, and the position of the current track."""
    player = await player_of(services)
    queue = await player.list_queue(values["start"], values["count"])
    track = (await player.state()).track
    return {
        "start": queue.start,
        "length": queue.length,
        "more": queue.start + len(queue.tracks) < queue.length,
        "items": queue.tracks,
        "version": queue.version,
        "current": track.position if track else None,
    }


async def add_to_queue(services: MusicServices, values: Values) -> list[AddResult]:
    """Add sources to the queue in the given order."""
    return await _add(services, values, QueuePosition(values["where"]), play=values["play"])


async def play_now(services: MusicServices, values: Values) -> list[AddResult]:
    """Play sources in place of the queue."""
    return await _add(services, values, QueuePosition.REPLACE, play=True)


async def _add(services: MusicServices, values: Values, where: QueuePosition, *, play: bool) -> list[AddResult]:
    stations = services.stations
    first, *others = await asyncio.to_thread(_parse_sources, values, services)
    player, results = await player_of(services), []
    # The first source replaces the queue and the others follow. Sources after the current track are
    # added in reverse order.
    steps = [(first, where, play)]
    if where is QueuePosition.NEXT:
        steps = [*((each, where, False) for each in reversed(others)), *steps]
    else:
        steps += [(each, QueuePosition.END, False) for each in others]
    for source, position, plays in steps:
        with _hints(source, stations):
            results.append(await player.add_source(source, position, play=plays))
    return results


def _parse_sources(values: Values, services: MusicServices) -> list[Source]:
    """Return the sources that the arguments name. It may read files and wait for the network.

    Raises:
        InvalidOption: one is not valid.
        UnknownName: there is no such station.
        Refused: an address is one of this machine.
    """
    if values["title"] and not values["uri"]:
        raise InvalidOption("'title' needs 'uri'")
    found: list[Source] = [_parse_source(each, services) for each in values["source"] or ()]
    if values["uri"]:
        check_address(services, values["uri"])
        found.append(Uri(uri=values["uri"], title=values["title"] or ""))
    if values["playlist"]:
        found.append(SavedPlaylist(playlist=values["playlist"]))
    if any(values[name] for name in _TAGS):
        found.append(_filter(values))
    return found


def _parse_source(text: str, services: MusicServices) -> Source:
    stations = services.stations
    try:
        source = model.parse_source(text, stations.all())
    except ValueError as error:
        raise InvalidOption(str(error)) from None
    check_host = partial(check_address, services)
    if isinstance(source, Uri) and not source.title:  # a station was checked when it was added
        check_host(source.uri)
    return resolve_source(stations, source, check_host)


@contextlib.contextmanager
def _hints(source: Source, stations: Stations) -> Iterator[None]:
    """Add a hint to errors about `source`: the closest station, or the command that searches."""
    try:
        yield
    except Refused as error:
        if not isinstance(source, Uri) or source.title or is_web_address(source.uri):
            raise
        near = suggest(source.uri, [each.name for each in stations.all()])
        hint = near.replace("mean", "mean the station") if near.endswith("?") else "find it: pi-appliance music search"
        raise Refused(f"{error}; {hint}") from None


async def move_track(services: MusicServices, values: Values) -> MusicJson:
    """Move a track of the queue."""
    player, track_id, target = await player_of(services), values["id"], values["to"]
    if track_id is None:
        track_id = (await track_at(player, values["number"])).id
    if target is None:
        await track_at(player, values["to_number"])
        target = values["to_number"] - 1
    await player.move_track(track_id, target)
    return visible_music(services.daemon.hub, await player.state())


class RemovedTracksJson(MusicJson):
    """The state of the player, and how many tracks were removed."""

    removed: int


async def remove_tracks(services: MusicServices, values: Values) -> RemovedTracksJson:
    """Remove tracks from the queue by their ids or their numbers."""
    player = await player_of(services)
    length = (await player.list_queue(0, 0)).length
    await player.remove_tracks(await _ids_in_spans(player, values["numbers"] or ()) | set(values["ids"] or ()))
    state = await player.state()
    return {**visible_music(services.daemon.hub, state), "removed": max(0, length - state.queue_length)}


async def prioritize_tracks(services: MusicServices, values: Values) -> MusicJson:
    """Set the priority of tracks of the queue."""
    player = await player_of(services)
    await player.set_priority(await _ids_in_spans(player, values["numbers"]), values["priority"])
    return visible_music(services.daemon.hub, await player.state())


async def _ids_in_spans(player: Player, spans: Sequence[str]) -> set[int]:
    length = (await player.list_queue(0, 0)).length
    return set[int]().union(*[await _ids_in(player, span, length) for span in spans])


async def _ids_in(player: Player, span: str, length: int) -> set[int]:
    """Return the ids of the tracks in `span`, such as 3, 3-5 or 3-. Raises Refused."""
    first, dash, last = span.partition("-")
    start, end = int(first) - 1, int(last or (length if dash else first))
    await track_at(player, start + 1)
    if end > length:
        raise Refused(f"there is no track {end} in the queue; it ends with {length}")
    ids: set[int] = set()
    while start < end:
        tracks = (await player.list_queue(start, min(_STEP, end - start))).tracks
        if not tracks:
            break
        ids |= {track.id for track in tracks if track.id is not None}
        start += len(tracks)
    return ids


clear_queue = player_command(lambda player, _: player.clear_queue())
shuffle_queue = player_command(lambda player, _: player.shuffle_queue())


class SavedQueueJson(TypedDict):
    """The playlist in which the queue was saved."""

    playlist: str
    tracks: int


async def save_queue(services: MusicServices, values: Values) -> SavedQueueJson:
    """Save the queue as a playlist."""
    player = await player_of(services)
    await player.save_queue(values["name"], replace=values["replace"])
    return {"playlist": values["name"], "tracks": (await player.list_queue(0, 0)).length}


# Library


async def browse(services: MusicServices, values: Values) -> Page[Entry]:
    """Return the entries of a folder."""
    player = await player_of(services)
    return await player.list_directory(values["folder"].strip("/"), values["start"], values["count"])


async def _list(services: MusicServices, values: Values, *, kind: EntryType) -> Page[Entry]:
    player = await player_of(services)
    return await player.list_library(kind, _filter(values), values["start"], values["count"])


artists = partial(_list, kind=EntryType.ARTIST)
albums = partial(_list, kind=EntryType.ALBUM)
genres = partial(_list, kind=EntryType.GENRE)
tracks = partial(_list, kind=EntryType.TRACK)


async def search(services: MusicServices, values: Values) -> Page[Entry]:
    """Return the tracks that have words in their tags."""
    return await tracks(services, {**values, "search": values["words"]})


def _filter(values: Values) -> LibraryFilter:
    artist, album, genre, words = (values[name] or "" for name in _TAGS)
    return LibraryFilter(artist=artist, album=album, genre=genre, text=words)


async def favourites(services: MusicServices, values: Values) -> Page[RatedEntry]:
    """Return the favourite tracks with their ratings."""
    player = await player_of(services)
    page = await player.list_favourites(values["start"], values["count"])
    uris = [entry.track.uri if entry.track else entry.uri for entry in page.items]
    known = await player.ratings(uris) if uris else {}
    items = [
        extended(RatedEntry, entry, rating=known.get(uri, TrackRating()).rating)
        for entry, uri in zip(page.items, uris, strict=True)
    ]
    return replace_items(page, items)


async def stats(services: MusicServices, values: Values) -> LibraryStats:
    """Return the size of the library or of a folder."""
    return await (await player_of(services)).library_stats(values["folder"].strip("/"))


class UpdateJson(TypedDict):
    """The progress of an update of the library."""

    updating: int | None
    folder: str
    tracks: int | None


async def update_progress(services: MusicServices, values: Values) -> UpdateJson:
    """Return how far an update is."""
    player, count = await player_of(services), None
    with contextlib.suppress(Refused):  # a new folder may not be in the library yet
        count = (await player.library_stats(values["folder"].strip("/"))).tracks
    return {"updating": (await player.state()).updating, "folder": values["folder"], "tracks": count}


async def update(services: MusicServices, values: Values) -> UpdateJson:
    """Start an update of the library."""
    await (await player_of(services)).update_library(values["folder"].strip("/"))
    return await update_progress(services, values)


class TrackPictureJson(TypedDict):
    """The picture of a track."""

    track: Track
    mime: str
    data: Annotated[str, "base64"]


async def picture(services: MusicServices, values: Values) -> TrackPictureJson:
    """Return the picture of a track as base64. Raises Refused if there is none."""
    player = await player_of(services)
    track = await find_track(player, values["track"])
    art = await player.album_art(track.uri)
    if art is None:
        raise Refused(f"there is no picture of {track.label}, neither in the file nor in its folder")
    return {"track": track, "mime": art.mime, "data": base64.b64encode(art.data).decode("ascii")}


# Playlists


class PlaylistJson(TypedDict):
    """A saved playlist."""

    name: str
    changed: str


async def list_playlists(services: MusicServices, values: Values) -> Page[PlaylistJson]:
    """Return the saved playlists."""
    known = await (await player_of(services)).list_playlists()
    playlists: list[PlaylistJson] = [{"name": each.name, "changed": each.modified} for each in known]
    return cut_page(playlists, values["start"], values["count"])


async def show_playlist(services: MusicServices, values: Values) -> Page[Entry]:
    """Return a page of a playlist."""
    return await _entries(services, values["name"], values["start"], values["count"])


async def play_playlist(services: MusicServices, values: Values) -> list[AddResult]:
    """Play a playlist, or add it to the queue."""
    where, player = QueuePosition(values["where"]), await player_of(services)
    source = SavedPlaylist(playlist=values["name"])
    return [await player.add_source(source, where, play=where is QueuePosition.REPLACE)]


async def add_to_playlist(services: MusicServices, values: Values) -> Page[Entry]:
    """Append sources to a playlist."""
    stations = services.stations
    found: Sequence[Source] = await asyncio.to_thread(_parse_sources, values, services)
    player = await player_of(services)
    for source in found:
        with _hints(source, stations):
            await player.add_to_playlist(values["name"], source)
    return await _entries(services, values["name"])


async def remove_from_playlist(services: MusicServices, values: Values) -> Page[Entry]:
    """Remove entries from a playlist."""
    positions = values["positions"] or [number - 1 for number in values["numbers"]]
    await (await player_of(services)).remove_from_playlist(values["name"], set(positions))
    return await _entries(services, values["name"])


async def move_in_playlist(services: MusicServices, values: Values) -> Page[Entry]:
    """Move an entry of a playlist."""
    position = values["number"] - 1 if values["position"] is None else values["position"]
    target = values["to_number"] - 1 if values["to"] is None else values["to"]
    await (await player_of(services)).move_in_playlist(values["name"], position, target)
    return await _entries(services, values["name"])


class SavedPlaylistJson(TypedDict):
    """The name of a playlist that was changed."""

    playlist: str


async def rename_playlist(services: MusicServices, values: Values) -> SavedPlaylistJson:
    """Rename a playlist."""
    await (await player_of(services)).rename_playlist(values["name"], values["to"])
    return {"playlist": values["to"]}


async def delete_playlist(services: MusicServices, values: Values) -> SavedPlaylistJson:
    """Delete a playlist."""
    await (await player_of(services)).delete_playlist(values["name"])
    return {"playlist": values["name"]}


async def _entries(services: MusicServices, name: str, start: int = 0, count: int = 100) -> Page[Entry]:
    return await (await player_of(services)).list_playlist(name, start, count)


# USB drives


async def list_drives(services: MusicServices, _: Values) -> list[UsbDrive]:
    """Return every USB drive, also those not mounted with tracks in the library."""
    with _refuse_without_folder():
        drives = services.daemon.usb_drives.all()
    return [await _with_tracks(services, each) for each in drives]


async def eject_drive(services: MusicServices, values: Values) -> UsbDrive:
    """Eject a USB drive and return its state."""
    with _refuse_without_folder():
        return await services.daemon.usb_drives.eject(values["name"])


@contextlib.contextmanager
def _refuse_without_folder() -> Iterator[None]:
    """Turn UsbNotConfigured into Refused, because trying again later would not help."""
    try:
        yield
    except UsbNotConfigured as error:
        raise Refused(str(error)) from None


async def _with_tracks(services: MusicServices, drive: UsbDrive) -> UsbDrive:
    if drive.tracks is None:
        with contextlib.suppress(ApplianceError):  # without a player, the number of tracks is unknown
            tracks = await count_tracks(await services.daemon.hub.player(), drive.uri)
            return dataclasses.replace(drive, tracks=tracks)
    return drive


# Covers


_MAX_AGE = 86_400  # seconds that a phone keeps a cover without asking again


def _parse_size(value: object) -> int:
    if str(value) not in {str(size) for size in SIZES}:
        raise ValueError
    return int(str(value))


_SIZE = Argument(
    name="size",
    help="the maximum width and height in pixels; without it, the original size",
    expected=f"one of {', '.join(map(str, SIZES))}",
    parse=_parse_size,
    schema={"type": "integer", "enum": list(SIZES)},
    example=256,
)


def cover_operation(covers: Covers) -> Operation:
    """Return the operation that sends a cover of `covers`."""

    async def answer(call: Call) -> Response:
        """Return the cover, or 304 if the phone has it."""
        cover = await covers.find(call.arguments["uri"], call.arguments["size"] or 0)
        if cover is None:
            raise HTTPException(404, "there is no picture of that track", {"Cache-Control": "private, max-age=300"})
        headers = {
            "ETag": f'"{cover.tag}"',
            "Cache-Control": f"private, max-age={_MAX_AGE}",
            # A cover may contain anything, so the browser must not execute it or load other content
            # for it.
            "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
        }
        if _is_cached(call.request, cover.tag):
            return Response(status_code=304, headers=headers)
        return Response(cover.data, headers=headers, media_type=cover.mime)

    return Operation(
        method="GET",
        path="/player/art",
        role=Role.LISTEN,
        summary="Return the cover of a track with an ETag; 404 if there is none.",
        handler=answer,
        arguments=(URI, _SIZE),
        media="image/*",
    )


def _is_cached(request: Request, tag: str) -> bool:
    tags = request.headers.get("if-none-match", "")
    return tags.strip() == "*" or f'"{tag}"' in [each.strip().removeprefix("W/") for each in tags.split(",")]
