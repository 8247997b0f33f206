"""Protocols of the daemon and its scheduler, for the handlers of operations and the pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from pi_appliance.config.config_file import ConfigFile
from pi_appliance.config.last_good import WrongFile
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import ChildRuns
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system.clock import ClockState
from pi_appliance.system.systemd import MachinePower


class SchedulerState(Protocol):
    """The state of the scheduler."""

    clock_state: ClockState
    steps: int
    last_step: str
    last_tick: float
    """When it last ticked, in seconds since the machine started."""

    @property
    def clock_wait(self) -> float:
        """Seconds for which the scheduler still waits for the clock to be set."""

    @property
    def error(self) -> str:
        """Why a slot currently cannot be started or recorded; empty if all is well."""

    @property
    def waiting(self) -> int:
        """How many slots wait to be started."""

    def next(self) -> tuple[datetime, str] | None:
        """Return when a job will start next, and its name."""


class LogEntry(NamedTuple):
    """A message of the daemon, without secrets."""

    at: datetime
    text: str
    is_problem: bool = False


class RunningDaemon(Protocol):
    """The daemon. Its parts may be replaced while it runs, so they are read again each time."""

    @property
    def started_at(self) -> datetime:
        """When the daemon was started."""

    @property
    def addresses(self) -> Sequence[str]:
        """The addresses at which the daemon listens, in words."""

    @property
    def messages(self) -> Sequence[LogEntry]:
        """Its newest messages, the oldest first."""

    @property
    def config_error(self) -> WrongFile | None:
        """The problems of the file, and since when the configuration in use was the file."""

    @property
    def appliance(self) -> Appliance:
        """The configuration and the state."""

    @property
    def runs(self) -> ChildRuns:
        """Starts runs."""

    @property
    def scheduler(self) -> SchedulerState:
        """Starts runs at their slots."""

    def request_reload(self) -> None:
        """Have the configuration read again. Raises ConfigError."""

    async def apply_configuration(self) -> None:
        """Let the daemon read the configuration again; return when it is in use.

        Raises ConfigError.
        """

    @property
    def power(self) -> MachinePower:
        """Restarts and shuts down the machine."""

    @property
    def update_checker(self) -> Any:
        """Looks for newer releases: an `UpdateChecker` of maintenance/update_check.py."""

    @property
    def wifi(self) -> Any:
        """Joins Wi-Fi networks: a `WifiService` of wifi/joining.py."""

    @property
    def triggers(self) -> Any:
        """Starts jobs by events: a `TriggerService` of triggers/service.py."""

    def request_restart(self) -> None:
        """Stop as after SIGTERM, then start again."""

    def wake(self) -> None:
        """Let the scheduler check the slots now, because something has changed."""

    def start_request(self, request: RunRequest) -> None:
        """Start the run that `request` asks for."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that the handler of an operation may use. `now` returns the time in UTC."""

    daemon: RunningDaemon
    now: Callable[[], datetime]

    @property
    def appliance(self) -> Appliance:
        """The configuration and the state, as they are now."""
        return self.daemon.appliance

    @property
    def config_file(self) -> ConfigFile:
        """The owner's configuration file, for changes."""
        config = self.appliance.config
        return ConfigFile(config.path, config.state_dir, self.now)
