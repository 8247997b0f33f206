"""Handlers of the operations on the machine."""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from pi_appliance import __version__
from pi_appliance.config import units
from pi_appliance.diagnostics.context import CheckJson, CheckResult, DiagnosticContext, ok, result_values, warn
from pi_appliance.diagnostics.machine_facts import describe_time, read_facts
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.json_schema import INSTANT, TEXT, WHOLE, Schema, list_of, object_of
from pi_appliance.maintenance import backups
from pi_appliance.operations import Values
from pi_appliance.scheduling.interface import Services
from pi_appliance.storage.backup import back_up_daily
from pi_appliance.storage.backup_folder import back_up_to_folder
from pi_appliance.storage.model import iso_time
from pi_appliance.system.clock import ClockState
from pi_appliance.system.systemd import PowerAction

_DELAY = 0.5  # seconds until a restart, so that the answer and the page arrive


async def show_facts(services: Services, _: Values) -> list[CheckJson]:
    """Return the facts about the machine."""
    return [result_values(each) for each in await machine_facts(services)]


async def machine_facts(services: Services) -> list[CheckResult]:
    """Return the facts about the machine and the daemon, each with whether it is fine."""
    config = services.appliance.config
    context = DiagnosticContext(path=config.path, config=config, error=None, environment=os.environ)
    facts = await asyncio.to_thread(read_facts, context)
    if services.daemon.scheduler.clock_state is ClockState.UNTRUSTED:
        unset = warn("clock", "not set yet; jobs at a time of day wait for it", "connect the machine to the internet")
        facts = [unset if each.check == "clock" else each for each in facts]
    running = ok("appliance", f"running for {describe_time(services.now() - services.daemon.started_at)}")
    place = next(number for number, each in enumerate(facts) if each.check == "uptime")
    return [*facts[: place + 1], running, *facts[place + 1 :]]


async def restart(services: Services, _: Values) -> dict[str, object]:
    """Let the daemon stop and start again."""
    asyncio.get_running_loop().call_later(_DELAY, services.daemon.request_restart)
    return describe_request(services, "restart")


async def reboot(services: Services, _: Values) -> dict[str, object]:
    """Restart the machine. Raises Refused without the right to do so."""
    await asyncio.to_thread(services.daemon.power.request, PowerAction.REBOOT)
    return describe_request(services, "reboot")


async def shutdown(services: Services, _: Values) -> dict[str, object]:
    """Shut down the machine. Raises Refused without the right to do so."""
    await asyncio.to_thread(services.daemon.power.request, PowerAction.SHUTDOWN)
    return describe_request(services, "shutdown")


async def list_backups(services: Services, _: Values) -> object:
    """Return the stored backups."""
    return _stored_values(await asyncio.to_thread(backups.list_stored, services.appliance.config))


async def create_backup(services: Services, _: Values) -> object:
    """Make a backup now. Raises Unavailable if it cannot be written to one of its places."""

    def make() -> Sequence[backups.StoredBackup]:
        appliance, now, at_once = services.appliance, services.now(), timedelta(0)
        made = [
            back_up_daily(appliance.store, now=now, interval=at_once),
            back_up_to_folder(appliance.config, now, at_once),
        ]
        if made[0] is None:
            raise Unavailable(f"{appliance.config.state_dir} has no space for a backup; make room there")
        return [each for each in backups.list_stored(appliance.config) if each.path in made]

    return _stored_values(await asyncio.to_thread(make))


async def restore_backup(services: Services, values: Values) -> dict[str, object]:
    """Let the daemon restart with the state of a stored backup."""
    await asyncio.to_thread(backups.restore_stored, services.appliance.config, values["name"])
    return await restart(services, {})


async def show_update(services: Services, _: Values) -> object:
    """Return the version, the newest release, and how the last update went."""
    return await asyncio.to_thread(update_values, services)


async def check_update(services: Services, _: Values) -> object:
    """Look for a newer release. Raises Refused if this appliance has no source of releases."""
    checker = services.daemon.update_checker
    if checker.obstacle:
        raise Refused(checker.obstacle)
    await checker.check()
    return await show_update(services, {})


async def install_update(services: Services, _: Values) -> object:
    """Have root install the newest release. Raises Refused if there is none, or it cannot."""
    await asyncio.to_thread(services.daemon.update_checker.request)
    return await show_update(services, {})


def update_values(services: Services) -> dict[str, object]:
    """Return the result `SystemUpdate`."""
    checker = services.daemon.update_checker
    newest, last = checker.newest, checker.read_progress()
    return {
        "version": __version__,
        "obstacle": checker.obstacle,
        "newest": {"version": newest.version, "notes": newest.notes} if newest else None,
        "checked_at": iso_time(checker.checked_at) if checker.checked_at else None,
        "error": checker.error,
        "last": {name: last[name] for name in ("state", "version", "steps", "message")} if last else None,
    }


def _stored_values(stored: Iterable[backups.StoredBackup]) -> list[dict[str, object]]:
    return [
        {"name": each.path.name, "made_at": iso_time(each.made_at), "size": each.size, "place": each.place}
        for each in stored
    ]


def describe_request(services: Services, request: str) -> dict[str, object]:
    """Return `request` with the active runs and the time that they get to end."""
    runs = services.appliance.store.active_runs()
    grace = units.format_duration(services.appliance.config.stop_grace)
    return {"request": request, "running": [f"{run.job} (run {run.id})" for run in runs], "grace": grace}


_RELEASE = object_of({"version": TEXT, "notes": TEXT})
_LAST = object_of(
    {"state": {"enum": ["running", "done", "failed"]}, "version": TEXT, "steps": list_of(TEXT), "message": TEXT}
)
SCHEMAS: Mapping[str, Schema] = {
    "SystemUpdate": object_of(
        {
            "version": TEXT,
            "obstacle": TEXT,
            "newest": {"anyOf": [_RELEASE, {"type": "null"}]},
            "checked_at": {"anyOf": [INSTANT, {"type": "null"}]},
            "error": TEXT,
            "last": {"anyOf": [_LAST, {"type": "null"}]},
        }
    ),
    "Backups": list_of(
        object_of({"name": TEXT, "made_at": INSTANT, "size": WHOLE, "place": {"enum": ["card", "folder"]}})
    ),
    "PowerRequest": object_of({"request": TEXT, "running": list_of(TEXT), "grace": TEXT}),
}
