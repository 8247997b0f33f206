"""The attempts of a run: a child process each, with limits, pauses and a result."""

import json
import logging
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any
from urllib.parse import urlencode, urlsplit

from pi_appliance import plugins
from pi_appliance.config import secrets, units
from pi_appliance.config.model import Job
from pi_appliance.config.secrets import missing_secrets, substitute_secrets
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.scheduling import conditions
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome
from pi_appliance.system import clock, http, limits, locks, process
from pi_appliance.system.files import RunLog
from pi_appliance.system.machine import Sensors

_AFTER = 0.5  # seconds after the deadline at which the worker ends itself
LOOK = 15.0  # seconds between two readings of the sensors
_KNOWN = 50  # earlier runs searched for the same note
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
    retry_after: float | None = None  # seconds; set where trying again may help
    so_far: str = ""  # progress at the deadline, appended to the summary


class Attempts:
    """One run from its first attempt to its last."""

    def __init__(
        self,
        appliance: Appliance,
        job: Job,
        number: int,
        due: str | None,
        lock: locks.Lock,
        stop: process.StopSignal,
        listener: Listener,
    ) -> None:
        self.appliance, self.job, self.number, self.due = appliance, job, number, due
        self.lock, self.stop, self.listener = lock, stop, listener
        self.log = RunLog(appliance.log_path(job.name, number))
        self.given: Mapping[str, Any] = {}
        """Options that override those under `with:`."""
        self.told: dict[str, Any] = {}
        self.facts: dict[str, Any] = {}  # details of all attempts
        self.printed = b""  # the last output
        self.progress: tuple[float | None, str] = (None, "")
        self.held = 0.0  # seconds
        self.count = 0
        self.unkept = ""  # why the log is incomplete

    def until_done(self, random: Random, sensors: Sensors | None = None, look: float = LOOK) -> AttemptResult:
        """Try as often as `retry` of the job allows, within its deadline.

        Args:
            random: varies the delay between attempts.
            sensors: the sensors of this machine.
            look: seconds between two readings of `sensors`.

        """
        give_up = time.monotonic() + self.job.timeout.total_seconds()
        retry = self.job.retry
        sensors = sensors or Sensors()
        hold = self._hold(sensors, look)
        try:
            self._tell_what_is_missing(sensors)
            while not self.stop.signal:
                self.count += 1
                verdict = self._try(give_up + self.held - time.monotonic(), hold)
                if verdict.retry_after is None or self.count > retry.max_retries:
                    return self._with_facts(verdict)
                own = clock.retry_delay(self.count, first=retry.delay, at_most=retry.max_delay, random=random)
                pause = max(own.total_seconds(), verdict.retry_after)
                if time.monotonic() + pause >= give_up + self.held:
                    return self._with_facts(verdict)
                self._say(None, f"try {self.count + 1} in {units.format_duration(timedelta(seconds=int(pause)))}")
                if self.stop.wait(pause):
                    why = f"stopped while it waited to try again: {verdict.summary}"
                    return self._with_facts(AttemptResult(Outcome.STOPPED, why, {}))
            return AttemptResult(Outcome.STOPPED, "stopped before it began", {})
        finally:
            self._keep(self.log.close)

    def _try(self, seconds: float, hold: process.Suspend | None) -> AttemptResult:
        self.told, self.printed = {}, b""
        config, job = self.appliance.config, self.job
        wanted = limits.Limits(job.nice, job.memory, job.cpu)
        with limits.apply_limits(wanted, f"{self.number}-{self.count}") as run_limits:
            self.facts |= run_limits.details
            if run_limits.warning and self.count == 1:
                self._note(run_limits.warning)
            ended = process.run_child(
                [
                    *(sys.executable, "-m", "pi_appliance.jobs.worker"),
                    *(str(os.getpid()), str(config.path), str(config.state_dir)),
                    *(job.name, str(self.number), self.due or "", json.dumps(dict(self.given)), run_limits.plan),
                    *(f"{time.monotonic() + seconds + _AFTER:.3f}", "{fd}"),
                ],
                stop=self.stop,
                seconds=seconds,
                on_output=self._output,
                on_line=self._line,
                keep_open=(self.lock.fd,),
                suspend=hold,
            )
            self.held += ended.suspended_seconds
            return self._verdict(ended, out_of_memory=run_limits.out_of_memory())

    def _verdict(self, ended: process.ProcessResult, *, out_of_memory: bool) -> AttemptResult:
        if "summary" in self.told:
            return AttemptResult(Outcome.SUCCEEDED, self._quoting(self.told["summary"]), self.told["details"])
        kind, message = self.told.get("error"), self.told.get("message", "")
        if out_of_memory or kind == "memory":
            limit = f"over its memory of {units.format_size(self.job.memory)}" if self.job.memory else "out of memory"
            return AttemptResult(Outcome.FAILED, limit, {})
        so_far = f"; {message}" if kind == "DeadlineExceeded" else ""
        if ended.timed_out:
            why = f"ended at its deadline of {units.format_duration(self.job.timeout)}{so_far}"
            return AttemptResult(Outcome.TIMED_OUT, why, {})
        if ended.stopped:
            who = "a person" if ended.stopped == signal.SIGINT else "a request to stop"
            return AttemptResult(Outcome.STOPPED, f"ended by {who}{so_far}", {}, so_far=so_far)
        if kind == "Unavailable":
            return AttemptResult(Outcome.FAILED, message, {"unavailable": True}, self.told.get("after") or 0.0)
        if kind == "fault":
            return AttemptResult(Outcome.FAILED, f"a fault of the program: {message}; the log has the details", {})
        if kind is not None:
            return AttemptResult(_OUTCOMES.get(kind, Outcome.FAILED), self._quoting(message), {})
        how = f"by signal {-ended.status}" if ended.status < 0 else f"with status {ended.status}"
        return AttemptResult(Outcome.FAILED, f"its process ended {how} and said nothing; see the log", {})

    def _with_facts(self, verdict: AttemptResult) -> AttemptResult:
        if self.held:
            self.facts["paused-seconds"] = round(self.held)
        return replace(verdict, details={**verdict.details, **self.facts})

    def _quoting(self, summary: str) -> str:
        """Return `summary` with the last line of output, if the kind of job wants that."""
        quotes = getattr(plugins.load("jobs", self.job.kind), "QUOTES", False)
        line = process.last_line(self.printed) if quotes else ""
        return f"{summary}: {line}" if line else summary

    def _hold(self, sensors: Sensors, look: float) -> process.Suspend | None:
        if self.job.suspend_when is None:
            return None
        return process.Suspend(conditions.SuspendMonitor(self.job.suspend_when, sensors).reason, self._paused, look)

    def _paused(self, why: str) -> None:
        done, note = self.progress
        self._show(done, f"paused: {why}" if why else note)

    def _tell_what_is_missing(self, sensors: Sensors) -> None:
        """Add missing sensors to the details of each run, and to the log of the first one."""
        missing = conditions.missing_sensors(self.job, sensors)
        if not missing:
            return
        self.facts["no-sensor"] = " ".join(missing)
        before = self.appliance.store.history(job=self.job.name, limit=_KNOWN, before=self.number)
        if all(run.details.get("no-sensor") != self.facts["no-sensor"] for run in before):
            self._note(f"no sensor of {' and '.join(missing)} here; what asks for it counts as met")

    def _note(self, text: str) -> None:
        """Write a message of the appliance to the log."""
        line = f"pi-appliance: {text}\n".encode()
        self._keep(lambda: self.log.write(line))
        self.listener.on_output(line)

    def _output(self, chunk: bytes) -> None:
        self.printed = (self.printed + chunk)[-process.MAX_TAIL :]
        self._keep(lambda: self.log.write(chunk))
        self.listener.on_output(chunk)

    def _keep(self, write: Callable[[], None]) -> None:
        """Write to the log. A write error does not end the run."""
        if not self.unkept:
            try:
                write()
            except Unavailable as error:
                self.unkept = f"; {error}"

    def _line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return  # cut off by the end of the process
        if "progress" in message:
            self._say(message["progress"], message["note"])
            return
        if "traceback" in message:
            self._keep(lambda: self.log.write(message["traceback"].encode()))
        self.told = message

    def _say(self, done: float | None, note: str) -> None:
        self.progress = (done, note)
        self._show(done, note)

    def _show(self, done: float | None, note: str) -> None:
        self.lock.write_status(self.number, done, note)
        self.listener.on_progress(done, note)


_MAX_BODY = 10_000  # bytes; a service keeps as many, or ten times as many


def send(address: str, what: str, body: str = "", *, rid: str, seconds: float) -> None:
    """Call `address` with `/what` appended, the run's id `rid` and `body`.

    The error messages contain nothing of the address, which may hold secrets.

    Args:
        address: a web address.
        what: start or fail; '' for success.
        body: text that the service shows.
        rid: connects the start and the end of one run.
        seconds: time limit.

    Raises:
        Unavailable: it was not reached.
        Refused: the service does not want it.

    """
    try:
        url = _full(address, what, rid)
        response = http.request_now("POST", url, body=_cut(body), seconds=seconds, max_bytes=_MAX_BODY)
    except http.NoResponse as failure:
        raise failure.as_error(f"not reached: {failure}" if str(failure) else "not reached") from None
    except ValueError:
        raise Refused("this is not a web address") from None
    if response.status >= 300:
        raise http.status_error(response.status, f"the service answered {response.status}")


def _full(address: str, what: str, rid: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError
    path = parts.path.rstrip("/") + (f"/{what}" if what else "")
    query = "&".join(filter(None, (parts.query, urlencode({"rid": rid}))))
    return parts._replace(path=path, query=query, fragment="").geturl()


def _cut(body: str) -> bytes:
    """Encode `body` up to the maximum size, without a partial character."""
    return body.encode()[:_MAX_BODY].decode(errors="ignore").encode()


log = logging.getLogger("pi_appliance.pings")
_PATIENCE = 5.0  # seconds; maximum delay of a run by a ping


class Start:
    """Sends the start ping in the background. Its errors do not affect the run."""

    def __init__(self, appliance: Appliance, job: Job, run: int) -> None:
        """Start to send it, if `job` has a URL."""
        self._thread: threading.Thread | None = None
        if job.healthchecks_url:
            self._thread = threading.Thread(target=_start, args=(appliance, job.healthchecks_url, run), daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait briefly until it is sent, so that the end ping comes after it."""
        if self._thread:
            self._thread.join(_PATIENCE)


def _start(appliance: Appliance, address: str, run: int) -> None:
    try:
        path = appliance.config.path
        secret_values = secrets.load(path, os.environ, secrets.secret_names_in(address))
        call(address, "start", secrets=secret_values, rid=run_id(appliance.secret, run), seconds=_PATIENCE)
    except ApplianceError as error:
        log.info("run=%s its start was not pinged: %s", run, error)


def call(address: str, what: str, body: str = "", *, secrets: Mapping[str, str], rid: str, seconds: float) -> None:
    """Ping `address` with its `secrets` substituted. Raises Refused or Unavailable."""
    if missing := missing_secrets(address, secrets):
        raise Refused(f"no {', '.join(missing)} among the secrets; put it into secrets.env")
    send(substitute_secrets(address, secrets), what, body, rid=rid, seconds=seconds)


def run_id(secret: bytes, run: int) -> str:
    """Return the id of `run` for the ping service. It is unique and the same at start and end."""
    return str(uuid.uuid5(uuid.UUID(bytes=secret[:16]), str(run)))
