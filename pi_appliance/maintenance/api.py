"""Handlers of the operations on the machine."""

import asyncio
import os

from pi_appliance.diagnostics.context import CheckResult, DiagnosticContext, ok, result_values, warn
from pi_appliance.diagnostics.machine_facts import describe_time, read_facts
from pi_appliance.operations import Values
from pi_appliance.scheduling.interface import Services
from pi_appliance.system.clock import ClockState


async def show_facts(services: Services, _: Values) -> object:
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
