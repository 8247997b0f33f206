"""What `music watch` does: follow the player through its absences, and show each change in one of three ways."""

import dataclasses
import json
import shutil
import sys
import time
import unicodedata
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import click

from pi_appliance.cli.terminal import json_option
from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config
from pi_appliance.errors import Unavailable
from pi_appliance.music.cli import player_text
from pi_appliance.music.cli.group import music_command
from pi_appliance.music.cli.session import opened, partition_of
from pi_appliance.music.model import PlaybackState, PlayerState
from pi_appliance.system.clock import Backoff

CONNECTION = "connection"  # among what changed: the player is there, or there again
_FIRST, _LONGEST = timedelta(seconds=0.25), timedelta(seconds=2)  # between two looks for a player that is lost
# Where people have another word for what changed than MPD.
_LIVE_WORDS = {
    CONNECTION: "connected",
    "database": "library",
    "mixer": "volume",
    "options": "modes",
    "output": "outputs",
    "partition": "partitions",
    "playlist": "queue",
    "sticker": "favourites",
    "stored_playlist": "playlists",
}


class Shown(Protocol):
    """A way to show changes."""

    def changed(self, names: Collection[str], state: PlayerState) -> None:
        """Show that NAMES changed, and STATE since then."""

    def lost(self, why: str) -> None:
        """Show that the player is gone, and WHY."""

    def tick(self) -> None:
        """Show that a second has passed."""

    def end(self) -> None:
        """Leave the terminal as it should be."""


class Lines:
    """A line for each change."""

    def changed(self, names: Collection[str], state: PlayerState) -> None:
        """Print what changed, and what plays now."""
        click.echo(_line(names, state))

    def lost(self, why: str) -> None:
        """Print why."""
        click.echo(_lost(why))

    def tick(self) -> None:
        """Do nothing: time alone is no change."""

    def end(self) -> None:
        """Do nothing."""


class Json:
    """A line of JSON for each change."""

    def changed(self, names: Collection[str], state: PlayerState) -> None:
        """Print what changed, in MPD's words, and the state."""
        click.echo(json.dumps({"changed": sorted(names), "state": dataclasses.asdict(state)}))

    def lost(self, why: str) -> None:
        """Print why."""
        click.echo(json.dumps({"lost": why}))

    def tick(self) -> None:
        """Do nothing: time alone is no change."""

    def end(self) -> None:
        """Do nothing."""


class Screen:
    """One line on a terminal, drawn over itself; the time runs."""

    def __init__(self) -> None:
        self._names: Collection[str] = ()
        self._state: PlayerState | None = None
        self._read_at = 0.0

    def changed(self, names: Collection[str], state: PlayerState) -> None:
        """Draw what changed, and what plays now."""
        self._names, self._state, self._read_at = names, state, time.monotonic()
        _draw(_line(names, state))

    def lost(self, why: str) -> None:
        """Draw why."""
        self._state = None
        _draw(_lost(why))

    def tick(self) -> None:
        """Draw the line with the time it is in the track now."""
        state = self._state
        if state is None or state.playback is not PlaybackState.PLAYING or state.elapsed is None:
            return
        elapsed = state.elapsed + time.monotonic() - self._read_at
        if state.track is not None and state.track.duration is not None:
            elapsed = min(elapsed, state.track.duration)
        _draw(_line(self._names, dataclasses.replace(state, elapsed=elapsed)))

    def end(self) -> None:
        """Go on below the line."""
        click.echo()


def run(settings: Config, shown: Shown) -> None:
    """Show each change of the player until Ctrl-C. Raises Unavailable if there never was one, Refused."""
    import asyncio  # noqa: PLC0415 - not needed to print the help

    async def follow_and_tick() -> None:
        ticking = asyncio.create_task(_tick(shown)) if isinstance(shown, Screen) else None
        try:
            await _follow(settings, shown)
        finally:
            if ticking is not None:
                ticking.cancel()

    asyncio.run(follow_and_tick())


async def _tick(shown: Shown) -> None:
    import asyncio  # noqa: PLC0415 - not needed to print the help

    while True:
        await asyncio.sleep(1)
        shown.tick()


async def _follow(settings: Config, shown: Shown) -> None:
    import asyncio  # noqa: PLC0415 - not needed to print the help

    backoff, was_connected = Backoff(_FIRST, _LONGEST), False
    while True:
        is_new, reason = True, "the player closed the connection"
        try:
            async with opened(settings, partition_of(settings)) as player:
                async for names in player.watch_changes():
                    shown.changed({CONNECTION} if is_new else names, await player.state())
                    was_connected, is_new = True, False
                    backoff.reset()
        except Unavailable as error:
            if not was_connected:
                raise
            reason = str(error)
        if backoff.failures == 0:  # reported once per loss
            shown.lost(reason)
        await asyncio.sleep(backoff.next_delay().total_seconds())


def _line(names: Collection[str], state: PlayerState) -> str:
    words = ", ".join(sorted({_LIVE_WORDS.get(name, name) for name in names}))
    return f"[{words}] {player_text.line(state)}"


def _lost(why: str) -> str:
    return f"[lost] {player_text.plain(why)}; it is waited for"


def _draw(line: str) -> None:
    click.echo(f"\r\x1b[K{_cut(line, shutil.get_terminal_size().columns - 1)}", nl=False)


def _cut(line: str, width: int) -> str:
    """Return as much of LINE as fits into WIDTH columns; a line that wraps could not be drawn over."""
    for place, letter in enumerate(line):
        if unicodedata.combining(letter):
            continue
        width -= 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if width < 0:
            return line[:place]
    return line


@music_command("watch", "Show what plays, live.")
@json_option
def watch(config: Path, as_json: bool) -> None:
    """Show what plays and what changed, until Ctrl-C: one line that keeps up, or in a pipe a line for each change.

    With --json, a line of JSON for each change: `changed`, in MPD's words, and `state`; or `lost`, and why. A player
    that is lost is waited for; when it is back, `connection` is what changed.
    """
    settings = load_config(config)
    live = sys.stdout.isatty() and not as_json
    shown = Screen() if live else Json() if as_json else Lines()
    try:
        run(settings, shown)
    except KeyboardInterrupt:
        pass
    finally:
        shown.end()
