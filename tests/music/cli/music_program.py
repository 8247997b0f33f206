"""A configuration with a player and stations, and the commands `pi-appliance music` run with it."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.installation import PROGRAM, Installation
from tests.warm_program import Process

EINS, ZWEI, ONE = "Ärzte/eins.wav", "Ärzte/zwei — 二.wav", "one.wav"
STATIONS = """\
- {name: Rädio Two, url: "RADIO/one.wav?two", genre: talk, country: GB}
- {name: FIP, url: "RADIO/one.wav?fip"}
- {name: FIP Jazz, url: "RADIO/one.wav?jazz"}
- {name: FIP Rock, url: "RADIO/one.wav?rock"}
"""
NO_SERVER = "127.0.0.1:1"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit status and the output of a command."""

    status: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        """The output without the last line end."""
        return self.raw.decode().rstrip("\n")

    @property
    def lines(self) -> list[str]:
        """The lines of the output."""
        return self.out.splitlines()


class MusicCli(Installation):
    """An installation whose player is the MPD at `address`."""

    def __init__(
        self,
        folder: Path,
        address: str,
        *,
        radio: str = "http://127.0.0.1:9",
        fallback_mpd: bool = False,
        rest: str = "",
    ) -> None:
        super().__init__(folder)
        (folder / "stations.yaml").write_text(STATIONS.replace("RADIO", radio), "utf-8")
        options = f"{{address: '{address}', fallback-mpd: {str(fallback_mpd).lower()}}}"
        self.write("", f"stations: stations.yaml\nplayer: {{kind: mpd, with: {options}}}\n{rest}")

    def music(self, *words: str) -> CommandResult:
        """Run `pi-appliance music …` in this process."""
        status, output, errors = self.call("music", *words)
        return CommandResult(status, output, errors.rstrip("\n"))

    def output(self, *words: str) -> str:
        """Run a command that must succeed without errors, and return its output."""
        result = self.music(*words)
        assert (result.status, result.err) == (0, ""), f"{words}: {result.status}, {result.err}"
        return result.out

    def values(self, *words: str) -> Any:
        """Run a command that must succeed, with --json, and return the parsed output."""
        return json.loads(self.output(*words, "--json"))

    def column(self, head: str, *words: str) -> list[str]:
        """Run a command that prints a table, and return the cells under `head`."""
        first, *rows = self.output(*words).splitlines()
        start = first.index(head)
        behind = first[start + len(head) :]
        width = len(head) + len(behind) - len(behind.lstrip()) if behind.strip() else 10_000
        return [row[start : start + width].strip() for row in rows]


class LiveCommand:
    """A command that keeps running in its own process, and its output."""

    def __init__(self, cli: MusicCli, *words: str, terminal: bool = False) -> None:
        reading, writing = pty.openpty() if terminal else os.pipe()
        self._reading, self._read_length = reading, 0
        self.output_text = ""
        surroundings = cli.environment({"COLUMNS": "100"})
        command = [*PROGRAM, "music", *words, "--config", str(cli.config)]
        self.process = Process(command, env=surroundings, stdout=writing, stderr=writing)
        os.close(writing)

    def wait_for_output(self, condition: Callable[[str], Any], seconds: float = 60) -> Any:
        """Wait until `true()` of the output since the last call, and return its result."""
        deadline = time.monotonic() + seconds
        while not (result := condition(self.output_text[self._read_length :])):
            seconds_left = deadline - time.monotonic()
            assert seconds_left > 0, f"did not come: {self.output_text!r}"
            if select.select([self._reading], [], [], seconds_left)[0]:
                self.output_text += os.read(self._reading, 65536).decode()
        self._read_length = len(self.output_text)
        return result

    def wait_for_line(self, start: str) -> str:
        """Wait for a line that begins with `start`, and return it."""
        result: re.Match[str] = self.wait_for_output(
            lambda text: re.search(rf"^{re.escape(start)}.*$\n", text, re.MULTILINE)
        )
        return result[0].rstrip("\n")

    def end(self) -> int:
        """Send Ctrl-C and return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)

    def wait(self) -> int:
        """Read the output to its end, and return the exit status."""
        with contextlib.suppress(OSError):  # a closed terminal
            while chunk := os.read(self._reading, 65536):
                self.output_text += chunk.decode()
        return self.process.wait(timeout=60)

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        os.close(self._reading)


@contextlib.contextmanager
def run_live(cli: MusicCli, *words: str, terminal: bool = False) -> Iterator[LiveCommand]:
    """Run a command in a pipe or on a terminal during the block."""
    command = LiveCommand(cli, *words, terminal=terminal)
    try:
        yield command
    finally:
        command.close()
