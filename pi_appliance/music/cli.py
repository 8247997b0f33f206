"""The commands of `pi-appliance music` that are not operations, because they use the terminal while they run."""

import base64
import importlib
import inspect
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli.client import run_operation
from pi_appliance.cli.program import EXIT_STATUSES
from pi_appliance.cli.terminal import ProgressLine, config_option, json_option
from pi_appliance.music import text
from pi_appliance.music.operations_library import OPERATIONS
from pi_appliance.music.stations import operations as stations

_PARTS = ("music.cli_watch", "music.usb.cli", "music.alarms.cli")
_POLL_INTERVAL = 0.2  # seconds


class _MusicGroup(click.Group):
    """A group that imports the modules of its commands one by one until the command is found."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._unloaded = list(_PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command `cmd_name`, or None."""
        while cmd_name not in self.commands and self._unloaded:
            self._load_next()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        while self._unloaded:
            self._load_next()
        return super().list_commands(ctx)

    def _load_next(self) -> None:
        importlib.import_module(f"pi_appliance.{self._unloaded.pop(0)}")


@click.group("music", cls=_MusicGroup)
def command() -> None:
    """Show what plays, control the player, fill the queue."""


def music_command(name: str, short_help: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that adds a function with the parameter `config` to the group."""

    def decorate(function: Callable[..., None]) -> click.Command:
        description = f"{inspect.cleandoc(function.__doc__ or '')}\n{EXIT_STATUSES}"
        return command.command(name, help=description, short_help=short_help)(config_option(function))

    return decorate


def _request(config: Path, method: str, path: str, **given: object) -> Any:
    """Return the result of an operation on the library."""
    operation = next(each for each in OPERATIONS if (each.method, each.path) == (method, path))
    return run_operation(operation, operation.parse(given), str(config))


@music_command("update", "Scan the library for new, changed and deleted files.")
@click.argument("folder", default="")
@click.option("--wait", is_flag=True, help="Wait until it is done; on a terminal, show the progress.")
@json_option
def update(config: Path, folder: str, wait: bool, as_json: bool) -> None:
    """Scan the library, or FOLDER of it, for new, changed and deleted files."""
    before = _request(config, "GET", "/player/stats") if wait else None
    progress = _request(config, "POST", "/player/update", folder=folder)
    if before is None:
        name = text.plain(folder) or "the library"
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
            # MPD counts the tracks of the whole library only at the end.
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
    """Describe the picture of the current track, of track N of the queue or of FILE, or write it to a file."""
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
    written = f" written to {target}" if target is not None else ""
    click.echo(f"{text.track_name(picture['track'])}: {picture['mime']}, {len(data):,} bytes{written}")


def complete_station(begun: str) -> list[str]:
    """Return the stations whose names start with `begun`, for the completion of a shell."""
    known = run_operation(stations.OPERATIONS[0], {"start": 0, "count": 5000}, None)
    names = [each["name"] for each in known] if isinstance(known, list) else []
    return [name for name in names if name.casefold().startswith(begun.casefold())]
