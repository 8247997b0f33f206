"""Entries of the appliance in the crontab, built by python-crontab. Only this file imports it.

The time fields are copied from the configuration. scheduling/cron.py ensures that cron and the
daemon read them alike. python-crontab would write 0 0-23 as 0 *, and 0-7 as 0,*, which cron treats
differently at clock changes.
"""

import contextlib
import os
import re
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config.model import Config, Job, StartedBy
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.scheduling import dst
from pi_appliance.scheduling.crontab_files import SYSTEM_FILE, SystemCrontab, UserCrontab
from pi_appliance.scheduling.model import Cron

_LONGEST = 998  # characters: cron's MAX_COMMAND, which it does not check in /etc/cron.d
_YEARS = timedelta(days=3 * 366)
_CRON = {"cron", "crond", "cronie", "fcron", "dcron", "bcron-start"}


def lines(
    config: Config, program: Sequence[str], *, zone: ZoneInfo, now: datetime, user: str | None = None
) -> list[str]:
    """Return an entry for each expression of each job that cron starts.

    Args:
        config: the configuration.
        program: the command that starts pi-appliance.
        zone: the time zone of cron.
        now: the current time.
        user: value of the user field, which only system crontabs have.

    Raises:
        Refused: cron would not run a job as the daemon does.

    """
    jobs = [job for job in config.jobs.values() if job.started_by is StartedBy.CRON and job.schedule is not None]
    for job in jobs:
        wanted = config.zone_of(job)
        if isinstance(job.schedule, Cron) and not same_clock(wanted, zone, now):
            raise Refused(
                f"cron knows only the machine's time zone, {zone.key}, but {job.name} is to run by {wanted.key}; run: "
                f"sudo timedatectl set-timezone {wanted.key}, or write started-by: daemon"
            )
    return [
        _build_entry(when, _build_command(config, program, job), user) for job in jobs for when in _job_expressions(job)
    ]


def same_clock(one: ZoneInfo, other: ZoneInfo, now: datetime) -> bool:
    """Return whether two zones have the same rules for three years from `now`."""
    return one.key == other.key or dst.agree(one, other, now, now + _YEARS)


def daemon_runs() -> bool:
    """Return whether a cron daemon runs on this machine."""
    for name in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # the process has just ended
            if name.read_text("utf-8", "replace").strip() in _CRON:
                return True
    return False


def _job_expressions(job: Job) -> tuple[str, ...]:
    return job.schedule.expressions if isinstance(job.schedule, Cron) else ("@reboot",)


def _build_command(config: Config, program: Sequence[str], job: Job) -> str:
    command = shlex.join([*program, "jobs", "run", job.name, "--trigger", "cron", "--config", str(config.path)])
    if not command.isprintable() or "\\" in command:
        raise Refused(f"cron cannot keep a command with control characters or backslashes: {command!a}; rename it")
    if len(os.fsencode(command)) > _LONGEST:
        raise Refused(f"cron takes commands of {_LONGEST} characters at most, this is longer: {command[:100]}…")
    return command


def _build_entry(when: str, command: str, user: str | None) -> str:
    """Return an entry. python-crontab escapes each %; its time fields are replaced by ours."""
    from crontab import CronTab  # noqa: PLC0415 - slow to load

    item = CronTab(tab="", user=False if user else None).new(command=command, user=user)
    entry: str = item.render()
    return f"{when} {entry.removeprefix('* * * * * ')}"


_NAME = re.compile(r"[A-Za-z0-9_-]+")
_OURS = b" --trigger cron "


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why cron ignores a file or part of it, and the command that repairs it."""

    why: str
    mend: str


def faults(file: Path = SYSTEM_FILE) -> list[Fault]:
    """Return the reasons why cron does not read `file`. There are none without the file.

    Raises:
        OSError: the file cannot be read.

    """
    try:
        about, content = file.stat(), file.read_bytes()
    except FileNotFoundError:
        return []
    problems, name = [], shlex.quote(str(file))
    if about.st_uid != 0:
        problems.append(
            Fault(f"{file} does not belong to root, so cron does not read it", f"sudo chown root:root {name}")
        )
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problems.append(Fault(f"others may write to {file}, so cron does not read it", f"sudo chmod 644 {name}"))
    if content and not content.endswith(b"\n"):
        why = f"{file} has no newline at its end, so cron reads nothing of it"
        problems.append(Fault(why, f"echo | sudo tee -a {name}"))
    return problems


def misnamed(folder: Path = SYSTEM_FILE.parent) -> list[Fault]:
    """Return the files in `folder` with our entries whose names cron ignores."""
    problems, expected = [], folder / SYSTEM_FILE.name
    for file in sorted(folder.glob("*")):
        if not _NAME.fullmatch(file.name) and _has_entries(file):
            name = shlex.quote(str(file))
            mend = f"sudo rm {name}" if expected.exists() else f"sudo mv {name} {shlex.quote(str(expected))}"
            problems.append(Fault(f"cron passes over {file}: only letters, digits, - and _ may be in its name", mend))
    return problems


def _has_entries(file: Path) -> bool:
    try:
        return file.is_file() and _OURS in file.read_bytes()
    except OSError:
        return False


_TODO = "cron has no entry for it and will not start it; put it there with: pi-appliance jobs install"


def missing(config: Config) -> list[str]:
    """Return the jobs without an entry in /etc/cron.d or this user's crontab.

    If a table cannot be read, the result is empty.
    """
    absent = [job.name for job in config.jobs.values() if job.started_by is StartedBy.CRON and job.schedule]
    for kind in (SystemCrontab, UserCrontab):
        if absent:
            try:
                text = kind(config.path).read() or b""
            except ApplianceError:
                return []
            absent = [name for name in absent if f" jobs run {name} --trigger cron ".encode() not in text]
    return absent


def notes(config: Config) -> list[str]:
    """Return a line for the owner for each of these jobs."""
    return [f"{name}: {_TODO}" for name in missing(config)]
