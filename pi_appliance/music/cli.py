"""The commands of `pi-appliance music` that use the terminal while they run."""

import base64
import dataclasses
import inspect
import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Collection
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli.client import ProgressLine, config_option, json_option, printable, run_operation
from pi_appliance.cli.program import EXIT_STATUSES
from pi_appliance.config.loader import load_config
from pi_appliance.config.options import Config
from pi_appliance.config.secrets import load as load_secrets
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music import text
from pi_appliance.music.model import CONNECTION, PlaybackState, PlayerState, advanced, player_values
from pi_appliance.music.usb import mounts
from pi_appliance.operations import MODULES, operations_in, to_json
from pi_appliance.system.backoff import Backoff

_POLL_INTERVAL = 0.2  # seconds between two requests for the progress of an update


@click.group("music")
def command() -> None:
    """Show what plays, control the player, fill the queue."""


def music_command(name: str, short_help: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that adds a function with the parameter `config` to the group."""

    def decorate(function: Callable[..., None]) -> click.Command:
        description = f"{inspect.cleandoc(function.__doc__ or '')}\n{EXIT_STATUSES}"
        return command.command(name, help=description, short_help=short_help)(config_option(function))

    return decorate


def _request(config: Path | None, method: str, path: str, **arguments: object) -> Any:
    operations = operations_in(*MODULES["music"])
    operation = next(each for each in operations if (each.method, each.path) == (method, path))
    return run_operation(operation, operation.parse(arguments), str(config) if config else None)


@music_command("update", "Scan the library for new, changed and deleted files.")
@click.argument("folder", default="")
@click.option("--wait", is_flag=True, help="Wait until it is done; on a terminal, show the progress.")
@json_option
def update(config: Path, folder: str, wait: bool, as_json: bool) -> None:
    """Scan the library, or FOLDER of it, for new, changed and deleted files."""
    before = _request(config, "GET", "/player/stats") if wait else None
    progress = _request(config, "POST", "/player/update", folder=folder)
    if before is None:
        name = printable(folder) or "the library"
        click.echo(json.dumps(progress) if as_json else f"{name} is being updated; `music status` shows until when")
        return
    _wait_for_update(folder, progress, config)
    after = _request(config, "GET", "/player/stats")
    if as_json:
        click.echo(json.dumps(after))
        return
    change = after["tracks"] - before["tracks"]
    compared = f"{abs(change):,} {'more' if change > 0 else 'fewer'} than before" if change else "as many as before"
    click.echo(f"updated: {text.library_size(after)}, {compared}")


def _wait_for_update(folder: str, progress: Any, config: Path) -> None:
    bar, began = ProgressLine(), time.monotonic()
    try:
        while progress["updating"] is not None:
            # For the whole library, MPD counts the tracks only at the end.
            count = f", {progress['tracks']:,} tracks so far" if folder and progress["tracks"] is not None else ""
            bar.show(None, f"{text.format_time(time.monotonic() - began)} scanning{count}")
            time.sleep(_POLL_INTERVAL)
            progress = _request(config, "GET", "/player/update", folder=folder)
    finally:
        bar.clear()


@music_command("art", "Describe the picture of a track, or write it to a file.")
@click.argument("track", default="", metavar="[N|FILE]")
@click.option("--to", "target", metavar="PATH", help="Write it to this file; - is the standard output.")
@json_option
def art(config: Path, track: str, target: str | None, as_json: bool) -> None:
    """Describe the picture of the current track, of track N or of FILE, or write it to a file."""
    picture = _request(config, "GET", "/player/picture", **({"track": track} if track else {}))
    data = base64.b64decode(picture["data"])
    if target == "-":
        click.echo(data, nl=False)
        return
    if target is not None:
        Path(target).write_bytes(data)
    if as_json:
        click.echo(json.dumps({"uri": picture["track"]["uri"], "mime": picture["mime"], "bytes": len(data)}))
        return
    destination = f" written to {target}" if target is not None else ""
    click.echo(f"{text.track_name(picture['track'])}: {picture['mime']}, {len(data):,} bytes{destination}")


@music_command("card", "List the sound cards, or choose the one that plays.")
@click.argument("name", default="")
# used by systemd, to run the choice that the page has requested
@click.option("--requested", is_flag=True, hidden=True)
@json_option
def card(config: Path, name: str, requested: bool, as_json: bool) -> None:  # noqa: ARG001 - that of all commands
    """List the sound cards of this machine, or let NAME play. Choosing needs root.

    The choice is stored in /etc/asound.conf, for all programs that do not name a card themselves,
    such as Debian's MPD, which is restarted.
    """
    from pi_appliance.music import sound_cards  # noqa: PLC0415 - only here

    root = sound_cards.machine_root()
    if name or requested:
        chosen = sound_cards.choose_card(name, root) if name else sound_cards.choose_requested_card(root)
        if chosen:
            click.echo(f"{chosen.id} plays; hear it: pi-appliance music announce --source chime")
        return
    cards = sound_cards.list_cards(root)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in cards]))
        return
    for line in sound_cards.describe_cards(cards) or ["this machine has no sound card that can play"]:
        click.echo(line)
    if by_hand := sound_cards.find_owner_setting(root):
        click.echo(by_hand)


def complete_station(prefix: str) -> list[str]:
    """Return the stations whose names start with `prefix`, for the completion of a shell."""
    listed = _request(None, "GET", "/stations")
    names = [each["name"] for each in listed] if isinstance(listed, list) else []
    return [name for name in names if name.casefold().startswith(prefix.casefold())]


# limits of the wait between two attempts to connect
_FIRST_DELAY, _MAX_DELAY = timedelta(seconds=0.25), timedelta(seconds=2)
# The names of MPD's subsystems as users know them.
_SUBSYSTEMS = {
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


class LineView:
    """Prints one line of text for each change."""

    def show_change(self, names: Collection[str], state: PlayerState) -> None:
        """Print the change, and the track that plays."""
        click.echo(_line(names, state))

    def show_loss(self, reason: str) -> None:
        """Print why the player was lost."""
        click.echo(_loss(reason))

    def tick(self) -> None:
        """Do nothing; a view on a terminal updates the elapsed time."""

    def close(self) -> None:
        """Do nothing; a view on a terminal moves the cursor below its line."""


class JsonView(LineView):
    """Prints one line of JSON for each change."""

    def show_change(self, names: Collection[str], state: PlayerState) -> None:
        """Print the change, in MPD's terms, and the player as the API returns it."""
        click.echo(json.dumps({"changed": sorted(names), "player": to_json(player_values(state))}))

    def show_loss(self, reason: str) -> None:
        """Print why the player was lost."""
        click.echo(json.dumps({"lost": reason}))


class TerminalView(LineView):
    """Redraws one line on a terminal, in which the elapsed time runs."""

    def __init__(self) -> None:
        self._names: Collection[str] = ()
        self._state: PlayerState | None = None
        self._read_at = 0.0

    def show_change(self, names: Collection[str], state: PlayerState) -> None:
        """Draw the change, and the track that plays."""
        self._names, self._state, self._read_at = names, state, time.monotonic()
        _draw(_line(names, state))

    def show_loss(self, reason: str) -> None:
        """Draw why the player was lost."""
        self._state = None
        _draw(_loss(reason))

    def tick(self) -> None:
        """Draw the line with the elapsed time of this moment."""
        if self._state is not None and self._state.playback is PlaybackState.PLAYING:
            _draw(_line(self._names, advanced(self._state, time.monotonic() - self._read_at)))

    def close(self) -> None:
        """Move the cursor below the line."""
        click.echo()


def run(settings: Config, view: LineView) -> None:
    """Show each change of the player until Ctrl-C.

    Raises Unavailable if it is not reached at the start, Refused.
    """
    import asyncio  # noqa: PLC0415 - not needed to print the help

    async def follow_and_tick() -> None:
        ticking = asyncio.create_task(_tick(view)) if isinstance(view, TerminalView) else None
        try:
            await _follow(settings, view)
        finally:
            if ticking is not None:
                ticking.cancel()

    asyncio.run(follow_and_tick())


async def _tick(view: LineView) -> None:
    import asyncio  # noqa: PLC0415 - not needed to print the help

    while True:
        await asyncio.sleep(1)
        view.tick()


async def _follow(settings: Config, view: LineView) -> None:
    import asyncio  # noqa: PLC0415 - not needed to print the help

    from pi_appliance.music.player_hub import opened_player  # noqa: PLC0415 - as above

    secrets = load_secrets(settings.path, os.environ)
    backoff, was_connected = Backoff(_FIRST_DELAY, _MAX_DELAY), False
    while True:
        is_new, reason = True, "the player closed the connection"
        try:
            async with opened_player(settings, secrets, notify=_note_fallback) as player:
                async for names in player.watch_changes():
                    view.show_change({CONNECTION} if is_new else names, await player.state())
                    was_connected, is_new = True, False
                    backoff.reset()
        except Unavailable as error:
            if not was_connected:
                raise
            reason = str(error)
        if backoff.failures == 0:  # a loss is reported once, not at each attempt
            view.show_loss(reason)
        await asyncio.sleep(backoff.next_delay().total_seconds())


def _note_fallback(_: str) -> None:
    click.echo("the configured MPD is not reached; this is the built-in silent player", err=True)


def _line(names: Collection[str], state: PlayerState) -> str:
    words = ", ".join(sorted({_SUBSYSTEMS.get(name, name) for name in names}))
    player = {"player": to_json(player_values(state)), "error": "", "fallback": False}
    return f"[{words}] {text.player_line(player, {})}"


def _loss(reason: str) -> str:
    return f"[lost] {printable(reason)}; waiting for it"


def _draw(line: str) -> None:
    click.echo(f"\r\x1b[K{_cut(line, shutil.get_terminal_size().columns - 1)}", nl=False)


def _cut(line: str, width: int) -> str:
    """Return as much of `line` as fits into `width` columns, so that it can be redrawn."""
    for index, character in enumerate(line):
        if unicodedata.combining(character):
            continue
        width -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width < 0:
            return line[:index]
    return line


@music_command("watch", "Show what plays, live.")
@json_option
def watch(config: Path, as_json: bool) -> None:
    """Show what plays and each change until Ctrl-C: one line that is redrawn, or many in a pipe.

    With --json, one line of JSON for each change: `changed`, the subsystems in MPD's terms, and
    `player`; or `lost`, the reason. After a loss it waits for the player; `connection` is among the
    changes when it is back.
    """
    settings = load_config(config)
    is_live = sys.stdout.isatty() and not as_json
    view = TerminalView() if is_live else JsonView() if as_json else LineView()
    try:
        run(settings, view)
    except KeyboardInterrupt:
        pass
    finally:
        view.close()


_USB_STATUSES = """

\b
Exit status:
  0   done, or nothing to do
  1   refused; the message says why
  2   wrong use, an unknown name, or a wrong configuration
  75  no folder of USB drives is configured
"""


@command.group("usb", short_help="USB drives with music.")
def usb() -> None:
    """Manage USB drives with music."""


def _usb_command(name: str, short_help: str) -> Callable[[Callable[..., None]], click.Command]:
    def decorate(function: Callable[..., None]) -> click.Command:
        description = inspect.cleandoc(function.__doc__ or "") + _USB_STATUSES
        return usb.command(name, help=description, short_help=short_help)(config_option(function))

    return decorate


@_usb_command("forget", "Forget a USB drive that is not mounted.")
@click.argument("name")
def forget(name: str, config: Path) -> None:
    """Forget the drive NAME: its tracks disappear with the next update of the library.

    Needs root.
    """
    mounts.unregister(name, _mount_dir(config), _paths())
    click.echo(f"{name} is forgotten; its tracks disappear with the next update of the library")


@_usb_command("attach", "Mount a USB drive (for systemd).")
@click.argument("device")
def attach(device: str, config: Path) -> None:
    """Mount DEVICE, such as sda1, read-only, and link it into the music folder.

    Needs root; udev starts it.
    """
    try:
        name = mounts.attach(device, _mount_dir(config), _paths())
    except (mounts.Ignored, Unavailable) as error:
        click.echo(str(error))  # printed without an error status, so that the unit does not fail
    else:
        click.echo(f"{device} is mounted as {name}")


@_usb_command("detach", "Unmount a USB drive (for systemd).")
@click.argument("device")
def detach(device: str, config: Path) -> None:
    """Unmount DEVICE, such as sda1, even if it was unplugged already. Needs root."""
    settings = load_config(config).usb
    for name in mounts.detach(device, settings.mount_dir if settings else None, _paths()):
        click.echo(f"{name} is unmounted")


@_usb_command("cleanup", "Handle a request to unmount (for systemd).")
def cleanup(config: Path) -> None:
    """Unmount the drive that the page asked for, and mark missing drives as unmounted.

    Needs root.
    """
    settings = load_config(config).usb
    for name in mounts.cleanup(settings.mount_dir, _paths()) if settings else ():
        click.echo(f"{name} is unmounted")


def _mount_dir(config: Path) -> Path:
    return mounts.require_usb(load_config(config).usb).mount_dir


def _paths() -> mounts.Paths:
    if os.geteuid() != 0:
        raise Refused("this command needs root; run it with sudo")
    return mounts.Paths.from_environment(os.environ)
