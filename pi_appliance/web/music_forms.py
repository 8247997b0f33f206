"""What the forms on the pages of the music ask for. Each ends on the page it stands on, by 303."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.engine.stations import Stations
from pi_appliance.model.music import Gain, Kind, Mode, Opinion, Saved, Source, Station, Uri, Wanted, Where
from pi_appliance.ports_player import Player
from pi_appliance.web.auth import page_here
from pi_appliance.web.bodies import form
from pi_appliance.web.world import Daemon

Given = Mapping[str, str]
Chosen = TypeVar("Chosen", bound=StrEnum)


class MusicForms:
    """The endpoints that take a form."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def routes(self) -> list[Route]:
        """Return every route that takes a form of these pages."""
        takers = {
            "put": self.put,
            "queue/play": self.play,
            "queue/edit": self.edit_queue,
            "playlists/edit": self.edit_playlist,
            "radio/edit": self.edit_station,
            "sound/set": self.set_sound,
            "usb/remove": self.remove_stick,
        }
        return [Route(f"/music/{path}", taker, methods=["POST"]) for path, taker in takers.items()]

    async def put(self, request: Request) -> Response:
        """Put something into the queue; `do` says where, that it is to play now, or that it is liked."""
        given = await form(request)
        source, player = _source(given), await self._player()
        match given.get("do"):
            case "play":  # a single track joins the queue, a collection takes its place
                single = given.get("kind") in (Kind.TRACK, Kind.STREAM)
                await player.add(source, Where.NEXT if single else Where.INSTEAD, play=True)
            case "next":
                await player.add(source, Where.NEXT)
            case "end":
                await player.add(source, Where.END)
            case "like" | "unlike" as what if isinstance(source, Uri):
                before = (await player.opinions([source.uri])).get(source.uri, Opinion())
                await player.set_opinion(source.uri, replace(before, favourite=what == "like"))
            case other:
                raise _unknown(other)
        return _back(given, "/music/queue")

    async def play(self, request: Request) -> Response:
        """Play a track of the queue."""
        given = await form(request)
        player = await self._player()
        if "id" in given:
            await player.play_id(_whole(given, "id"))
        else:
            await player.play(_whole(given, "position"))
        return _back(given, "/music/queue")

    async def edit_queue(self, request: Request) -> Response:
        """Move or remove a track; shuffle, empty or save the queue."""
        given = await form(request)
        player = await self._player()
        match given.get("do"):
            case "remove":
                await player.remove([_whole(given, "id")])
            case "up":
                await player.move(_whole(given, "id"), max(0, _whole(given, "position") - 1))
            case "down":
                await player.move(_whole(given, "id"), _whole(given, "position") + 1)
            case "next":
                await self._move_next(player, _whole(given, "id"), _whole(given, "position"))
            case "shuffle":
                await player.shuffle()
            case "clear":
                await player.clear()
            case "save":
                await player.save(_name(given, "name"))
                return RedirectResponse("/music/playlists", 303)
            case other:
                raise _unknown(other)
        return _back(given, "/music/queue")

    async def edit_playlist(self, request: Request) -> Response:
        """Rename or delete a playlist, or move or remove one of its entries."""
        given = await form(request)
        player, name = await self._player(), _name(given, "name")
        match given.get("do"):
            case "rename":
                other = _name(given, "other")
                if other != name:
                    await player.rename_playlist(name, other)
                name = other
            case "delete":
                await player.delete_playlist(name)
                return RedirectResponse("/music/playlists", 303)
            case "remove":
                await player.playlist_remove(name, [_whole(given, "position")])
            case "up":
                place = _whole(given, "position")
                await player.playlist_move(name, place, max(0, place - 1))
            case "down":
                place = _whole(given, "position")
                await player.playlist_move(name, place, place + 1)
            case other:
                raise _unknown(other)
        return RedirectResponse(f"/music/playlists?{urlencode({'name': name})}", 303)

    async def edit_station(self, request: Request) -> Response:
        """Add, change or remove a station."""
        given = await form(request)
        config = self._daemon.appliance.config
        stations = Stations(config.stations, config.state)
        match given.get("do"):
            case "add":  # in a thread: the address is tried
                await asyncio.to_thread(stations.add, _station(given))
            case "edit":
                await asyncio.to_thread(stations.edit, _name(given, "old"), _station(given))
            case "remove":
                await asyncio.to_thread(stations.remove, _name(given, "old"))
            case "restore":
                await asyncio.to_thread(stations.restore, _name(given, "old"))
            case other:
                raise _unknown(other)
        return RedirectResponse("/music/radio", 303)

    async def set_sound(self, request: Request) -> Response:
        """Set what the form brings, which is one thing."""
        given = await form(request)
        player = await self._player()
        if "output" in given:
            await player.set_output(_whole(given, "output"), _on(given, "on"))
            return RedirectResponse("/music/sound", 303)
        for key in given:
            await _set(player, key, given)
        return RedirectResponse("/music/sound", 303)

    async def remove_stick(self, request: Request) -> Response:
        """Let go of a USB stick."""
        await self._daemon.sticks.remove((await form(request)).get("stick", ""))
        return RedirectResponse("/music/sound", 303)

    async def _move_next(self, player: Player, track: int, position: int) -> None:
        state = await player.state()
        current = state.track.position if state.track and state.track.position is not None else -1
        await player.move(track, current if position < current else current + 1)

    async def _player(self) -> Player:
        return await self._daemon.hub.player()


async def _set(player: Player, key: str, given: Given) -> None:
    match key:
        case "repeat":
            await player.set_modes(repeat=_on(given, key))
        case "random":
            await player.set_modes(random=_on(given, key))
        case "single":
            await player.set_modes(single=_one(Mode, given[key]))
        case "consume":
            await player.set_modes(consume=_one(Mode, given[key]))
        case "crossfade":
            await player.set_crossfade(_whole(given, key))
        case "gain":
            await player.set_replay_gain(_one(Gain, given[key]))
        case "mute":
            await player.set_mute(_on(given, key))
        case "update":
            await player.update()
        case other:
            raise _unknown(other)


def _source(given: Given) -> Source:
    if "uri" in given:
        return Uri(uri=given["uri"], title=given.get("title", ""))
    if "playlist" in given:
        return Saved(playlist=given["playlist"])
    tags = {key: given[key] for key in ("artist", "album", "genre") if given.get(key)}
    if not tags:
        raise HTTPException(400, "nothing is named to put into the queue")
    return Wanted(**tags)


def _station(given: Given) -> Station:
    return Station(
        name=_name(given, "name"),
        url=_name(given, "url"),
        genre=given.get("genre", "").strip(),
        country=given.get("country", "").strip(),
    )


def _name(given: Given, key: str) -> str:
    if not (name := given.get(key, "").strip()):
        raise HTTPException(400, f"{key!r} must not be empty")
    return name


def _whole(given: Given, key: str) -> int:
    text = given.get(key, "")
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise HTTPException(400, f"{key!r} must be a whole number")
    return int(text)


def _on(given: Given, key: str) -> bool:
    if given[key] not in ("on", "off"):
        raise HTTPException(400, f"{key!r} must be on or off")
    return given[key] == "on"


def _one(kind: type[Chosen], value: str) -> Chosen:
    try:
        return kind(value)
    except ValueError:
        raise HTTPException(400, f"{value!r} must be one of {', '.join(kind)}") from None


def _unknown(what: str | None) -> HTTPException:
    return HTTPException(400, f"nothing is known of {what!r} here")


def _back(given: Given, otherwise: str) -> Response:
    return RedirectResponse(page_here(given.get("to", otherwise)), 303)
