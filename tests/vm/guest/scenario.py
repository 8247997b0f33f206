"""Move a real clock forward and back under a real daemon, and print observations: one JSON value per line.

{"step", "noticed", "said"}     seconds until the daemon reported the step, and its message
{"look", "now", "slots", "marks"}   the outcome of each slot, and one word for each real run of a job
"""

import fcntl
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.installation import Installation, wait_until
from tests.vm.guest import wall

_DAY = "2027-03-28"  # at one o'clock UTC Berlin goes from two to three
_TIMEOUT = 150.0  # seconds; an emulated machine is slow, and its host may have more to do
_YEARS = timedelta(days=3650)
_JOBS = {
    "minute": "schedule: '* * * * *'",
    "span": "schedule: every 10m",
    "night": "schedule: '30 2 * * *'",  # in the hour that is left out
    "window": "schedule: '30 4 * * *'\n  catch-up: {max-age: 6h}",
    "strict": "schedule: '0 5 * * *'",
}


class Daemon:
    """`pi-appliance up`, with the monotonic time of each line."""

    def __init__(self, installation: Installation) -> None:
        self.lines = list[tuple[float, str]]()
        self.process = installation.start("up", "-v")
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append((time.monotonic(), line.strip()))
            sys.stderr.write(line)  # for the console

    def wait_for_message(self, words: str, start: int = 0) -> tuple[float, str]:
        """Wait for a line with `words`, from `start` on; return its time and text."""
        return wait_until(lambda: self._said(words, start), _TIMEOUT)

    def _said(self, words: str, start: int) -> tuple[float, str] | None:
        result = next((each for each in self.lines[start:] if words in each[1]), None)
        assert result or self.process.poll() is None, "the daemon has ended"
        return result

    def idle(self) -> bool:
        """Return whether all runs have ended."""
        messages = [line for _, line in self.lines]
        return sum(line.endswith(" started") for line in messages) == sum(" ended status=" in line for line in messages)


class Scenario:
    """The steps in order."""

    def __init__(self, folder: Path) -> None:
        self.installation, self.marks = Installation(folder), folder / "marks"
        mark = folder / "mark"
        mark.write_text('#!/bin/sh\necho "$1 $(date -u +%FT%TZ)" >>marks\n', "ascii")
        mark.chmod(0o755)
        jobs = "".join(
            f"\n  {name}:\n    kind: command\n    with: {{run: [./mark, {name}]}}\n    " + keys.replace("\n", "\n  ")
            for name, keys in _JOBS.items()
        )
        head = f"state-dir: {self.installation.state}\ntime-zone: Europe/Berlin\n"
        head += "clock: {max-wait-for-sync: 1h}\nweb: {port: 0}\njobs:"
        self.installation.config.write_text(head + jobs + "\n", "utf-8")

    def play(self) -> None:
        """Run all steps."""
        _loopback_up()
        self.daemon = Daemon(self.installation)
        self.daemon.wait_for_message("next:")
        self._before_anybody_knows_the_time()
        self._over_the_change_of_the_clock()
        self._by_hours()
        self._by_a_second()
        self._by_years()
        self.daemon.process.terminate()
        print_values(ended=self.daemon.process.wait(_TIMEOUT))

    def _before_anybody_knows_the_time(self) -> None:
        self._step("by hand", lambda: wall.put_to(_at("00:41:57")))
        wait_until(lambda: "span" in self._marks(), _TIMEOUT)
        _wait_for(_at("00:42:03"))
        self._sample("untrusted")

    def _over_the_change_of_the_clock(self) -> None:
        start = len(self.daemon.lines)
        self._step("is_synchronized", lambda: wall.synchronise(_at("00:59:52")))
        self.daemon.wait_for_message("the clock is trusted", start)
        wait_until(lambda: "night" in self._marks(), _TIMEOUT)
        self._sample("summer time")

    def _by_hours(self) -> None:
        self._step("3 hours forward", lambda: wall.put_by(timedelta(hours=3)))
        wait_until(lambda: "window" in self._marks(), _TIMEOUT)
        self._sample("3 hours later")
        self._step("3 hours back", lambda: wall.put_by(-timedelta(hours=3)))
        self._sample("the same hour again")

    def _by_a_second(self) -> None:
        """Repeat a slot by a step of one second, and skip one."""
        self._step("an hour and a half forward", lambda: wall.put_to(_at("02:30:05")))
        self._rest()
        self._step("before a slot", lambda: wall.put_to(_at("02:30:58")))
        _wait_for(_at("02:31:00"), 0.1)
        self._step("1 second back", lambda: wall.put_by(-timedelta(seconds=1)))
        _wait_for(_at("02:31:01"))
        self._sample("a slot came twice")
        self._step("before the next", lambda: wall.put_to(_at("02:31:57")))
        _wait_for(_at("02:31:59"), 0.5)
        self._step("1 second forward", lambda: wall.put_by(timedelta(seconds=1)))
        self._sample("seconds")

    def _by_years(self) -> None:
        self._step("10 years forward", lambda: wall.put_by(_YEARS))
        self._sample("10 years later")
        self._step("10 years back", lambda: wall.put_by(-_YEARS))
        self._sample("10 years earlier")
        # Before the years `window` and `span` used the slot of 02:30, and `minute` that of 02:31.
        self._step("before a used slot", lambda: wall.put_to(_at("02:29:58")))
        _wait_for(_at("02:30:01"))
        self._rest()
        self._step("before another", lambda: wall.put_to(_at("02:30:58")))
        _wait_for(_at("02:31:01"))
        self._sample("used slots again")

    def _step(self, name: str, put: Callable[[], None]) -> None:
        """Set the clock, and print when the daemon noticed."""
        start, before = len(self.daemon.lines), time.monotonic()
        put()
        moment, message = self.daemon.wait_for_message("the clock was put", start)
        print_values(step=name, noticed=round(moment - before, 3), said=message)

    def _sample(self, name: str) -> None:
        """Print the history as soon as all runs have ended."""
        self._rest()
        now = datetime.now(UTC)
        slots = self.installation.json("jobs", "history", "--slots", "--count", "300")
        print_values(look=name, now=now.strftime("%FT%TZ"), slots=slots, marks=self._marks())

    def _rest(self) -> None:
        """Wait until due runs have started and ended."""
        time.sleep(2)
        wait_until(self.daemon.idle, _TIMEOUT)

    def _marks(self) -> list[str]:
        """Return the jobs that really ran, one item per run."""
        return [line.split()[0] for line in self.marks.read_text("ascii").splitlines()] if self.marks.exists() else []


def print_values(**values: object) -> None:
    """Print one line for the test outside."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def _at(time_of_day: str) -> datetime:
    return datetime.fromisoformat(f"{_DAY}T{time_of_day}Z")


def _wait_for(when: datetime, more: float = 0) -> None:
    wait_until(lambda: time.time() >= when.timestamp() + more, _TIMEOUT)


def _loopback_up() -> None:
    with socket.socket() as sock:
        name_and_flags = struct.pack("16sh14x", b"lo", 0x1)  # IFF_UP
        fcntl.ioctl(sock, 0x8914, name_and_flags)  # SIOCSIFFLAGS


if __name__ == "__main__":
    home = Path("/srv/appliance")
    home.mkdir()
    Scenario(home).play()
