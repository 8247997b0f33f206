"""A world for the page: a real appliance over a temporary folder, a real service, a player made of a list."""

import asyncio
import contextlib
import dataclasses
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.runs import Runs
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.model.music import Play, PlayerState, Queue, Track
from pi_appliance.web.service import WebService

SONG = Track(uri="a.ogg", title="Blue Train", artist="John Coltrane", album="Blue Train", duration=643.0, position=0, id=1)
OTHER = Track(uri="b.ogg", title="Moment's Notice", artist="John Coltrane", duration=550.0, position=1, id=2)


class ListPlayer:
    """A player of a list of tracks; it makes no sound and no time passes."""

    def __init__(self, tracks: Sequence[Track] = (SONG, OTHER)) -> None:
        self.tracks = list(tracks)
        self.now = PlayerState(play=Play.PLAYING, track=self.tracks[0], elapsed=61.0, volume=40, queue_length=2)
        self.on_change: Callable[[], None] = lambda: None

    def become(self, **changes: Any) -> None:
        """Change the state, and tell."""
        self.now = dataclasses.replace(self.now, **changes)
        self.on_change()

    async def state(self) -> PlayerState:
        return self.now

    async def queue(self, start: int = 0, count: int = 100) -> Queue:
        return Queue(tracks=self.tracks[start : start + count], start=start, length=len(self.tracks))

    async def play(self, position: int | None = None) -> None:
        place = (self.now.track.position or 0 if self.now.track else 0) if position is None else position
        if place >= len(self.tracks):
            raise Refused(f"there is nothing at position {place}; the queue holds {len(self.tracks)}")
        self.become(play=Play.PLAYING, track=self.tracks[place])

    async def pause(self) -> None:
        self.become(play=Play.PAUSED)

    async def toggle(self) -> None:
        self.become(play=Play.PAUSED if self.now.play is Play.PLAYING else Play.PLAYING)

    async def stop(self) -> None:
        self.become(play=Play.STOPPED, elapsed=None)

    async def next(self) -> None:
        await self._go(1)

    async def previous(self) -> None:
        await self._go(-1)

    async def seek(self, seconds: float) -> None:
        self.become(elapsed=seconds)

    async def set_volume(self, volume: int) -> None:
        self.become(volume=volume)

    async def add(self, uri: str) -> Track:
        self.tracks.append(Track(uri=uri, position=len(self.tracks)))
        return self.tracks[-1]

    async def clear(self) -> None:
        self.tracks = []
        self.become(track=None)

    async def play_uri(self, uri: str, title: str = "") -> None:
        self.tracks = [Track(uri=uri, title=title, position=0)]
        self.become(play=Play.PLAYING, track=self.tracks[0], elapsed=0.0, queue_length=1)

    async def library(self, folder: str = "") -> Sequence[Track]:
        return self.tracks

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        yield frozenset({"player"})

    async def close(self) -> None:
        pass

    async def _go(self, step: int) -> None:
        place = (self.now.track.position or 0 if self.now.track else 0) + step
        await self.play(place % len(self.tracks))


class ListMusic:
    """What the daemon's hub is to the page, over a ListPlayer; without one it says `trouble`."""

    def __init__(self, player: ListPlayer | None, trouble: str = "") -> None:
        self.trouble, self.stand_in = trouble, False
        self.list_player = player
        self.watchers: set[asyncio.Event] = set()
        if player:
            player.on_change = self.tell

    @property
    def state(self) -> PlayerState | None:
        return self.list_player.now if self.list_player else None

    async def player(self) -> ListPlayer:
        if self.list_player is None:
            raise Unavailable(self.trouble)
        return self.list_player

    def tell(self) -> None:
        for each in self.watchers:
            each.set()

    async def watch(self) -> AsyncIterator[frozenset[str]]:
        news = asyncio.Event()
        news.set()
        self.watchers.add(news)
        try:
            while True:
                await news.wait()
                news.clear()
                yield frozenset({"player"})
        finally:
            self.watchers.discard(news)


@dataclass
class TheDaemon:
    """As much of the daemon as the page knows."""

    appliance: Appliance
    hub: ListMusic
    runs: Runs


@dataclass
class Ticks:
    """A clock that goes when it is told."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Answer:
    """An answer as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class World:
    """A running service, and how to talk to it from outside its loop."""

    daemon: TheDaemon
    service: WebService
    loop: asyncio.AbstractEventLoop
    ticks: Ticks
    said: str
    cookie: str = field(default="")

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"

    @property
    def player(self) -> ListPlayer:
        assert self.daemon.hub.list_player is not None
        return self.daemon.hub.list_player

    def ask(self, path: str, body: Any = None, *, method: str = "", **headers: str) -> Answer:
        """GET, or POST where there is a BODY: a text is sent as a form, anything else as JSON."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent["Cookie"] = self.cookie
        data = None
        if body is not None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        line = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=10)
        with contextlib.closing(line):
            line.request(method or ("GET" if data is None else "POST"), path, data, sent)
            answer = line.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def in_loop(self, act: Callable[[], object]) -> None:
        """Do ACT where the service lives."""
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (act(), done.set()))
        assert done.wait(10)

    @contextlib.contextmanager
    def events(self) -> Iterator["Events"]:
        """Listen to /events."""
        line = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=10)
        with contextlib.closing(line):
            line.request("GET", "/events", headers={"Cookie": self.cookie} if self.cookie else {})
            with contextlib.closing(line.getresponse()) as answer:
                assert answer.status == 200
                yield Events(answer)


@dataclass
class Events:
    """A stream of server-sent events."""

    answer: http.client.HTTPResponse

    def next(self) -> tuple[str, Any]:
        """Return the id and the state of the next event `state`."""
        fields: dict[str, str] = {}
        while True:
            line = self.answer.readline().decode()
            if not line:
                raise EOFError("the stream ended")
            if line == "\n":
                if fields.get("event") == "state":
                    return fields["id"], json.loads(fields["data"])
                fields = {}
            else:
                name, _, value = line.rstrip("\n").partition(": ")
                fields[name] = value

    def until(self, good: Callable[[Any], bool]) -> Any:
        """Return the first state that is GOOD; a socket's timeout ends the wait."""
        while True:
            _, state = self.next()
            if good(state):
                return state


def eventually(good: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Return what GOOD returns as soon as it is true."""
    deadline = time.monotonic() + seconds
    while not (found := good()):
        assert time.monotonic() < deadline, "it never happened"
        threading.Event().wait(0.05)
    return found


def configuration(folder: Path, *, web: str = "host: 127.0.0.1, port: 0", jobs: str = "", stations: str = "") -> Path:
    """Write a configuration into FOLDER and return its path. Without JOBS there is one, which says hello."""
    folder.mkdir(parents=True, exist_ok=True)
    more = ""
    if stations:
        (folder / "stations.yaml").write_text(stations)
        more = "stations: stations.yaml\n"
    path = folder / "appliance.yaml"
    path.write_text(
        f"time-zone: Europe/London\nstate: {folder}/state\nweb: {{{web}}}\n{more}jobs:\n"
        + (jobs or job("hello", "print('good morning')"))
    )
    return path


def job(name: str, code: str, more: str = "") -> str:
    """Return the YAML of a job that runs Python CODE."""
    return f"  {name}:\n    kind: command\n    with: {{run: {json.dumps([sys.executable, '-c', code])}}}\n{more}"


def set_password(config: Path, password: str) -> None:
    """Put PASSWORD among the secrets that go with CONFIG."""
    path = config.with_name("secrets.env")
    path.write_text(f"WEB_PASSWORD={password}\n")
    path.chmod(0o600)


@contextlib.contextmanager
def served(config: Path, music: ListMusic | None = None) -> Iterator[World]:
    """Serve CONFIG in a thread of its own until the block ends."""
    os.environ.pop("WEB_PASSWORD", None)
    ready: list[World] = []
    errors: list[BaseException] = []
    up = threading.Event()

    async def live() -> None:
        end = asyncio.Event()
        ticks = Ticks()
        with Appliance.open(config) as appliance:
            daemon = TheDaemon(appliance, music or ListMusic(ListPlayer()), Runs(config))
            service = WebService(ticks=ticks)
            said = await service.start(daemon)
            ready.append(World(daemon, service, asyncio.get_running_loop(), ticks, said))
            ends.append(lambda: ready[0].loop.call_soon_threadsafe(end.set))
            up.set()
            try:
                await end.wait()
            finally:
                await service.stop()
                await daemon.runs.stop(10)

    ends: list[Callable[[], object]] = []

    def thread() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:  # noqa: BLE001 - told to the test
            errors.append(error)
        finally:
            up.set()

    life = threading.Thread(target=thread)
    life.start()
    up.wait(20)
    try:
        if errors:
            raise errors[0]
        yield ready[0]
    finally:
        for end in ends:
            end()
        life.join(20)
    if errors:
        raise errors[0]
