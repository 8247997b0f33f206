"""Which jobs are to be started by cron, and cron knows nothing of them."""

from pi_appliance.errors import ApplianceError
from pi_appliance.model.config import Config, RunsBy
from pi_appliance.system.cron_places import SystemCrontab, UserCrontab

_TODO = "cron has no entry for it and will not start it; put it there with: pi-appliance jobs install"


def missing(config: Config) -> list[str]:
    """Return the names of the jobs that neither /etc/cron.d nor this user's crontab has an entry for.

    Where a table cannot be looked at nothing is known, and so nothing said.
    """
    wanted = [job.name for job in config.jobs.values() if job.runs_by is RunsBy.CRON and job.schedule]
    for kind in (SystemCrontab, UserCrontab):
        if wanted:
            try:
                text = kind(config.path).read() or b""
            except ApplianceError:
                return []
            wanted = [name for name in wanted if f" jobs run {name} --by cron ".encode() not in text]
    return wanted


def notes(config: Config) -> list[str]:
    """Return a line for the owner for each such job."""
    return [f"{name}: {_TODO}" for name in missing(config)]
