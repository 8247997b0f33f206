"""pi-appliance music alarms, alarm, sleep, announce: what wakes the house, and what lets it sleep."""

import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import SystemRandom
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import text
from pi_appliance.cli.options import Number, json_option
from pi_appliance.cli.progress import ProgressLine
from pi_appliance.config import units
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms import service
from pi_appliance.music.alarms.service import Alarm, SleepTimer
from pi_appliance.music.cli.group import music_command, music_group
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Run, Trigger
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system import clock, wakeup

_NONE = "there are no alarms; docs/alarms.md says what to write"
_PATIENCE = 10.0  # seconds that a daemon has to begin what it was rung for; a slow Pi starts a process in three
_LOOK = 0.1
_alarm = music_group("alarm", "The alarms: skip, snooze, stop, ring once.")


@music_command("alarms", "List the alarms.")
@json_option
def list_all(config: Path, as_json: bool) -> None:
    """List the alarms: when each rings next, and what rings now."""
    _list(config, as_json=as_json)


@music_command("list", "List the alarms.", group=_alarm)
@json_option
def list_(config: Path, as_json: bool) -> None:
    """List the alarms: when each rings next, and what rings now."""
    _list(config, as_json=as_json)


def _list(config: Path, *, as_json: bool) -> None:
    with Appliance.open(config) as appliance:
        found, zone = service.alarms(appliance, clock.now()), appliance.config.time_zone
    if as_json:
        click.echo(json.dumps([service.alarm_values(each) for each in found]))
    elif found:
        click.echo(text.table(("ALARM", "NEXT", "", "WHAT"), [_row(each, zone) for each in found]))
    else:
        click.echo(_NONE)


def _row(alarm: Alarm, zone: ZoneInfo) -> tuple[str, ...]:
    return alarm.job, text.instant(alarm.next, zone) if alarm.next else "-", _state(alarm, zone), alarm.description


def _state(alarm: Alarm, zone: ZoneInfo) -> str:
    said = []
    if alarm.session is not None:
        said.append("snoozes" if alarm.session.phase == service.SNOOZING else "rings")
    if alarm.pause is not None:
        said.append("paused")
    if alarm.skipped is not None:
        said.append(f"not {text.instant(alarm.skipped, zone)}")
    said += [f"once {text.instant(ask.run_at, zone)}" for ask in alarm.requests]
    return ", ".join(said)


@music_command("skip", "Let an alarm not ring the next time.", group=_alarm)
@click.argument("name", required=False)
def skip(config: Path, name: str | None) -> None:
    """Let the alarm NAME, or the only one there is, not ring the next time; after that it rings as ever."""
    with Appliance.open(config) as appliance:
        which = name or _only(appliance)
        when = service.skip(appliance, which, now=clock.now())
        click.echo(f"{which} does not ring {_local(appliance, which, when)}")


@music_command("unskip", "Let an alarm ring the next time after all.", group=_alarm)
@click.argument("name", required=False)
def unskip(config: Path, name: str | None) -> None:
    """Let the alarm NAME, or the only one there is, ring after all the next time."""
    with Appliance.open(config) as appliance:
        which = name or _only(appliance)
        when = service.unskip(appliance, which, now=clock.now())
        click.echo(f"{which} rings {_local(appliance, which, when)}")


@music_command("once", "Let an alarm ring once at another time.", group=_alarm)
@click.argument("words", nargs=-1, metavar="[NAME] TIME|off")
def once(config: Path, words: tuple[str, ...]) -> None:
    """Let the alarm NAME, or the only one there is, ring once when the clock shows TIME next, such as 06:45.

    Its schedule stays as it is. "off": at no such time after all.
    """
    if not 1 <= len(words) <= 2:
        raise click.UsageError("name an alarm and a time, such as: wake 06:45")
    with Appliance.open(config) as appliance:
        which, at = words if len(words) == 2 else (_only(appliance), words[0])
        if at == "off":
            count = service.cancel_rings(appliance, which)
            click.echo(f"{which} rings by its schedule alone; {count} taken away")
            return
        ask = service.ring_at(appliance, which, at, now=clock.now())
        here = _ring(appliance)
        click.echo(f"{which} rings once {_local(appliance, which, ask.run_at)}")
        if not here:
            click.echo("no daemon runs here; it rings only if one does by then", err=True)


@music_command("snooze", "Let the alarm be silent for a while.", group=_alarm)
@click.argument("name", required=False)
def snooze(config: Path, name: str | None) -> None:
    """Let the alarm NAME, or whichever rings, be silent for the time that its `snooze` says, and then ring again."""
    _say(config, lambda appliance: service.snooze(appliance, name), "snoozes")


@music_command("stop", "End the alarm that rings.", group=_alarm)
@click.argument("name", required=False)
def stop(config: Path, name: str | None) -> None:
    """End the alarm NAME, or whichever rings or snoozes."""
    _say(config, lambda appliance: service.stop_ringing(appliance, name), "stops")


def _say(config: Path, say: Callable[[Appliance], list[str]], verb: str) -> None:
    with Appliance.open(config) as appliance:
        for name in say(appliance):
            click.echo(f"{name} {verb}")
        _ring(appliance)


def _length(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    try:
        return None if value is None else units.parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@music_command("sleep", "Let the music fall asleep.")
@click.argument("words", nargs=-1, metavar="[LENGTH | at TIME]")
@click.option("--play-out", metavar="WHAT", help="Then play out the track, album or queue.")
@click.option("--fade", metavar="LENGTH", callback=_length, help="How long it takes to fade out.")
@click.option("--cancel", is_flag=True, help="Let the music go on after all.")
@json_option
def sleep(
    config: Path, words: tuple[str, ...], play_out: str | None, fade: timedelta | None, cancel: bool, as_json: bool
) -> None:
    """Let the music fade out and stop after LENGTH, such as 30m, or at TIME, such as 23:30. Alone, say what is set.

    A timer that is set is replaced. Where no daemon runs, this one waits until the music sleeps.
    """
    in_, at = _when(words)
    with Appliance.open(config) as appliance:
        if cancel:
            service.cancel_sleep_timer(appliance)
            _ring(appliance)
            click.echo("the music continues")
        elif any(each is not None for each in (in_, at, play_out, fade)):
            ask = service.set_sleep_timer(appliance, now=clock.now(), in_=in_, at=at, play_out=play_out, fade=fade)
            ended = _begun(appliance, ask)
            click.echo(text.one_run(ended) if ended else _words(_once_it_says(appliance), appliance))
            _leave(ended)
        else:
            found = service.sleep_timer(appliance)
            click.echo(json.dumps(service.sleep_values(found)) if as_json else _words(found, appliance))


def _once_it_says(appliance: Appliance) -> SleepTimer | None:
    """Return the timer that was just set, once its run says when it ends; as it is, if that takes too long."""
    until = time.monotonic() + _PATIENCE
    while (found := service.sleep_timer(appliance)) is not None and found.phase == service.STARTING:
        if time.monotonic() >= until:
            break
        time.sleep(_LOOK)
    return found


def _when(words: tuple[str, ...]) -> tuple[timedelta | None, str | None]:
    """Return the length or the time of the day that WORDS say."""
    match words:
        case ():
            return None, None
        case ("at", at):
            return None, at
        case (length,):
            try:
                return units.parse_duration(length), None
            except ValueError as error:
                raise click.UsageError(f"{length!r} is no length; {error}, or: at 23:30") from None
    raise click.UsageError("write a length such as 30m, or a time such as: at 23:30")


def _words(found: SleepTimer | None, appliance: Appliance) -> str:
    if found is None:
        return "no sleep timer is set"
    when = f" {text.instant(found.ends_at, appliance.config.time_zone)}" if found.ends_at else ""
    what = {
        "waiting": "the music sleeps",
        "fading-out": "the music fades out, until",
        "starting": "the sleep timer begins",
    }
    return f"{what.get(found.phase, 'the music is played out, and sleeps then')}{when}".removesuffix(", until")


@music_command("announce", "Say or play something over the music.")
@click.argument("words", nargs=-1, metavar="[TEXT]")
@click.option("--source", metavar="URI", help="Play this instead: a file of the library or an address.")
@click.option("--volume", type=Number(0, 100), help="How loud.")
def announce(config: Path, words: tuple[str, ...], source: str | None, volume: int | None) -> None:
    """Speak TEXT, or play a sound, while the music steps back; then all is as it was."""
    with Appliance.open(config) as appliance:
        spoken = " ".join(words) or None
        ask = service.announce(appliance, now=clock.now(), text=spoken, source=source, volume=volume)
        ended = _begun(appliance, ask)
        click.echo(text.one_run(ended) if ended else "it is announced; how that goes: pi-appliance jobs history")
        _leave(ended)


def _begun(appliance: Appliance, ask: RunRequest) -> Run | None:
    """Let the daemon begin with ASK; where none runs, do it here to its end, and return how it went.

    Raises Unavailable where the daemon does not begin.
    """
    if not _ring(appliance):
        from pi_appliance.jobs import runner  # noqa: PLC0415 - the buttons beside this are to be quick

        line = ProgressLine()
        listener = runner.Listener(on_progress=line.show)
        ended = runner.run(
            appliance, ask.job, Trigger.MANUAL, due=ask.slot_name, listener=listener, random=SystemRandom()
        )
        line.clear()
        return ended
    until = time.monotonic() + _PATIENCE
    while appliance.store.requests.find(ask.id) is not None:
        if time.monotonic() >= until:
            if appliance.store.active_runs(ask.job):
                return None  # it waits for its turn
            raise Unavailable("the daemon has not begun with it yet; its log says why: journalctl -u pi-appliance")
        time.sleep(_LOOK)
    return None


def _ring(appliance: Appliance) -> bool:
    return wakeup.wake_daemon(appliance.config.state_dir / wakeup.NAME)


def _leave(ended: Run | None) -> None:
    if ended is not None and not text.good(ended):
        raise SystemExit(Unavailable.exit_status if ended.details.get("unavailable") else 1)


def _only(appliance: Appliance) -> str:
    """Return the one alarm that there is. Raises Refused if there are more, or none."""
    known = [each.job for each in service.alarms(appliance, clock.now())]
    if len(known) != 1:
        raise Refused(f"name one of the alarms: {', '.join(known)}" if known else _NONE)
    return known[0]


def _local(appliance: Appliance, name: str, when: datetime) -> str:
    return text.instant(when, appliance.config.zone_of(appliance.job(name)))
