"""The way in which `jobs run NAME --by cron` tells a slot that the chance leaves out, without loading the program.

A run that came the long way leaves a file with the slots to come, each with what the chance says of it. While all that
they follow from is the same to the byte, a skip needs nothing but that file. It can only ever be a skip: whatever is in
doubt comes the long way. This file imports next to nothing; the other half is engine/coming.py.
"""

import fcntl
import os
import time
from bisect import bisect_right
from collections.abc import Sequence

from pi_appliance import __version__
from pi_appliance.store import skip

FOLDER = "coming"
LINES = 6
"""in front of the text of the configuration, with which the file ends."""
USED = "+"
"""Stands in front of a slot that the chance uses."""
_UNPLAIN = frozenset("\"'#&*!|>%@`{}[],:\t\\")
"""What may mean something to YAML: a folder written with one of these is left to those who can read it."""


def skipped(arguments: Sequence[str], now: float) -> bool:
    """Say whether ARGUMENTS, at NOW (seconds since 1970), were a slot to skip, and that was written down."""
    match arguments:
        case ["jobs", "run", job, "--by", "cron", "--config", config] if job.replace("-", "a").isalnum():
            try:
                return _skipped(job, config, now)
            except (OSError, ValueError):
                return False
    return False


def _skipped(job: str, config: str, now: float) -> bool:
    config = os.path.join(os.getcwd(), config)
    text = _content(config)
    state = _state(text.decode("utf-8-sig"), os.path.dirname(config))
    if os.stat(state).st_uid != os.geteuid():
        return False
    head, kind, chance, schedule, limits, slots, of_text = _content(f"{state}/{FOLDER}/{job}").split(b"\n", LINES)
    if of_text != text or head.decode() != known_by(config, state):
        return False
    grace, age, runs = map(int, limits.split())
    words = slots.decode().split()
    number = bisect_right(words, int(now), key=lambda word: int(word.lstrip(USED))) - 1
    if not 0 < number < len(words) - 1 or words[number].startswith(USED) or now - int(words[number]) > grace:
        return False
    slot, before = (_text(float(words[each].lstrip(USED))) for each in (number, number - 1))
    lock = os.open(f"{state}/locks/{job}.lock", os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return skip.record(
            f"{state}/history.db",
            {
                "job": job,
                "kind": kind.decode(),
                "due": f"{slot[:19]}Z",
                "slot": slot,
                "before": before,
                "schedule": schedule.decode(),
                "summary": f"by chance ({chance.decode()})",
                "now": _text(now),
                "old": _text(now - age),
                "runs": runs,
            },
        )
    finally:
        os.close(lock)


def known_by(config: str, state: str) -> str:
    """Return in one line what slots and chances follow from beside the text of the file CONFIG."""
    secret = os.stat(f"{state}/secret.key")
    zone = os.environ.get("TZ"), os.path.realpath("/etc/localtime")
    return repr((__version__, config, os.environ.get("HOME"), *zone, secret.st_ino, secret.st_mtime_ns, secret.st_size))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _state(text: str, base: str) -> str:
    """Return the state folder that TEXT names on a plain line. Raises ValueError where that takes a reader of YAML."""
    for line in text.splitlines():
        if line.startswith("state: "):
            folder = line.removeprefix("state: ").strip()
            if folder and not set(folder) & _UNPLAIN:
                return os.path.join(base, os.path.expanduser(folder))
    raise ValueError("no plain line names the state folder")


def _text(instant: float) -> str:
    """Return INSTANT as it stands in the database: UTC, to the millisecond."""
    milliseconds = int(instant * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000)) + f".{milliseconds % 1000:03d}Z"
