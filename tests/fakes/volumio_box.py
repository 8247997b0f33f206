"""The inside of a Volumio: queue, clock, mixer and quirks, without a network.

The clock is a parameter. `restart()` loses all that Volumio has in memory only.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from tests.fakes.volumio_library import Library

Item = dict[str, Any]
Push = Callable[[str, Any], None]


class Box:
    """One Volumio. `push` is called with (item, data) for each push notification."""

    def __init__(self, library: Library, clock: Callable[[], float] = time.monotonic) -> None:
        self.library, self._clock = library, clock
        self.push: Push = lambda _item, _data: None
        self.queue: list[Item] = []  # on its disk
        self.volume, self.mute, self.max_volume = 40, False, 100  # of its sound card
        self.no_mixer = False
        self.urls: list[str] = []
        self.restart()

    def restart(self) -> None:
        """Lose all that is in memory only."""
        self.status, self.position = "stop", 0
        self.random: bool | None = None  # until somebody sets it
        self.repeat: bool | None = None
        self.single = self.consume = self.updating = False
        self._seek, self._since = 0.0, self._clock()
        self.urls = []

    @property
    def track(self) -> Item | None:
        """The current track."""
        return self.queue[self.position] if self.position < len(self.queue) else None

    @property
    def seek(self) -> float:
        """The position in the track in seconds."""
        return self._seek + (self._clock() - self._since if self.status == "play" else 0.0)

    def tick(self) -> None:
        """Go to the next track if the current one has ended."""
        while self.status == "play" and self.track and self.track["duration"] and self.seek >= self.track["duration"]:
            over = self.seek - self.track["duration"]
            if self.position + 1 < len(self.queue) or self.repeat:
                self._go((self.position + 1) % len(self.queue), "play", over)
            else:
                self._go(0, "stop")

    def state(self) -> Item:
        """Return getState: seek in ms, duration in s; it differs without a track."""
        self.tick()
        same = {
            "random": self.random,
            "repeat": self.repeat,
            "repeatSingle": self.single,
            "consume": self.consume,
            "volume": 100 if self.no_mixer else self.volume,
            "dbVolume": None,
            "mute": self.mute,
            "disableVolumeControl": self.no_mixer,
            "updatedb": self.updating,
        }
        track = self.track
        if track is None:
            empty = {"status": "stop", "position": 0, "title": "", "artist": "", "album": "", "albumart": "/albumart"}
            nothing = {"duration": 0, "uri": "", "seek": 0, "samplerate": "", "channels": "", "bitdepth": ""}
            return {**empty, **nothing, "Streaming": False, "service": "mpd", **same}
        return {
            "status": self.status,
            "position": self.position,
            "title": track["name"],
            **{key: track.get(key) for key in ("artist", "album", "albumart", "uri", "trackType", "codec")},
            "seek": round(self.seek * 1000),
            **{key: track.get(key) for key in ("duration", "samplerate", "bitdepth", "channels")},
            **same,
            "stream": track["trackType"],  # a string here, a bool elsewhere
            "volatile": False,
            "disableUiControls": False,
            "service": track["service"],
        }

    def play(self, index: int | None = None) -> None:
        """Play, or play the track at `index`; a missing one stops it."""
        if index is not None:
            self._go(index, "stop")
        if self.track is None:
            self._go(0, "stop")
            raise LookupError
        self._go(self.position, "play", self.seek if self.status == "pause" else 0.0)

    def pause(self) -> None:
        if self.status == "play":
            self._go(self.position, "pause", self.seek)

    def stop(self) -> None:
        if self.status != "stop":
            self._go(self.position, "stop")

    def toggle(self) -> None:
        """Pause or play; a radio is stopped."""
        if self.status != "play":
            self.play()
        elif self.track and self.track["trackType"] == "webradio":
            self.stop()
        else:
            self.pause()

    def next(self) -> None:
        end = self.position + 1 >= len(self.queue)
        self.play(0 if end and self.repeat else self.position + 1)

    def previous(self) -> None:
        """Restart the track, or go to the one before; while stopped, only the position changes."""
        if self.status == "play" and self.seek > 3:
            self._go(self.position, "play")
        elif self.position > 0:
            self._go(self.position - 1, "stop" if self.status == "stop" else "play")

    def seek_to(self, position: str) -> None:
        """Go to a second, or ten seconds back or forward."""
        if self.track is not None:
            seconds = {"plus": self.seek + 10, "minus": self.seek - 10}.get(position)
            self._go(self.position, self.status, float(position) if seconds is None else seconds)

    def set_volume(self, volume: str) -> None:
        """Set the volume up to the configured maximum, mute it, or change it by five."""
        if self.no_mixer:
            return
        match volume:
            case "mute" | "unmute":
                self.mute = volume == "mute"
            case "toggle":
                self.mute = not self.mute
            case "plus" | "minus":
                self.volume = min(self.max_volume, max(0, self.volume + (5 if volume == "plus" else -5)))
            case _:
                self.volume = min(self.max_volume, max(0, int(volume)))
        self._changed()

    def set_random(self, value: bool | None) -> None:
        """Set it; None toggles it."""
        self.random = not self.random if value is None else value
        self._changed()

    def set_repeat(self, value: bool | None) -> None:
        """Set it; over REST this also ends repeat one."""
        self.repeat = not self.repeat if value is None else value
        self.single = False
        self._changed()

    def clear(self) -> None:
        self.stop()
        self.queue = []
        self.push("queue", list(self.queue))
        self._changed()

    def add(self, items: Item | Iterable[Item]) -> int:
        """Append `items` without repeating the end of the queue; return the first index."""
        added: list[Item] = []
        for item in [items] if isinstance(items, dict) else items:
            if "uri" in item:
                added += self.library.explode(item)
        end = [_plain(each["uri"]) for each in self.queue[len(self.queue) - len(added) :]]
        if self.queue and len(self.queue) >= len(added) and end == [_plain(each["uri"]) for each in added]:
            return len(self.queue) - len(added)
        self.queue = [*self.queue, *added]
        self.push("queue", list(self.queue))
        return len(self.queue) - len(added)

    def add_play(self, items: Item | Iterable[Item]) -> None:
        """Append, and play the first."""
        self.play(self.add(items))

    def replace_and_play(self, data: Item) -> None:
        """Clear the queue in any case, then play."""
        self.clear()
        if "uri" in data and "playlists/" in data["uri"] and "://" not in data["uri"]:
            self.play_playlist(data.get("title"))
        elif "uri" in data:
            self.play(self.add(data))
        elif "list" in data and "index" in data:
            self.add(data["list"])
            self.play(data["index"])
        elif "uri" in data.get("item", {}):
            self.play(self.add(data["item"]))

    def play_playlist(self, name: str | None) -> None:
        """Replace the queue by a saved playlist and play it."""
        items = self.library.playlists[name or ""]
        self.clear()
        self.add([{"uri": uri, "service": "mpd"} for uri in items])
        self.play(0)

    def browse(self, uri: str) -> Item:
        """Return the page of `uri`, which is URL-decoded a second time."""
        return self.library.page(unquote(uri))

    def _go(self, position: int, status: str, seek: float = 0.0) -> None:
        self.position, self.status = position, status
        self._seek, self._since = max(0.0, seek), self._clock()
        self._changed()

    def _changed(self) -> None:
        self.push("state", self.state())


def _plain(uri: str) -> str:
    return uri.replace("music-library", "mnt")
