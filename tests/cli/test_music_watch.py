"""pi-appliance music watch: a process of its own beside a real MPD, in a pipe and on a terminal."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.music_room import EINS, ONE, Room
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.house import PROGRAM

pytestmark = needs_mpd


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd") as running:
        running.mpc("add", ONE, EINS)
        yield running


@pytest.fixture
def room(tmp_path: Path, server: MpdServer) -> Room:
    return Room(tmp_path, server.address)


class Watch:
    """A `music watch` that goes on, and what it says."""

    def __init__(self, room: Room, *words: str, terminal: bool = False) -> None:
        reading, writing = pty.openpty() if terminal else os.pipe()
        self._reading, self._said, self._seen = reading, "", 0
        surroundings = room.environment({"COLUMNS": "100"})
        command = [*PROGRAM, "music", "watch", *words, "--config", str(room.config)]
        self.process = subprocess.Popen(command, env=surroundings, stdout=writing, stderr=writing)
        os.close(writing)

    def until(self, true: Callable[[str], Any], seconds: float = 15) -> Any:
        """Wait until TRUE of what it has said since the last call, and return what that returned."""
        deadline = time.monotonic() + seconds
        while not (found := true(self._said[self._seen :])):
            left = deadline - time.monotonic()
            assert left > 0, f"did not come: {self._said!r}"
            if select.select([self._reading], [], [], left)[0]:
                self._said += os.read(self._reading, 65536).decode()
        self._seen = len(self._said)
        return found

    def line(self, start: str) -> str:
        """Wait for a line that begins with START, and return it."""
        found: re.Match[str] = self.until(lambda said: re.search(rf"^{re.escape(start)}.*$\n", said, re.MULTILINE))
        return found[0].rstrip("\n")

    def end(self) -> int:
        """Press Ctrl-C and return its status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=15)

    def close(self) -> None:
        """Let nothing of it be left."""
        self.process.kill()
        self.process.wait()
        os.close(self._reading)


@contextlib.contextmanager
def watching(room: Room, *words: str, terminal: bool = False) -> Iterator[Watch]:
    watch = Watch(room, *words, terminal=terminal)
    try:
        yield watch
    finally:
        watch.close()


def test_each_change_is_a_line_and_ctrl_c_ends_it_well(room: Room, server: MpdServer) -> None:
    with watching(room) as watch:
        assert watch.line("[") == "[connected] stopped, 2 in the queue, volume 100%"
        server.mpc("volume", "40")
        assert watch.line("[volume]") == "[volume] stopped, 2 in the queue, volume 40%"
        server.mpc("play", "2")
        assert watch.line("[").startswith("[player] playing: Die Ärzte - Eins, 2 of 2, 0:00/0:20, volume 40%")
        server.mpc("pause")
        assert watch.line("[player] paused").endswith("volume 40%")
        server.mpc("random", "on")
        assert watch.line("[modes]").endswith(", random")
        server.mpc("clear")
        assert "the queue is empty" in watch.line("[player, queue]")
        assert watch.end() == 0


def test_for_programs_each_change_is_an_object(room: Room, server: MpdServer) -> None:
    with watching(room, "--json") as watch:
        first = json.loads(watch.line("{"))
        assert (first["changed"], first["state"]["queue_length"]) == (["connection"], 2)
        server.mpc("volume", "33")
        second = json.loads(watch.line("{"))
        assert (second["changed"], second["state"]["volume"]) == (["mixer"], 33)
        assert watch.end() == 0


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_player_that_is_killed_is_said_once_and_waited_for(room: Room, server: MpdServer, words: list[str]) -> None:
    lost, back = ('{"lost"', '{"changed": ["connection"]') if words else ("[lost]", "[connected]")
    with watching(room, *words) as watch:
        watch.line(back)
        server.kill()
        assert server.address in watch.line(lost)
        server.start()
        said = watch.until(lambda said: said if back in said and said.endswith("\n") else "")
        assert said.count("\n") == 1, "between lost and back nothing is said"
        server.mpc("volume", "20")
        assert "20" in watch.line("[volume]" if not words else '{"changed": ["mixer"]')
        assert watch.end() == 0


def test_ctrl_c_ends_it_well_while_the_player_is_lost(room: Room, server: MpdServer) -> None:
    with watching(room) as watch:
        watch.line("[connected]")
        server.kill()
        watch.line("[lost]")
        assert watch.end() == 0


def test_on_a_terminal_one_line_is_drawn_over_itself_and_its_time_runs(room: Room, server: MpdServer) -> None:
    server.mpc("play", "2")
    with watching(room, terminal=True) as watch:
        watch.until(lambda said: "[connected] playing: Die Ärzte - Eins, 2 of 2" in said)
        drawn = watch.until(lambda said: re.findall(r"\r\x1b\[K(\[connected\] playing: [^\r]*, 0:0[2-9]/0:20)", said))
        assert drawn, "time runs while nothing changes"
        server.mpc("volume", "55")
        watch.until(lambda said: "\r\x1b[K[volume] playing" in said and "volume 55%" in said)
        assert "\n" not in watch._said
        server.kill()
        watch.until(lambda said: "\r\x1b[K[lost] " in said)
        assert watch.end() == 0
        assert watch.until(lambda said: said.endswith("\r\n") and said)


def test_whoever_stops_reading_ends_it_without_a_traceback(room: Room, server: MpdServer) -> None:
    command = [*PROGRAM, "music", "watch", "--config", str(room.config)]
    with subprocess.Popen(
        command, env=room.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        watch.stdout.readline()
        watch.stdout.close()
        server.mpc("volume", "20")
        watch.wait(timeout=15)
        assert watch.stderr.read() == ""


def test_what_a_station_says_cannot_move_the_cursor(room: Room, server: MpdServer) -> None:
    server.mpc("clear")
    with watching(room) as watch:
        watch.line("[connected]")
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(b'addid "http://127.0.0.1:9/x"\n')
            text = b""
            while b"Id: " not in text or not text.endswith(b"OK\n"):
                text += connection.recv(1000)
            number = text.partition(b"Id: ")[2].split()[0]
            connection.sendall(b'addtagid %s title "a\x1b[2Jb\tc"\nplayid %s\n' % (number, number))
            assert "\x1b" not in watch.line("[player") + room.told("status") + room.told("queue")
        assert "a [2Jb c" in room.told("queue")
