"""The attempts of a run: each is a worker process with limits."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import units
from pi_appliance.config.options import Job
from pi_appliance.config.secrets import environment_without_secrets, secret_names
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.jobs.conditions import SuspendMonitor, missing_sensors
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome, run_variables
from pi_appliance.storage.run_log import RunLog
from pi_appliance.system import files, limits, process
from pi_appliance.system.backoff import retry_delay
from pi_appliance.system.machine import Sensors

_GRACE = 0.5  # seconds after the deadline until the worker ends itself
SENSOR_INTERVAL = 15.0  # seconds between two readings
_MAX_SEARCHED = 50  # earlier runs that are searched for the same note
_OUTCOMES = {"Uncertain": Outcome.UNCERTAIN, "DeadlineExceeded": Outcome.TIMED_OUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Callbacks for the output and the progress of an active run."""

    on_output: Callable[[bytes], None] = lambda _: None
    on_progress: Callable[[float | None, str], None] = lambda _, __: None


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of a run or of one attempt."""

    outcome: Outcome
    summary: str
    details: dict[str, Any]
    retry_after: float | None = None  # seconds; set if another attempt may succeed
    progress: str = ""  # at the end, a clause of the summary


@dataclass(frozen=True, slots=True)
class LongWait:
    """The state of a long attempt. Another process uses it to wait for the program."""

    child: process.Child
    program: process.Program
    plan: str
    count: int
    details: dict[str, Any]
    progress: tuple[float | None, str]


class Attempts:
    """All attempts of one run."""

    def __init__(
        self,
        appliance: Appliance,
        job: Job,
        number: int,
        due: str | None,
        lock: files.Lock,
        stop: process.StopSignal,
        listener: Listener,
    ) -> None:
        self.appliance, self.job, self.number, self.due = appliance, job, number, due
        self.lock, self.stop, self.listener = lock, stop, listener
        self.log_path = appliance.log_path(job.name, number)
        self.place: int | None = None
        """File descriptor of the lock on the place; the worker process inherits it."""
        self.options: Mapping[str, Any] = {}
        """Options that override those under `with:`."""
        self.message: dict[str, Any] = {}
        """The result or the error that the worker sent."""
        self.details: dict[str, Any] = {}
        """Details of all attempts."""
        self.output_tail = b""
        self.progress: tuple[float | None, str] = (None, "")
        self.suspended_seconds = 0.0
        self.count = 0
        self.log_error = ""
        """The reason why the log is incomplete."""
        self.on_long_wait: Callable[[LongWait], None] | None = None
        """Called when a program runs long. It may replace this process by a smaller one."""
        self._resumed: LongWait | None = None
        self._log: RunLog | None = None  # many runs have no output

    def resume(self, wait: LongWait, log_error: int) -> None:
        """Let `run` continue an attempt that another process began.

        `log_error` is the errno with which that process failed to write the log, or 0.
        """
        self._resumed, self.count, self.details, self.progress = wait, wait.count, wait.details, wait.progress
        self._log = RunLog.resume(self.log_path)
        self.output_tail = self._log.tail(process.MAX_TAIL)
        if log_error:
            self.log_error = str(files.write_error(self.log_path, OSError(log_error, os.strerror(log_error))))

    def run(
        self, random: Random, sensors: Sensors | None = None, sensor_interval: float = SENSOR_INTERVAL
    ) -> AttemptResult:
        """Run attempts until one succeeds, the job allows no more, or its timeout is over.

        Args:
            random: Varies the delay between attempts.
            sensors: The sensors of this machine.
            sensor_interval: Seconds between two readings of `sensors`.
        """
        resumed, self._resumed = self._resumed, None
        deadline = resumed.child.deadline if resumed else time.monotonic() + self.job.timeout.total_seconds()
        retry = self.job.retry
        try:
            suspend = None if resumed else self._watch_sensors(sensors, sensor_interval)
            while not self.stop.signal or resumed:
                if resumed:
                    result, resumed = self._run_rest(resumed), None
                else:
                    self.count += 1
                    result = self._run_once(deadline + self.suspended_seconds - time.monotonic(), suspend)
                if result.retry_after is None or self.count > retry.max_retries:
                    return self._add_details(result)
                delay = retry_delay(self.count, first=retry.delay, at_most=retry.max_delay, random=random)
                pause = max(delay.total_seconds(), result.retry_after)
                if time.monotonic() + pause >= deadline + self.suspended_seconds:
                    return self._add_details(result)
                self._update_progress(
                    None, f"try {self.count + 1} in {units.format_duration(timedelta(seconds=int(pause)))}"
                )
                if self.stop.wait(pause):
                    reason = f"stopped before another attempt: {result.summary}"
                    return self._add_details(AttemptResult(Outcome.STOPPED, reason, {}))
            return AttemptResult(Outcome.STOPPED, "stopped before it began", {})
        finally:
            self._close_log()

    def _run_once(self, seconds: float, suspend: process.Suspend | None) -> AttemptResult:
        self.message, self.output_tail = {}, b""
        config, job = self.appliance.config, self.job
        keep_open = (self.lock.fd,) if self.place is None else (self.lock.fd, self.place)
        requested = limits.Limits(job.nice, job.memory, job.cpu)
        applied = (
            limits.apply_limits(requested, f"{self.number}-{self.count}")
            if requested != limits.Limits()
            else contextlib.nullcontext(limits.UNLIMITED)
        )
        with applied as run_limits:
            self.details |= run_limits.details
            if run_limits.warning and self.count == 1:
                self._add_note(run_limits.warning)
            if hasattr(self._kind, "program"):
                ended = self._run_program(seconds, run_limits.plan, keep_open, suspend)
                return self._to_result(ended, out_of_memory=run_limits.out_of_memory())
            ended = process.run_child(
                [
                    *(sys.executable, "-m", "pi_appliance.jobs.context"),
                    *(str(os.getpid()), str(config.path), str(config.state_dir)),
                    *(job.name, str(self.number), self.due or "", json.dumps(dict(self.options)), run_limits.plan),
                    *(f"{time.monotonic() + seconds + _GRACE:.3f}", "{fd}"),
                ],
                stop=self.stop,
                seconds=seconds,
                on_output=self._handle_output,
                on_line=self._handle_message,
                keep_open=keep_open,
                suspend=suspend,
            )
            self.suspended_seconds += ended.suspended_seconds
            return self._to_result(ended, out_of_memory=run_limits.out_of_memory())

    def _run_rest(self, wait: LongWait) -> AttemptResult:
        """Run the rest of an attempt that another process began."""
        with limits.keep_limits(wait.plan) as run_limits:
            result = process.watch_program(
                wait.child,
                stop=self.stop,
                on_output=self._handle_output,
                on_long_wait=self._leave_to(wait.program, wait.plan),
            )
            self._take_result(wait.program, result)
            return self._to_result(result.process, out_of_memory=run_limits.out_of_memory())

    def _leave_to(self, program: process.Program, plan: str) -> Callable[[process.Child], None] | None:
        """Return a callback for a long-running `program`, or None if nothing takes it over."""
        on_long_wait = self.on_long_wait
        if on_long_wait is None:
            return None

        def leave(child: process.Child) -> None:
            if (self._log is None or self._log.is_complete) and not self.log_error:
                on_long_wait(LongWait(child, program, plan, self.count, self.details, self.progress))

        return leave

    def _run_program(
        self, seconds: float, plan: str, keep_open: Sequence[int], suspend: process.Suspend | None
    ) -> process.ProcessResult:
        """Run a kind of job that is only a program, such as `command`, and set `message`."""
        config, run = self.appliance.config, self.appliance.store.find_run(self.number)
        variables = run_variables(
            self.job.name, self.number, run.scheduled_for if run else None, run.trigger if run else None
        )
        environment = environment_without_secrets(secret_names(config)) | variables
        program = self._kind.program(self.job.options, config.path.parent, environment)
        self._update_progress(None, f"running {self.job.options.run[0]}")
        result = process.run_program(
            program,
            stop=self.stop,
            seconds=seconds,
            on_output=self._handle_output,
            plan=plan,
            keep_open=keep_open,
            suspend=suspend,
            on_long_wait=self._leave_to(program, plan) if suspend is None else None,
        )
        self.suspended_seconds += result.process.suspended_seconds
        self._take_result(program, result)
        return result.process

    def _take_result(self, program: process.Program, result: process.ProgramResult) -> None:
        """Set `message` to the result of a program that ended without being stopped."""
        was_ended = result.process.timed_out or result.process.stopped
        try:
            if result.refusal:
                raise Unavailable(result.refusal)
            if not was_ended and (result.status is not None or result.error is not None):
                good = self._kind.result(self.job.options, program, result)
                self.message = {"summary": good.summary, "details": dict(good.details)}
        except (Refused, Unavailable) as error:
            self.message = {"error": type(error).__name__, "message": str(error)}

    @property
    def _kind(self) -> Any:
        return plugins.load("jobs", self.job.kind)

    def _to_result(self, ended: process.ProcessResult, *, out_of_memory: bool) -> AttemptResult:
        if "summary" in self.message:
            return AttemptResult(Outcome.SUCCEEDED, self._add_output(self.message["summary"]), self.message["details"])
        kind, message = self.message.get("error"), self.message.get("message", "")
        if out_of_memory or kind == "memory":
            limit = f"over its memory of {units.format_size(self.job.memory)}" if self.job.memory else "out of memory"
            return AttemptResult(Outcome.FAILED, limit, {})
        progress = message if kind == "DeadlineExceeded" else ""
        if ended.timed_out:
            end = f"ended after its timeout of {units.format_duration(self.job.timeout)}"
            return AttemptResult(Outcome.TIMED_OUT, units.join_clauses(end, progress), {})
        if ended.stopped:
            cause = "a person" if ended.stopped == signal.SIGINT else "a request to stop"
            return AttemptResult(
                Outcome.STOPPED, units.join_clauses(f"ended by {cause}", progress), {}, progress=progress
            )
        if kind == "Unavailable":
            return AttemptResult(Outcome.FAILED, message, {"unavailable": True}, self.message.get("after") or 0.0)
        if kind == "fault":
            return AttemptResult(Outcome.FAILED, f"a bug in the program: {message}; see the log", {})
        if kind is not None:
            return AttemptResult(_OUTCOMES.get(kind, Outcome.FAILED), self._add_output(message), {})
        ending = f"by signal {-ended.status}" if ended.status < 0 else f"with status {ended.status}"
        return AttemptResult(Outcome.FAILED, f"its process ended {ending} without a result; see the log", {})

    def _add_details(self, result: AttemptResult) -> AttemptResult:
        if self.suspended_seconds:
            self.details["paused_seconds"] = round(self.suspended_seconds)
        return replace(result, details={**result.details, **self.details})

    def _add_output(self, summary: str) -> str:
        """Append the last line of output to `summary`, if the kind of job asks for that."""
        shows_output = getattr(self._kind, "SHOWS_OUTPUT", False)
        line = process.last_line(self.output_tail) if shows_output else ""
        return f"{summary}: {line}" if line else summary

    def _watch_sensors(self, sensors: Sensors | None, interval: float) -> process.Suspend | None:
        """Report missing sensors, and return the rule by which the run is suspended, if any."""
        if self.job.conditions is None and self.job.suspend_when is None:
            return None
        sensors = sensors or Sensors()
        self._report_missing_sensors(sensors)
        if self.job.suspend_when is None:
            return None
        return process.Suspend(SuspendMonitor(self.job.suspend_when, sensors).reason, self._handle_suspension, interval)

    def _handle_suspension(self, reason: str) -> None:
        done, note = self.progress
        self._show_progress(done, f"paused: {reason}" if reason else note)

    def _report_missing_sensors(self, sensors: Sensors) -> None:
        """Add missing sensors to the details of each run, and to the log of the first one."""
        missing = missing_sensors(self.job, sensors)
        if not missing:
            return
        self.details["no_sensor"] = " ".join(missing)
        before = self.appliance.store.history(job=self.job.name, limit=_MAX_SEARCHED, before=self.number)
        if all(run.details.get("no_sensor") != self.details["no_sensor"] for run in before):
            self._add_note(f"this machine has no sensor of {' and '.join(missing)}; such conditions count as met")

    def _add_note(self, text: str) -> None:
        line = f"pi-appliance: {text}\n".encode()
        self._write_log(line)
        self.listener.on_output(line)

    def _handle_output(self, chunk: bytes) -> None:
        self.output_tail = (self.output_tail + chunk)[-process.MAX_TAIL :]
        self._write_log(chunk)
        self.listener.on_output(chunk)

    def _write_log(self, output: bytes) -> None:
        """Append to the log. After a write error, the run continues without the log."""
        if self.log_error:
            return
        self._log = self._log or RunLog(self.log_path)
        try:
            self._log.write(output)
        except Unavailable as error:
            self.log_error = str(error)

    def _close_log(self) -> None:
        if self._log is None or self.log_error:
            return
        try:
            self._log.close()
        except Unavailable as error:
            self.log_error = str(error)

    def _handle_message(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return  # the process ended in the middle of it
        if "progress" in message:
            self._update_progress(message["progress"], message["note"])
            return
        if "traceback" in message:
            self._write_log(message["traceback"].encode())
        self.message = message

    def _update_progress(self, done: float | None, note: str) -> None:
        self.progress = (done, note)
        self._show_progress(done, note)

    def _show_progress(self, done: float | None, note: str) -> None:
        self.lock.write_status(self.number, done, note)
        self.listener.on_progress(done, note)
