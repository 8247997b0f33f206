"""What a Volumio is inside: queue, clock, mixer and quirks. It has no network; volumio_server.py gives it one.

The clock is a parameter: time passes only as it says. What Volumio keeps in memory only is gone after `restart()`.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from tests.fakes.volumio_library import Library

Item = dict[str, Any]
Push = Callable[[str, Any], None]


class Box:
    """One Volumio. PUSH is called with (item, data) as its push notifications go out."""

    def __init__(self, library: Library, clock: Callable[[], float] = time.monotonic) -> None:
        self.library, self._clock = library, clock
        self.push: Push = lambda _item, _data: None
        self.queue: list[Item] = []  # on its disk
        self.volume, self.mute, self.most = 40, False, 100  # of its sound card
        self.no_mixer = False
        self.urls: list[str] = []
        self.restart()

    def restart(self) -> None:
        """Forget all that is in memory only."""
        self.status, self.position = "stop", 0
        self.random: bool | None = None  # until somebody sets it
        self.repeat: bool | None = None
        self.single = self.consume = self.updating = False
        self._seek, self._since = 0.0, self._clock()
        self.urls = []

    @property
    def track(self) -> Item | None:
        """What plays, or would."""
        return self.queue[self.position] if self.position < len(self.queue) else None

    @property
    def seek(self) -> float:
        """Seconds from the start of the track."""
        return self._seek + (self._clock() - self._since if self.status == "play" else 0.0)

    def tick(self) -> None:
        """Let a track that is over be followed by the next."""
        while self.status == "play" and self.track and self.track["duration"] and self.seek >= self.track["duration"]:
            over = self.seek - self.track["duration"]
            if self.position + 1 < len(self.queue) or self.repeat:
                self._go((self.position + 1) % len(self.queue), "play", over)
            else:
                self._go(0, "stop")

    def state(self) -> Item:
        """Return what getState does: seek in ms, duration in s, and another shape where there is no track."""
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
        """Play on, or the track at `index`; one that is not there stops it."""
        if index is not None:
            self._go(index, "stop")
        if self.track is None:
            self._go(0, "stop")
            raise LookupError
        self._go(self.position, "play", self.seek if self.status == "pause" else 0.0)

    def pause(self) -> None:
        """Pause if it plays."""
        if self.status == "play":
            self._go(self.position, "pause", self.seek)

    def stop(self) -> None:
        """Stop."""
        if self.status != "stop":
            self._go(self.position, "stop")

    def toggle(self) -> None:
        """Pause or play; what is on the radio is stopped."""
        if self.status != "play":
            self.play()
        elif self.track and self.track["trackType"] == "webradio":
            self.stop()
        else:
            self.pause()

    def next(self) -> None:
        """Go to the next track, and play."""
        end = self.position + 1 >= len(self.queue)
        self.play(0 if end and self.repeat else self.position + 1)

    def previous(self) -> None:
        """Go to the start of the track, then to the one before; while stopped, only the place changes."""
        if self.status == "play" and self.seek > 3:
            self._go(self.position, "play")
        elif self.position > 0:
            self._go(self.position - 1, "stop" if self.status == "stop" else "play")

    def seek_to(self, position: str) -> None:
        """Go to a second, or plus or minus ten."""
        if self.track is not None:
            seconds = {"plus": self.seek + 10, "minus": self.seek - 10}.get(position)
            self._go(self.position, self.status, float(position) if seconds is None else seconds)

    def set_volume(self, volume: str) -> None:
        """Set the volume, never above the most that its settings allow; mute; or go five up or down."""
        if self.no_mixer:
            return
        match volume:
            case "mute" | "unmute":
                self.mute = volume == "mute"
            case "toggle":
                self.mute = not self.mute
            case "plus" | "minus":
                self.volume = min(self.most, max(0, self.volume + (5 if volume == "plus" else -5)))
            case _:
                self.volume = min(self.most, max(0, int(volume)))
        self._changed()

    def set_random(self, value: bool | None) -> None:
        """Set it; None: the other way round."""
        self.random = not self.random if value is None else value
        self._changed()

    def set_repeat(self, value: bool | None) -> None:
        """Set it; over REST that ends the repeating of one track."""
        self.repeat = not self.repeat if value is None else value
        self.single = False
        self._changed()

    def clear(self) -> None:
        """Empty the queue."""
        self.stop()
        self.queue = []
        self.push("queue", list(self.queue))
        self._changed()

    def add(self, items: Item | Iterable[Item]) -> int:
        """Put `items` at the end and return where the first is. What the queue ends with already is not added again."""
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
        """Add, and play the first."""
        self.play(self.add(items))

    def replace_and_play(self, data: Item) -> None:
        """Clear first, whatever comes; then play."""
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
        """Play a saved playlist in place of the queue."""
        items = self.library.playlists[name or ""]
        self.clear()
        self.add([{"uri": uri, "service": "mpd"} for uri in items])
        self.play(0)

    def browse(self, uri: str) -> Item:
        """Return the page of `uri`, which is decoded once more than HTTP does."""
        return self.library.page(unquote(uri))

    def _go(self, position: int, status: str, seek: float = 0.0) -> None:
        self.position, self.status = position, status
        self._seek, self._since = max(0.0, seek), self._clock()
        self._changed()

    def _changed(self) -> None:
        self.push("state", self.state())


def _plain(uri: str) -> str:
    return uri.replace("music-library", "mnt")
