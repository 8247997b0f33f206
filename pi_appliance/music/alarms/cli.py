"""Commands `music sleep` and `music announce`: without a daemon, they run the job themselves."""

import json
import time
from datetime import timedelta
from pathlib import Path
from random import SystemRandom

import click

from pi_appliance.cli import terminal
from pi_appliance.cli.terminal import Number, ProgressLine, json_option
from pi_appliance.config import units
from pi_appliance.errors import Unavailable
from pi_appliance.music.alarms import service
from pi_appliance.music.alarms.service import SleepTimer
from pi_appliance.music.cli import music_command
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Run, Trigger
from pi_appliance.storage.queues import RunRequest
from pi_appliance.system import clock, locks

_START_TIMEOUT = 10.0  # seconds for the daemon to start the run; a slow Pi starts a process in three
_POLL_INTERVAL = 0.1  # seconds
_PHASES = {"starting": "the sleep timer starts", "waiting": "the music stops", "fading-out": "the music fades out"}


def _length(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    try:
        return None if value is None else units.parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@music_command("sleep", "Set, show or cancel the sleep timer.")
@click.argument("when", nargs=-1, metavar="[LENGTH | at TIME]")
@click.option("--play-out", metavar="UNIT", help="Then play the track, album or queue to its end.")
@click.option("--fade", metavar="LENGTH", callback=_length, help="How long it fades out.")
@click.option("--cancel", is_flag=True, help="Cancel the timer.")
@json_option
def sleep(
    config: Path, when: tuple[str, ...], play_out: str | None, fade: timedelta | None, cancel: bool, as_json: bool
) -> None:
    """Fade the music out and stop it after LENGTH, such as 30m, or at TIME, such as 23:30.

    Without arguments, show the timer. A new timer replaces the active one. Without a daemon, the
    command waits until the music has stopped.
    """
    in_, at = _parse_when(when)
    with Appliance.open(config) as appliance:
        if cancel:
            service.cancel_sleep_timer(appliance)
            _wake_daemon(appliance)
            click.echo("the music continues")
        elif any(each is not None for each in (in_, at, play_out, fade)):
            request = service.set_sleep_timer(appliance, now=clock.now(), in_=in_, at=at, play_out=play_out, fade=fade)
            run = _start(appliance, request)
            click.echo(terminal.describe_run(run) if run else _describe(_started_timer(appliance), appliance))
            _exit_with(run)
        else:
            timer = service.sleep_timer(appliance)
            click.echo(json.dumps(service.sleep_values(timer)) if as_json else _describe(timer, appliance))


def _parse_when(words: tuple[str, ...]) -> tuple[timedelta | None, str | None]:
    """Return the length and the time of day in `words`; at most one is set."""
    match words:
        case ():
            return None, None
        case ("at", at):
            return None, at
        case (length,):
            try:
                return units.parse_duration(length), None
            except ValueError as error:
                raise click.UsageError(f"{length!r} is not a duration; {error}, or: at 23:30") from None
    raise click.UsageError("write a length such as 30m, or a time such as: at 23:30")


def _started_timer(appliance: Appliance) -> SleepTimer | None:
    """Wait until the run has reported the end of the timer, and return the timer."""
    deadline = time.monotonic() + _START_TIMEOUT
    while (timer := service.sleep_timer(appliance)) is not None and timer.phase == service.STARTING:
        if time.monotonic() >= deadline:
            break
        time.sleep(_POLL_INTERVAL)
    return timer


def _describe(timer: SleepTimer | None, appliance: Appliance) -> str:
    if timer is None:
        return "no sleep timer is set"
    phase = _PHASES.get(timer.phase, "the music is played out, then it stops")
    if timer.ends_at is None:
        return phase
    until = " until" if timer.phase == "fading-out" else ""
    return f"{phase}{until} {terminal.format_instant(timer.ends_at, appliance.config.time_zone)}"


@music_command("announce", "Speak a text or play a sound over the music.")
@click.argument("words", nargs=-1, metavar="[TEXT]")
@click.option("--source", metavar="URI", help="Play this instead: a file of the library or an address.")
@click.option("--volume", type=Number(0, 100), help="The volume of the announcement.")
def announce(config: Path, words: tuple[str, ...], source: str | None, volume: int | None) -> None:
    """Speak TEXT, or play a sound, while the music is paused; then the music continues."""
    with Appliance.open(config) as appliance:
        text = " ".join(words) or None
        request = service.announce(appliance, now=clock.now(), text=text, source=source, volume=volume)
        run = _start(appliance, request)
        click.echo(
            terminal.describe_run(run) if run else "the announcement has started; see: pi-appliance jobs history"
        )
        _exit_with(run)


def _start(appliance: Appliance, request: RunRequest) -> Run | None:
    """Let the daemon start the requested run.

    Without a daemon, run it here to its end and return it.

    Raises:
        Unavailable: The daemon does not start it.

    """
    if not _wake_daemon(appliance):
        from pi_appliance.jobs import runner  # noqa: PLC0415 - not needed with a daemon

        line = ProgressLine()
        listener = runner.Listener(on_progress=line.show)
        run = runner.run(
            appliance, request.job, Trigger.MANUAL, due=request.slot_name, listener=listener, random=SystemRandom()
        )
        line.clear()
        return run
    deadline = time.monotonic() + _START_TIMEOUT
    while appliance.store.requests.find(request.id) is not None:
        if time.monotonic() >= deadline:
            if appliance.store.active_runs(request.job):
                return None  # it waits for the previous run
            raise Unavailable("the daemon has not started it; see its log: journalctl -u pi-appliance")
        time.sleep(_POLL_INTERVAL)
    return None


def _wake_daemon(appliance: Appliance) -> bool:
    return locks.wake_daemon(appliance.config.state_dir / locks.WAKEUP_FILE)


def _exit_with(run: Run | None) -> None:
    if run is not None and not terminal.is_good(run):
        raise SystemExit(Unavailable.exit_status if run.details.get("unavailable") else 1)
