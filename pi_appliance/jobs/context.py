"""The interface between a job and the appliance, and the process of one attempt that creates it.

    python -m pi_appliance.jobs.context RUNNER CONFIG STATE JOB RUN SLOT OPTIONS LIMITS DEADLINE
    CHANNEL

`SLOT` is a slot, a run request, empty for neither, or `RESUME`. `OPTIONS` is JSON that overrides
keys under `with:`. `DEADLINE` is in seconds of the monotonic clock. The process sends progress, and
then the result or the error, as lines of JSON to the descriptor `CHANNEL`. The runner captures the
output of the job. The working directory is the folder of the configuration.

A kind of job that needs more than `JobContext` subclasses it and names the subclass `Context` in
its module.
"""

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random, SystemRandom
from typing import IO, Any

from pi_appliance import plugins
from pi_appliance.config import loader, secrets
from pi_appliance.config.loader import load_usable
from pi_appliance.config.options import Config
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import ApplianceError, Refused, Unavailable, UnknownName
from pi_appliance.jobs.reports import ReportSet, report_set
from pi_appliance.scheduling.chance import uniform_for_label
from pi_appliance.storage.history import Store, open_history
from pi_appliance.storage.model import RESUME, Trigger, read_slot, run_variables
from pi_appliance.system import clock, files, limits, process_tree
from pi_appliance.system.machine import Sensors

_PROGRESS_INTERVAL = 0.5  # seconds between two messages about progress


class ProgressChannel:
    """Sends messages to the runner, one line of JSON each."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._last_sent = float("-inf")

    def send(self, **message: Any) -> None:
        """Write one message."""
        self._file.write(json.dumps(message) + "\n")
        self._file.flush()

    def progress(self, done: float | None, note: str) -> None:
        """Send the progress, at most twice a second."""
        now = time.monotonic()
        if now - self._last_sent >= _PROGRESS_INTERVAL or done == 1:
            self._last_sent = now
            self.send(progress=done, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParameters:
    """The parameters of a worker process."""

    job: str
    run_id: int
    scheduled_for: str | None = None
    """The slot, or the run request, that the run belongs to. None: a manual run, or one that
    resumes others.
    """
    resume_only: bool = False
    """Whether the run only completes work that earlier runs left unfinished."""
    deadline: float | None = None
    """When the timeout ends, in seconds of the monotonic clock. A suspended run gets more time."""
    environment: Mapping[str, str]
    """The environment of the worker, secrets included. Programs started by the job do not get the
    secrets.
    """
    secret: bytes = b""
    """The key of this installation for `random_for`."""


class JobContext:
    """All that a run of any job may use. Paths are absolute, datetimes are aware."""

    job: str
    run_id: int
    scheduled_for: str | None
    resume_only: bool
    now: datetime
    """When the run began."""
    random: Random

    def __init__(self, config: Config, store: Store, channel: ProgressChannel, parameters: RunParameters) -> None:
        self.config = config
        self.store = store
        self.parameters = parameters
        self.job = parameters.job
        self.run_id = parameters.run_id
        self.scheduled_for = parameters.scheduled_for
        self.resume_only = parameters.resume_only
        self.now = clock.now()
        self.random = SystemRandom()
        self._channel = channel
        self._signal_version: int | None = None  # data version of the database at the last check
        # the data version at which they were read, and the checkpoints
        self._active_checkpoints: tuple[int, Mapping[str, str]] = (-1, {})

    @property
    def slot(self) -> str:
        """The slot as text, or `run 12` for a manual run. All attempts of a run have the same."""
        return self.scheduled_for or f"run {self.run_id}"

    @property
    def manual(self) -> bool:
        """Whether a person started the run, and so waits for the result."""
        return self._trigger is Trigger.MANUAL

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that tell a program about this run."""
        return run_variables(self.job, self.run_id, self.scheduled_for, self._trigger)

    @property
    def _trigger(self) -> Trigger | None:
        row = self.store.find_run(self.run_id)
        return row.trigger if row else None

    @property
    def hostname(self) -> str:
        """The name of this machine."""
        return os.uname().nodename

    def clock(self) -> datetime:
        """Return the current wall-clock time in UTC."""
        return clock.now()

    def local_time(self) -> datetime:
        """Return the current time in the job's time zone."""
        return self.clock().astimezone(self.config.zone_of(self.config.jobs[self.job]))

    def temperature(self) -> float | None:
        """Return the temperature of the processor in degrees Celsius, or None without a sensor."""
        return Sensors().temperature()

    def random_for(self, label: str) -> float:
        """Return a number from 0 to below 1, always the same for this job, slot and `label`."""
        return uniform_for_label(self.parameters.secret, self.job, self.slot, label)

    def report(self, name: str) -> AbstractContextManager[IO[str]]:
        """Open report `name` of this job for writing.

        The file replaces the previous report only when the block ends without an error.

        Raises:
            Unavailable: The file cannot be written.
        """
        return files.atomic_write_text(files.make_directory(self.config.reports / self.job) / name)

    def report_set(self, keep: int) -> AbstractContextManager[ReportSet]:
        """Create the reports of this run, published together when the block ends without an error.

        They are in a dated folder. The newest `keep` folders stay.

        Raises:
            Unavailable: The reports cannot be written.
        """
        moment = (read_slot(self.scheduled_for) or self.now).astimezone(self.config.zone_of(self.config.jobs[self.job]))
        return report_set(self.config.reports / self.job, moment, keep=keep)

    def progress(self, done: float | None, note: str = "") -> None:
        """Report the progress from 0 to 1, with a note. Frequent calls are cheap."""
        self._channel.progress(done, note)

    def load_state(self) -> str | None:
        """Return the text that a run of this job saved last, or None."""
        path = self._state_path()
        try:
            return path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{path} cannot be read: {error}; move it away to start again") from None

    def save_state(self, text: str) -> None:
        """Save `text` durably for the next run of this job. Raises `Unavailable`."""
        path = self._state_path()
        files.make_directory(path.parent)
        with files.atomic_write_text(path) as file:
            file.write(text)

    def _state_path(self) -> Path:
        return self.config.state_dir / "memory" / f"{self.job}.txt"

    def load_checkpoint(self) -> str | None:
        """Return the checkpoint of this job, saved by any run, or None."""
        checkpoint = self.store.requests.checkpoint(self.job)
        return checkpoint.text if checkpoint else None

    def save_checkpoint(self, text: str) -> None:
        """Save the unfinished work of this job durably.

        While a checkpoint exists and no run of the job is active, the daemon starts one with
        `resume_only`. Raises `Unavailable`.
        """
        self.store.requests.save_checkpoint(self.job, text, now=clock.now())

    def clear_checkpoint(self) -> None:
        """Delete the checkpoint: the work is finished."""
        self.store.requests.delete_checkpoint(self.job)

    def active_checkpoints(self) -> Mapping[str, str]:
        """Return the checkpoints of other jobs by job. Reads only after the database changed."""
        with contextlib.suppress(Unavailable):
            version = self.store.version()
            if version != self._active_checkpoints[0]:
                checkpoints = self.store.requests.checkpoints()
                others = {checkpoint.job: checkpoint.text for checkpoint in checkpoints if checkpoint.job != self.job}
                self._active_checkpoints = (version, others)
            return self._active_checkpoints[1]
        return {}

    def next_signal(self) -> str:
        """Return and remove the signal to this run, such as "snooze"; '' if there is none."""
        with contextlib.suppress(Unavailable):
            version = self.store.version()
            if version != self._signal_version:
                signal = self.store.requests.take_signal(self.job)
                self._signal_version = version
                return signal
        return ""


def main(argv: list[str]) -> None:
    """Run the job and send its result."""
    runner, config_path, state, job, run_id, slot, options, plan, deadline, channel_number = argv
    process_tree.supervise(int(runner))
    with os.fdopen(int(channel_number), "w", encoding="utf-8") as file:
        channel = ProgressChannel(file)
        try:
            if plan != process_tree.NO_LIMITS:
                limits.enter_limits(plan)
            # The runner's state folder is used, because it has the claims of this run even if the
            # configuration has changed since.
            config = replace(load_usable(Path(config_path), Path(state)), state_dir=Path(state))
            parameters = RunParameters(
                job=job,
                run_id=int(run_id),
                scheduled_for=None if slot in ("", RESUME) else slot,
                resume_only=slot == RESUME,
                deadline=float(deadline),
                environment=dict(os.environ),
                secret=(config.state_dir / "secret.key").read_bytes(),
            )
            _run(config, parameters, json.loads(options), channel)
        except ApplianceError as error:
            channel.send(error=type(error).__name__, message=str(error), after=getattr(error, "retry_after", None))
        except MemoryError:
            channel.send(error="memory")
        except Exception as error:  # noqa: BLE001 - any error of a job is recorded in the history
            message = f"{type(error).__name__}: {error}"
            channel.send(error="fault", message=message, traceback=traceback.format_exc())


def _run(config: Config, parameters: RunParameters, options: Mapping[str, Any], channel: ProgressChannel) -> None:
    for name in secrets.secret_variables(parameters.environment, secret_names(config)):
        del os.environ[name]
    with open_history(config.state_dir) as store:
        if parameters.job not in config.jobs:  # the job was removed from the file after the run began
            raise UnknownName("job", parameters.job, tuple(config.jobs))
        entry = config.jobs[parameters.job]
        os.chdir(config.path.parent)
        kind = plugins.load("jobs", entry.kind)
        context = getattr(kind, "Context", JobContext)(config, store, channel, parameters)
        result = kind.run(loader.override_options(config, entry, options), context)
        channel.send(summary=result.summary, details=dict(result.details))


if __name__ == "__main__":
    main(sys.argv[1:])
