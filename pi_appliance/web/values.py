"""The state as plain values, for the JSON API and the events."""

from datetime import datetime
from typing import Any

from pi_appliance.engine.assemble import Appliance, JobView, Slot
from pi_appliance.model.music import PlayerState, Queue, Track
from pi_appliance.reports import as_json
from pi_appliance.web.world import Daemon, Music

_FAR_ENOUGH = 200  # slots looked at for one that the chance uses


def state(daemon: Daemon, now: datetime) -> dict[str, Any]:
    """Return everything the page shows live."""
    return {**music(daemon.hub), "jobs": jobs(daemon.appliance, now)}


def music(hub: Music) -> dict[str, Any]:
    """Return the player, and why there is none."""
    return {"player": player(hub.state), "trouble": hub.trouble, "stand-in": hub.stand_in}


def player(state: PlayerState | None) -> dict[str, Any] | None:
    """Return what the player does."""
    if state is None:
        return None
    return {
        "play": state.play,
        "track": track(state.track),
        "elapsed": None if state.elapsed is None else round(state.elapsed, 1),
        "volume": state.volume,
        "repeat": state.repeat,
        "random": state.random,
        "single": state.single,
        "consume": state.consume,
        "queue-length": state.queue_length,
        "error": state.error,
    }


def track(track: Track | None) -> dict[str, Any] | None:
    """Return TRACK with every field it has."""
    if track is None:
        return None
    return {
        "uri": track.uri,
        "label": track.label,
        "title": track.title,
        "artist": track.artist,
        "album": track.album,
        "duration": track.duration,
        "position": track.position,
        "id": track.id,
    }


def queue(queue: Queue) -> dict[str, Any]:
    """Return a window of what plays next."""
    return {"start": queue.start, "length": queue.length, "tracks": [track(each) for each in queue.tracks]}


def jobs(appliance: Appliance, now: datetime) -> list[dict[str, Any]]:
    """Return every job, its next slot, the next one that the chance uses, and its newest run."""
    return [_job(view, next_used(appliance, view, now)) for view in appliance.jobs(now)]


def next_used(appliance: Appliance, view: JobView, now: datetime) -> Slot | None:
    """Return the next slot that the chance uses, if there is one not too far away."""
    if view.next is None or view.next.picked:
        return view.next
    coming = zip(range(_FAR_ENOUGH), appliance.slots(view.job.name, now), strict=False)
    return next((slot for _, slot in coming if slot.picked), None)


def _job(view: JobView, used: Slot | None) -> dict[str, Any]:
    return {
        "job": view.job.name,
        "kind": view.job.kind,
        "runs-by": view.job.runs_by if view.job.schedule else None,
        "chance": str(view.job.chance) if view.job.chance else None,
        "next": None if view.next is None else {"slot": as_json.instant(view.next.at), "picked": view.next.picked},
        "next-used": as_json.instant(used.at) if used else None,
        "last": as_json.run(view.last),
    }
