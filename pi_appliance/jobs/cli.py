"""The commands of `pi-appliance jobs` that are not operations.

`run` shows output and progress while the job runs, and works without a daemon. `plan`, `install`
and `uninstall` edit the crontab of the user who calls them, which the daemon cannot.
"""

import codecs
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom
from typing import Any, ParamSpec, TypedDict
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import client
from pi_appliance.cli.client import ProgressLine, config_option, json_option, show_result
from pi_appliance.config import loader
from pi_appliance.errors import ConfigError, Refused, Unavailable
from pi_appliance.jobs import long_run, runner
from pi_appliance.jobs.operations import OPERATIONS, RUN, SLOT_PATTERN
from pi_appliance.jobs.run_options import parse_run_options, plan_run, request_run
from pi_appliance.jobs.text import exit_status, is_good, one_run, one_run_with_log
from pi_appliance.operations import Values
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.crontab import CrontabChange, SystemCrontab, UserCrontab, current_user, find_user
from pi_appliance.storage import model
from pi_appliance.storage.model import RESUME, Outcome, Trigger
from pi_appliance.system import clock
from pi_appliance.system.files import display_path
from pi_appliance.system.process import StopSignal
from pi_appliance.system.runtime_socket import NO_HANDOVER

P = ParamSpec("P")
Command = Callable[..., Any]
_POLL_INTERVALS = 0.05, 0.5  # seconds between two requests for the state of a run: at first, and at most


@click.group("jobs")
def command() -> None:
    """Run, list, preview and remember jobs."""


def _check_slot(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return `value` if it can be a slot. A misspelt one would claim a wrong slot."""
    if value is None or re.fullmatch(SLOT_PATTERN, value, re.ASCII):
        return value
    raise click.BadParameter(f"{value!r} is not a slot; write it as the history does, such as 2026-05-01T06:00:00Z")


@command.command("run", short_help="Run one job now.")
@click.argument("name")
@click.option(
    "--trigger", "trigger", type=click.Choice([str(each) for each in Trigger]), default="manual", help="What starts it."
)
@click.option(
    "--slot",
    metavar="SLOT",
    callback=_check_slot,
    help=f"{RUN.arguments[1].help[0].upper()}{RUN.arguments[1].help[1:]}.",
)
@click.option("--as-scheduled", is_flag=True, help="Use the current slot, or the next one, and let the chance decide.")
@click.option("--resume", is_flag=True, help="Only complete work that earlier runs left unfinished.")
@click.option(
    "--with",
    "options",
    metavar="KEY=VALUE",
    multiple=True,
    help="An option for this run only, such as text=hello; give it again for more.",
)
@click.option("--dry-run", is_flag=True, help="Show what a puzzle job would search, its memory and its writes.")
@json_option
@config_option
def run(  # noqa: PLR0913, PLR0917 - click passes each option
    name: str,
    trigger: str,
    slot: str | None,
    as_scheduled: bool,
    resume: bool,
    options: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    config: Path,
) -> None:
    """Run the job NAME now and show how it ends. The chance applies to scheduled runs only.

    The daemon runs it, if there is one. Ctrl-C stops the run.

    \b
    Exit status:
      0   it succeeded, or was skipped as intended
      1   it failed, was stopped, misfired, or the outcome is not known
      2   NAME or the configuration is wrong; nothing was run
      75  something could not be reached; try again later
    """
    if dry_run:
        _show_plan(config, name, options, as_json=as_json)
        return
    is_child = os.environ.pop(NO_HANDOVER, None)  # removed, so that the job does not inherit the variable
    is_manual = trigger == Trigger.MANUAL
    line = ProgressLine()

    decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def write_output(chunk: bytes) -> None:
        line.clear()
        sys.stdout.buffer.write(client.visible(decode(chunk)).encode())
        sys.stdout.buffer.flush()

    listener = runner.Listener()
    if is_manual and not as_json:
        listener = runner.Listener(
            on_output=tolerate_closed_pipe(write_output), on_progress=tolerate_closed_pipe(line.show)
        )

    def report(ended: Mapping[str, Any]) -> None:
        line.clear()
        _print_end(ended, as_json=as_json, is_manual=is_manual)

    values = RUN.parse(
        {
            "name": name,
            "as_scheduled": as_scheduled,
            "resume": resume,
            **({"slot": slot} if slot else {}),
            **({"with": options} if options else {}),
        }
    )
    ended = None
    if is_manual and not is_child:
        ended = _run_by_daemon(config, values, listener)
    if ended is not None:
        report(ended)
    else:
        or_last_good = not is_manual or is_child is not None  # a person is shown the errors of the file instead
        # Nobody watches the terminal, so the process may execute a smaller program while it waits.
        become_small = long_run.become_small if or_last_good and not as_json else None
        try:
            ended = _run_here(
                config, values, Trigger(trigger), listener, report, or_last_good=or_last_good, become_small=become_small
            )
        except runner.UnknownRequest as error:
            if is_child:  # the request was replaced or cancelled while this process started
                raise SystemExit(error.exit_status) from None
            raise
    if status := exit_status(ended):
        raise SystemExit(status)


def _print_end(ended: Mapping[str, Any], *, as_json: bool, is_manual: bool) -> None:
    if as_json:
        click.echo(json.dumps(ended))
    elif not is_good(ended):  # cron mails all output, so successful runs print nothing
        click.echo(one_run_with_log(ended), err=True)
    elif is_manual:
        click.echo(client.visible(one_run(ended)))


def _show_plan(config: Path, name: str, options: tuple[str, ...], *, as_json: bool) -> None:
    line = ProgressLine()
    with Appliance.open(config) as appliance:
        job = appliance.job(name)
        own_options = parse_run_options(appliance.config, job, options)
        plan = plan_run(appliance.config, job, own_options, line.show)
    line.clear()
    rows = (f"{title}: {text}" for title, text in plan.rows().items())
    click.echo(json.dumps(plan.to_json(), ensure_ascii=False) if as_json else "\n".join(rows))
    if plan.refused:
        raise SystemExit(1)


def _run_here(
    config: Path,
    values: Values,
    trigger: Trigger,
    listener: runner.Listener,
    report: Callable[[Mapping[str, Any]], None],
    *,
    or_last_good: bool,
    become_small: runner.BecomeSmall | None,
) -> Mapping[str, Any]:
    """Run the job in this process, report its end, and send the notifications."""
    name, slot = values["name"], RESUME if values["resume"] else values["slot"]
    with Appliance.open(config, or_last_good=or_last_good) as appliance:
        if values["with"]:
            job = appliance.job(name)
            own_options = parse_run_options(appliance.config, job, values["with"])
            slot = request_run(appliance, job, clock.now(), own_options, now=clock.now()).slot_name
        ended = runner.run(
            appliance,
            name,
            trigger,
            due=slot,
            as_scheduled=values["as_scheduled"],
            listener=listener,
            random=SystemRandom(),
            become_small=become_small,
        )
        skipped_by_cron = ended.trigger is Trigger.CRON and ended.outcome is Outcome.SKIPPED
        if skipped_by_cron and runner.has_pending_work(appliance, name):
            # No daemon would send pending posts before the next slot that is used.
            ended = runner.run(appliance, name, Trigger.CRON, due=RESUME, random=SystemRandom())
        result = model.run_fields(ended)
        try:
            report(result)
        finally:  # sent at the end, because it may take long; not if this process was asked to stop
            if ended.outcome is not Outcome.STOPPED:
                runner.deliver_notifications(appliance)
    return result


def _run_by_daemon(config: Path, values: Values, listener: runner.Listener) -> Mapping[str, Any] | None:
    """Ask the daemon to run the job, and show output and progress until the run ends.

    A signal to stop cancels the run. Returns None if no daemon runs, or if it does not start the
    run, because another one is active. A run in this process then waits, replaces the active one,
    or is skipped, as `concurrency` says.

    Returns:
        None if no daemon runs, or if it does not start the run, because another one is active. A
        run in this process then waits, replaces the active one, or is skipped, as `concurrency`
        says.
    """
    connection = client.connect(str(config))
    if connection is None:
        return None
    with StopSignal().catch_signals() as stop:
        try:
            started: Any = client.call_daemon(connection, RUN, values)
        except Refused:
            if values["with"]:  # its request must not stay, or the daemon would start it as well
                raise
            return None
        printed, interval, is_cancelled = 0, _POLL_INTERVALS[0], False
        while True:
            result: Any = _ask_daemon(config, "jobs log", {"run": started["run"], "start": printed})
            output = result.pop("log")
            if not result["outcome"]:
                output = output.rstrip("\ufffd")  # the beginning of a character whose rest is not written yet
            if output:
                listener.on_output(output.encode())
                printed += len(output)
            if result["outcome"]:
                return result  # type: ignore[no-any-return]
            listener.on_progress(result["progress"], result["status_text"])
            if stop.signal and not is_cancelled:
                is_cancelled = True
                with suppress(Refused):  # the run may have just ended
                    _ask_daemon(config, "jobs cancel", {"name": values["name"]})
            if is_cancelled:
                time.sleep(_POLL_INTERVALS[0])
            else:
                stop.wait(interval)
            interval = min(1.5 * interval, _POLL_INTERVALS[1])


def _ask_daemon(config: Path, operation: str, values: Values) -> object:
    """Return the result of `operation` from the daemon. Raises Unavailable without an answer."""
    connection = client.connect(str(config))
    if connection is None:
        raise Unavailable("the daemon stopped before the run ended; see: pi-appliance jobs history")
    return client.call_daemon(connection, next(each for each in OPERATIONS if each.command == operation), values)


def tolerate_closed_pipe(write: Callable[P, None]) -> Callable[P, None]:
    """Wrap `write` so that it does nothing once the reader of the pipe is gone."""
    is_closed = sys.stdout is None

    def write_if_open(*args: P.args, **kwargs: P.kwargs) -> None:
        nonlocal is_closed
        if not is_closed:
            try:
                write(*args, **kwargs)
            except OSError:
                is_closed = True

    return write_if_open


# The crontab


_BACKUP = "crontab.before"


def _options(command: Command) -> Command:
    for option in (
        click.option("--user-name", metavar="NAME", help="Whose crontab, or the user of --system entries: root only."),
        click.option(
            "--system", is_flag=True, help="Use /etc/cron.d/pi-appliance instead of a user's crontab: root only."
        ),
        json_option,
        config_option,
    ):
        command = option(command)
    return command


class CrontabChangeJson(TypedDict):
    """The entries of a configuration in a crontab, or in a file in /etc/cron.d."""

    crontab: str
    added: list[str]
    kept: list[str]
    removed: list[str]


def _show_change(change: CrontabChange, text: str, *, as_json: bool) -> None:
    old, new = change.old_entries, change.new_entries
    result: CrontabChangeJson = {
        "crontab": change.name,
        "added": [entry for entry in new if entry not in old],
        "kept": [entry for entry in new if entry in old],
        "removed": [entry for entry in old if entry not in new],
    }
    show_result(result, f"{text}\n", as_json=as_json)


@command.command("plan", short_help="Show what `jobs install` would change.")
@_options
def plan(config: Path, system: bool, user_name: str | None, as_json: bool) -> None:
    """Show, as a diff, what `jobs install` would change in the crontab. Nothing is changed.

    \b
    Exit status:
      0   shown, or there is nothing to change
      1   cron or its file refuses; the message says why
      2   the configuration has problems
      75  cron is not installed
    """
    config = _absolute_path(config)
    change = _open_crontab(config, system, user_name).plan(_entries(config, system, user_name))
    text = client.visible(change.diff()) if change.has_changes else f"{change.name}: nothing to change"
    _show_change(change, text, as_json=as_json)


@command.command("install", short_help="Put jobs with `started-by: cron` into the crontab.")
@_options
def install(config: Path, system: bool, user_name: str | None, as_json: bool) -> None:
    """Put an entry for each job with `started-by: cron` into the crontab.

    All else in it stays, byte for byte.

    A second call replaces the entries by those of the current configuration. A last line without a
    newline, which crontab itself rejects, gets one.

    \b
    Exit status:
      0   the entries are there
      1   cron or its file refuses; the crontab is unchanged
      2   the configuration has problems
      75  cron is not installed, or the disk is full; the crontab is unchanged
    """
    config = _absolute_path(config)
    entries = _entries(config, system, user_name)
    count = "1 entry" if len(entries) == 1 else f"{len(entries) or 'no'} entries"
    change = _open_crontab(config, system, user_name).install(entries)
    _report_change(change, f"{count} of {display_path(config)}", as_json=as_json)
    if entries and not crontab.is_cron_running():
        click.echo("pi-appliance: cron is not running; start it with: sudo systemctl enable --now cron", err=True)


@command.command("uninstall", short_help="Remove those entries from the crontab.")
@_options
def uninstall(config: Path, system: bool, user_name: str | None, as_json: bool) -> None:
    """Remove the entries of this configuration from the crontab.

    All else in it stays, byte for byte.

    A last line without a newline, which crontab itself rejects, has one now.

    \b
    Exit status:
      0   no entry is left
      1   cron or its file refuses; the crontab is unchanged
      75  cron is not installed, or the disk is full; the crontab is unchanged
    """
    config = _absolute_path(config)
    removed = _open_crontab(config, system, user_name).uninstall()
    _report_change(removed, f"no entry of {display_path(config)} any more", as_json=as_json)


def program(called: str, python: str) -> list[str]:
    """Return the command that starts this program from any folder.

    Args:
        called: The path by which it was started. If this is a link, it survives an update.
        python: The interpreter, which the program is usually beside.
    """
    beside = Path(python).with_name("pi-appliance")
    for path in (Path(called).absolute(), beside):
        if path.name == beside.name and shutil.which(path):
            return [str(path)]
    return [python, "-m", "pi_appliance"]


def _entries(config: Path, system: bool, user_name: str | None) -> list[str]:
    if shutil.which("crontab") is None:
        raise Unavailable("cron is not installed; run: sudo apt install cron")
    user = (user_name or current_user()) if system else None
    if user:
        find_user(user)
    return crontab.build_entries(
        loader.load_config(config),
        program(sys.argv[0], sys.executable),
        zone=ZoneInfo(loader.machine_zone()),
        now=datetime.now(UTC),
        user=user,
    )


def _open_crontab(config: Path, system: bool, user_name: str | None) -> UserCrontab | SystemCrontab:
    if system:
        return SystemCrontab(config)
    user = None if user_name == current_user() else user_name
    try:
        backup = loader.load_config(config).state_dir / _BACKUP
    except ConfigError:  # entries can be removed even if the configuration is wrong
        backup = None
    return UserCrontab(config, user=user, backup=backup)


def _absolute_path(config: Path) -> Path:
    """Return the absolute path of `config`, which identifies its entries from any folder."""
    return config.parent.resolve() / config.name


def _report_change(change: CrontabChange, state: str, *, as_json: bool) -> None:
    text = f"{change.name}: {state}" if change.has_changes else f"{change.name}: {state}; nothing to change"
    _show_change(change, text, as_json=as_json)
