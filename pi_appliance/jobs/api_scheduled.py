"""The handler of a run that cron hands to the daemon."""

import asyncio
from random import SystemRandom

from pi_appliance.cli import terminal
from pi_appliance.jobs import runner
from pi_appliance.operations import Values
from pi_appliance.storage.model import Trigger
from pi_appliance.web.interface import Services


async def run_scheduled(services: Services, values: Values) -> object:
    """Run the job of the slot of this moment and return how it went, once it has ended.

    A slot that the probability leaves out is recorded here. Every other one is a process, as for the daemon's slots.

    Raises:
        UnknownName: there is no such job.
        Unavailable: no process can be started.

    """
    name = values["job"]
    run = runner.skip_if_unselected(services.appliance, name, random=SystemRandom())
    status = 0
    if run is None:
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        await services.daemon.runs.start(name, Trigger.CRON, ended=ended.set_result)
        status = await ended
        run = services.appliance.history(job=name, limit=1)[0]
    services.daemon.wake()
    is_good = terminal.is_good(run)
    return {
        "run": run.id,
        "outcome": run.outcome,
        "message": "" if is_good else f"{terminal.describe_run(run)}; see: pi-appliance jobs log {run.id}",
        "exit_status": status,
    }
