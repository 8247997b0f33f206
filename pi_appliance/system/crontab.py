"""Our entries for cron, built by python-crontab. The only file that imports it.

The time fields are the very text that the daemon reads (core/cron_expression.py vouches that cron reads it alike).
python-crontab would write 0 0-23 as 0 *, and 0-7 as 0,*, which cron takes for something else on the day the clocks
change.
"""

import contextlib
import os
import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.core import wall_clock
from pi_appliance.errors import Refused
from pi_appliance.model.config import Config, Job, RunsBy
from pi_appliance.model.schedule import Cron

_LONGEST = 998  # characters: cron's MAX_COMMAND, which it does not check where it reads /etc/cron.d
_YEARS = timedelta(days=3 * 366)
_CRON = {"cron", "crond", "cronie", "fcron", "dcron", "bcron-start"}


def lines(
    config: Config, program: Sequence[str], *, zone: ZoneInfo, now: datetime, user: str | None = None
) -> list[str]:
    """Return an entry for each expression of each job that runs by cron, with the field of USER if there is one.

    ZONE is the one cron reckons in. Raises Refused for what cron would not do as the daemon does.
    """
    jobs = [job for job in config.jobs.values() if job.runs_by is RunsBy.CRON and job.schedule is not None]
    for job in jobs:
        wanted = config.zone_of(job)
        if isinstance(job.schedule, Cron) and not same_clock(wanted, zone, now):
            raise Refused(
                f"cron knows only the machine's time zone, {zone.key}, but {job.name} is to run by {wanted.key}; run: "
                f"sudo timedatectl set-timezone {wanted.key}, or write runs-by: daemon"
            )
    return [_line(when, _command(config, program, job), user) for job in jobs for when in _expressions(job)]


def same_clock(one: ZoneInfo, other: ZoneInfo, now: datetime) -> bool:
    """Answer whether two zones are one rule by two names: the same for three years from NOW."""
    return one.key == other.key or wall_clock.agree(one, other, now, now + _YEARS)


def daemon_runs() -> bool:
    """Answer whether a cron daemon is among the processes of this machine."""
    for name in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it ended just now
            if name.read_text("utf-8", "replace").strip() in _CRON:
                return True
    return False


def _expressions(job: Job) -> tuple[str, ...]:
    return job.schedule.expressions if isinstance(job.schedule, Cron) else ("@reboot",)


def _command(config: Config, program: Sequence[str], job: Job) -> str:
    command = shlex.join([*program, "jobs", "run", job.name, "--by", "cron", "--config", str(config.path)])
    if not command.isprintable() or "\\" in command:
        raise Refused(f"cron cannot keep a command with control characters or backslashes: {command!a}; rename it")
    if len(os.fsencode(command)) > _LONGEST:
        raise Refused(f"cron takes commands of {_LONGEST} characters at most, this is longer: {command[:100]}…")
    return command


def _line(when: str, command: str, user: str | None) -> str:
    """Let python-crontab write the entry (it escapes each %, as cron wants), then put our own time fields to it."""
    from crontab import CronTab  # noqa: PLC0415 - loading it takes longer than all that most commands do

    item = CronTab(tab="", user=False if user else None).new(command=command, user=user)
    entry: str = item.render()
    return f"{when} {entry.removeprefix('* * * * * ')}"
