"""Handlers of the operations on the daemon itself."""

import os

from pi_appliance import __version__
from pi_appliance.operations import Values
from pi_appliance.storage.serializers import instant as as_instant
from pi_appliance.web.interface import Services


async def status(services: Services, _: Values) -> object:
    """Return which configuration the daemon reads, since when, what runs and what comes next."""
    daemon, appliance = services.daemon, services.appliance
    upcoming = daemon.scheduler.next()
    return {
        "version": __version__,
        "pid": os.getpid(),
        "config": str(appliance.config.path),
        "state_dir": str(appliance.config.state_dir),
        "started_at": as_instant(daemon.started_at),
        "addresses": list(daemon.addresses),
        "clock": daemon.scheduler.clock_state,
        "running": [{"job": run.job, "run": run.id} for run in appliance.store.active_runs()],
        "next": {"job": upcoming[1], "at": as_instant(upcoming[0])} if upcoming else None,
        "player_error": daemon.hub.error or None,
        "scheduler_error": daemon.scheduler.trouble or None,
    }


async def reload(services: Services, _: Values) -> object:
    """Check the configuration and have the daemon take it over. Raises ConfigError with every problem."""
    services.daemon.request_reload()
    return {"reloaded": str(services.appliance.config.path)}


async def logs(services: Services, values: Values) -> object:
    """Return the newest messages of the daemon, the oldest first."""
    return [
        {"at": as_instant(at), "message": message} for at, message in list(services.daemon.messages)[-values["lines"] :]
    ]
