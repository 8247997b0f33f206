"""The operation of the doctor."""

from pi_appliance.diagnostics.context import CheckJson
from pi_appliance.operations import Values
from pi_appliance.scheduling.child_runs import run_module
from pi_appliance.scheduling.daemon_interface import Services


async def run_doctor(services: Services, _: Values) -> list[CheckJson]:
    """Return the results of all checks, from a process that ends with them."""
    path = str(services.appliance.config.path)
    results: list[CheckJson] = await run_module("pi_appliance", "doctor", "--json", "--config", path)
    return results
