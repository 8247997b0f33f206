"""The conditions of a job, which decide whether it may start now, and whether it is suspended.

A condition on a sensor that this machine lacks counts as met.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from pi_appliance.config.options import Conditions, Config, Job, SuspendWhen
from pi_appliance.config.secrets import environment_without_secrets, secret_names
from pi_appliance.config.units import format_size
from pi_appliance.jobs.command_job import resolve_program
from pi_appliance.system import process
from pi_appliance.system.machine import Sensors, free_space
from pi_appliance.system.process import describe_exit_status

HYSTERESIS = 5.0  # degrees below the limit at which a suspended run continues
COMMAND_TIMEOUT = 30.0  # seconds that the command of a condition may take


def find_unmet(
    conditions: Conditions, *, sensors: Sensors, free: Callable[[], int], run: Callable[[Sequence[str]], str]
) -> str:
    """Return why `conditions` do not hold, or '' if all do.

    Args:
        conditions: the conditions of a job.
        sensors: the sensors of this machine.
        free: returns the free bytes.
        run: runs a command and returns an error or ''. The command is checked last.
    """
    return next(_unmet_reasons(conditions, sensors, free, run), "")


def find_unmet_condition(job: Job, config: Config, stop: process.StopSignal) -> str:
    """Return why `job` may not run on this machine now, or '' if it may.

    `stop` interrupts a slow command.
    """
    if job.conditions is None:
        return ""
    return find_unmet(
        job.conditions,
        sensors=Sensors(),
        free=lambda: free_space(config.state_dir),
        run=lambda argv: check_command(argv, config.path.parent, stop, secret_names(config)),
    )


def missing_sensors(job: Job, sensors: Sensors) -> list[str]:
    """Return the sensors that `job` needs and this machine lacks: temperature, power."""
    conditions, pause = job.conditions or Conditions(), job.suspend_when or SuspendWhen()
    sensors_missing = []
    if (conditions.temperature_below, pause.temperature_above) != (None, None) and sensors.temperature() is None:
        sensors_missing.append("temperature")
    if (conditions.not_throttled or pause.throttled) and sensors.power().throttled is None:
        sensors_missing.append("power")
    return sensors_missing


def check_command(
    argv: Sequence[str],
    directory: Path,
    stop: process.StopSignal,
    named: Collection[str] = (),
    patience: float = COMMAND_TIMEOUT,
) -> str:
    """Run a command in `directory`, and return '' if it exits with 0, otherwise the error.

    Its output is discarded, and its processes are killed at its end. It gets no secrets of the
    appliance. `named` are the secrets in the configuration.
    """
    environment = environment_without_secrets(named)
    program = resolve_program(argv[0], directory=directory)
    result = process.run_program(
        process.Program(argv=[program, *argv[1:]], folder=directory, environment=environment),
        stop=stop,
        seconds=patience,
        on_output=lambda _: None,
    )
    if result.error is not None:
        return f"{argv[0]} cannot be run: {result.error.strerror}"
    exit_state = result.process
    if exit_state.timed_out:
        return f"{argv[0]} gave no answer within {patience:g} s"
    if exit_state.stopped:
        return f"stopped before {argv[0]} gave an answer"
    return "" if exit_state.status == 0 else f"{argv[0]} {describe_exit_status(exit_state.status)}"


class SuspendMonitor:
    """Decides whether a run is suspended. Once it is too hot, it must cool down by `HYSTERESIS`."""

    def __init__(self, when: SuspendWhen, sensors: Sensors) -> None:
        self._when, self._sensors, self._hot = when, sensors, False

    def reason(self) -> str:
        """Return why the run is suspended now, or '' if it is not."""
        limit, heat = self._when.temperature_above, None
        if limit is not None:
            heat = self._sensors.temperature()
            self._hot = heat is not None and heat > limit - (HYSTERESIS if self._hot else 0)
        if self._hot:
            return f"{heat:.1f} °C"
        return _power_problem(self._sensors) if self._when.throttled else ""


def _unmet_reasons(
    conditions: Conditions, sensors: Sensors, free: Callable[[], int], run: Callable[[Sequence[str]], str]
) -> Iterator[str]:
    below = conditions.temperature_below
    if below is not None and (heat := sensors.temperature()) is not None and heat >= below:
        yield f"temperature {heat:.1f} °C is not below {below:g} °C"
    if conditions.not_throttled and (reason := _power_problem(sensors)):
        yield reason
    if conditions.disk_free is not None and (room := free()) < conditions.disk_free:
        yield f"{format_size(room)} free, less than {format_size(conditions.disk_free)}"
    if conditions.online and not sensors.online():
        yield "the network has no default route"
    if conditions.command is not None and (reason := run(conditions.command)):
        yield reason


def _power_problem(sensors: Sensors) -> str:
    power = sensors.power()
    if power.under_voltage:
        return "under-voltage"
    return "throttled" if power.throttled else ""
