"""Handlers of the operations on the machine."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Annotated, Literal, TypedDict

from pi_appliance import __version__
from pi_appliance.config import units
from pi_appliance.diagnostics.context import CheckResult, DiagnosticContext, ok, warn
from pi_appliance.diagnostics.machine_facts import describe_time, read_facts
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.json_schema import Instant
from pi_appliance.maintenance import backup_restore
from pi_appliance.maintenance.releases import ReleaseJson
from pi_appliance.operations import Values
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.daily_backups import back_up_daily, back_up_to_folder
from pi_appliance.storage.model import iso_time
from pi_appliance.system.clock import ClockState
from pi_appliance.system.systemd import PowerAction

_DELAY = 0.5  # seconds before a restart, in which the answer and the page reach the browser


async def show_facts(services: Services, _: Values) -> list[CheckResult]:
    """Return the facts about the machine."""
    return await machine_facts(services)


async def machine_facts(services: Services) -> list[CheckResult]:
    """Return the facts about the machine and the daemon, each with whether it is a problem."""
    config = services.appliance.config
    context = DiagnosticContext(path=config.path, config=config, error=None, environment=os.environ)
    facts = await asyncio.to_thread(read_facts, context)
    if services.daemon.scheduler.clock_state is ClockState.UNTRUSTED:
        unset = warn(
            "not set yet; jobs at a time of day wait for it", "connect the machine to the internet", check="clock"
        )
        facts = [unset if each.check == "clock" else each for each in facts]
    running = ok(f"running for {describe_time(services.now() - services.daemon.started_at)}", check="appliance")
    place = next(number for number, each in enumerate(facts) if each.check == "uptime")
    return [*facts[: place + 1], running, *facts[place + 1 :]]


class PowerRequestJson(TypedDict):
    """A restart or shutdown that is on its way."""

    request: str
    running: Annotated[list[str], "the runs that are asked to end"]
    grace: Annotated[str, "the time that they get"]


class BackupJson(TypedDict):
    """A stored backup."""

    name: str
    made_at: Instant
    size: Annotated[int, "bytes"]
    place: Literal["card", "folder"]


class UpdateProgressJson(TypedDict):
    """How the last update went."""

    state: Literal["running", "done", "failed"]
    version: str
    steps: list[str]
    message: str


class SystemUpdateJson(TypedDict):
    """The version and the newest release."""

    version: str
    obstacle: Annotated[str, "why releases are not found or installed here, or empty"]
    newest: ReleaseJson | None
    checked_at: Instant | None
    error: Annotated[str, "why the last check failed, or empty"]
    last: UpdateProgressJson | None


async def restart(services: Services, _: Values) -> PowerRequestJson:
    """Let the daemon stop and start again."""
    asyncio.get_running_loop().call_later(_DELAY, services.daemon.request_restart)
    return describe_request(services, "restart")


async def reboot(services: Services, _: Values) -> PowerRequestJson:
    """Restart the machine. Raises Refused without the right to do so."""
    await asyncio.to_thread(services.daemon.power.request, PowerAction.REBOOT)
    return describe_request(services, "reboot")


async def shutdown(services: Services, _: Values) -> PowerRequestJson:
    """Shut down the machine. Raises Refused without the right to do so."""
    await asyncio.to_thread(services.daemon.power.request, PowerAction.SHUTDOWN)
    return describe_request(services, "shutdown")


async def list_backups(services: Services, _: Values) -> list[BackupJson]:
    """Return the stored backups."""
    return _stored_values(await asyncio.to_thread(backup_restore.list_stored, services.appliance.config))


async def create_backup(services: Services, _: Values) -> list[BackupJson]:
    """Make a backup now. Raises Unavailable if it cannot be written to one of its places."""

    def make() -> Sequence[backup_restore.StoredBackup]:
        appliance, now, at_once = services.appliance, services.now(), timedelta(0)
        made = [
            back_up_daily(appliance.store, now=now, interval=at_once),
            back_up_to_folder(appliance.config, now, at_once),
        ]
        if made[0] is None:
            raise Unavailable(f"{appliance.config.state_dir} has no space for a backup; make room there")
        return [each for each in backup_restore.list_stored(appliance.config) if each.path in made]

    return _stored_values(await asyncio.to_thread(make))


async def restore_backup(services: Services, values: Values) -> PowerRequestJson:
    """Let the daemon restart with the state of a stored backup."""
    await asyncio.to_thread(backup_restore.restore_stored, services.appliance.config, values["name"])
    return await restart(services, {})


async def show_update(services: Services, _: Values) -> SystemUpdateJson:
    """Return the version, the newest release, and how the last update went."""
    return await asyncio.to_thread(update_values, services)


async def check_update(services: Services, _: Values) -> SystemUpdateJson:
    """Look for a newer release. Raises Refused if this appliance has no source of releases."""
    checker = services.daemon.update_checker
    if checker.obstacle:
        raise Refused(checker.obstacle)
    await checker.check()
    return await show_update(services, {})


async def install_update(services: Services, _: Values) -> SystemUpdateJson:
    """Ask root to install the newest release.

    Raises Refused if there is none, or it is impossible.
    """
    await asyncio.to_thread(services.daemon.update_checker.request)
    return await show_update(services, {})


def update_values(services: Services) -> SystemUpdateJson:
    """Return the version, the newest release, and how the last update went."""
    checker = services.daemon.update_checker
    newest, last = checker.newest, checker.read_progress()
    return {
        "version": __version__,
        "obstacle": checker.obstacle,
        "newest": {"version": newest.version, "notes": newest.notes} if newest else None,
        "checked_at": iso_time(checker.checked_at) if checker.checked_at else None,
        "error": checker.error,
        "last": UpdateProgressJson(
            state=last["state"], version=last["version"], steps=last["steps"], message=last["message"]
        )
        if last
        else None,
    }


def _stored_values(stored: Iterable[backup_restore.StoredBackup]) -> list[BackupJson]:
    return [
        {"name": each.path.name, "made_at": iso_time(each.made_at), "size": each.size, "place": each.place}
        for each in stored
    ]


def describe_request(services: Services, request: str) -> PowerRequestJson:
    """Return `request` with the active runs and the time that they have to end."""
    runs = services.appliance.store.active_runs()
    grace = units.format_duration(services.appliance.config.stop_grace)
    return {"request": request, "running": [f"{run.job} (run {run.id})" for run in runs], "grace": grace}
