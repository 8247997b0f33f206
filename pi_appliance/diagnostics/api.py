"""The operation of the doctor."""

from pi_appliance.diagnostics.context import CheckResult
from pi_appliance.operations import Values
from pi_appliance.scheduling.child_runs import run_module
from pi_appliance.scheduling.daemon_interface import Services


async def run_doctor(services: Services, _: Values) -> list[CheckResult]:
    """Return the results of all checks, from a process that ends with them."""
    path = str(services.appliance.config.path)
    return [CheckResult(**each) for each in await run_module("pi_appliance", "doctor", "--json", "--config", path)]
