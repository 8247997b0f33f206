"""Music as JSON values, for the API and the events. `schemas` has the schemas of these values."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pi_appliance.music.model import Entry, Output, Page, PlayerState, Queue, Track

if TYPE_CHECKING:
    from pi_appliance.music.player_hub import Music
    from pi_appliance.music.stations.service import StationView

T = TypeVar("T")
Values = dict[str, Any]


def _fields(item: Any) -> Values:
    return {each.name: getattr(item, each.name) for each in dataclasses.fields(item)}


def music(hub: "Music", after: PlayerState | None = None) -> Values:
    """Return the player, its capabilities and its error; `after` is newer than the hub's state."""
    return {
        "player": player(after or hub.state),
        "capabilities": sorted(hub.capabilities),
        "error": hub.error,
        "status_text": hub.status_text,
        "fallback": hub.uses_fallback,
    }


def player(state: PlayerState | None) -> Values | None:
    """Return the state of the player."""
    if state is None:
        return None
    values = _fields(state)
    return {
        "play": values.pop("playback"),
        "audio": values.pop("audio_format"),
        **values,
        "track": track(state.track) if state.track else None,
        "elapsed": None if state.elapsed is None else round(state.elapsed, 1),
    }


def track(track: Track) -> Values:
    """Return a track with all its fields."""
    return {**_fields(track), "label": track.label}


def queue(queue: Queue) -> Values:
    """Return a page of the queue."""
    items = [track(each) for each in queue.tracks]
    more = queue.start + len(items) < queue.length
    return {"start": queue.start, "length": queue.length, "more": more, "items": items, "version": queue.version}


def window(window: Page[T], each: Callable[[T], Values]) -> Values:
    """Return a page; `each` converts an item."""
    items = [each(item) for item in window.items]
    return {"start": window.start, "length": window.length, "more": window.has_more, "items": items}


def entry(entry: Entry) -> Values:
    """Return an entry of a list."""
    return {**_fields(entry), "track": track(entry.track) if entry.track else None}


def output(output: Output) -> Values:
    """Return an output."""
    return {"id": output.id, "name": output.name, "on": output.enabled, "plugin": output.plugin}


def station_view(view: "StationView") -> Values:
    """Return a station, whether it is custom, and the owner's station that it overrides."""
    return {**dataclasses.asdict(view.station), "custom": view.custom, "overrides": view.overrides}
