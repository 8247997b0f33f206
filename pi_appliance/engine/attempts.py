"""The attempts of one run: a child process each, its limits and its pauses, and what it told of how it went."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from pi_appliance import registry
from pi_appliance.core import amounts, backoff, durations, last_line
from pi_appliance.engine import conditions
from pi_appliance.engine.assemble import Appliance
from pi_appliance.errors import Unavailable
from pi_appliance.model.config import Job
from pi_appliance.model.run import Outcome
from pi_appliance.system import limits, locks, process
from pi_appliance.system.logs import RunLog
from pi_appliance.system.sensors import Sensors

_AFTER = 0.5  # seconds after its deadline, by when it was asked to end, a run does so by itself
LOOK = 15.0  # seconds between two looks at the sensors
_KNOWN = 50  # runs looked back at, for what was told already
_OUTCOMES = {"Uncertain": Outcome.UNCERTAIN, "OutOfTime": Outcome.TIMED_OUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who wants to hear of a run while it goes on."""

    on_output: Callable[[bytes], None] = lambda _: None
    on_progress: Callable[[float | None, str], None] = lambda _, __: None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run, or one attempt, ended."""

    outcome: Outcome
    summary: str
    facts: dict[str, Any]
    again_after: float | None = None  # seconds; set where trying again may help
    so_far: str = ""  # the end of the summary, where it heard that it must end and said how far it is


class Attempts:
    """One run from its first attempt to its last."""

    def __init__(
        self,
        appliance: Appliance,
        job: Job,
        number: int,
        due: str | None,
        lock: locks.Lock,
        stop: process.Stop,
        listener: Listener,
    ) -> None:
        self.appliance, self.job, self.number, self.due = appliance, job, number, due
        self.lock, self.stop, self.listener = lock, stop, listener
        self.log = RunLog(appliance.log_path(job.name, number))
        self.given: Mapping[str, Any] = {}
        """The keys that take the place of those under `with:`."""
        self.told: dict[str, Any] = {}
        self.facts: dict[str, Any] = {}  # of all attempts together
        self.printed = b""  # the end of it
        self.progress: tuple[float | None, str] = (None, "")
        self.held = 0.0  # seconds
        self.count = 0
        self.unkept = ""  # why the log is not whole

    def until_done(self, random: Random, sensors: Sensors | None = None, look: float = LOOK) -> Verdict:
        """Try as often as the job's `retry` allows, within its deadline. Look at SENSORS every LOOK seconds."""
        give_up = time.monotonic() + self.job.deadline.total_seconds()
        retry = self.job.retry
        sensors = sensors or Sensors()
        hold = self._hold(sensors, look)
        try:
            self._tell_what_is_missing(sensors)
            while not self.stop.signal:
                self.count += 1
                verdict = self._try(give_up + self.held - time.monotonic(), hold)
                if verdict.again_after is None or self.count > retry.times:
                    return self._with_facts(verdict)
                own = backoff.wait(self.count, first=retry.wait, at_most=retry.at_most, random=random)
                pause = max(own.total_seconds(), verdict.again_after)
                if time.monotonic() + pause >= give_up + self.held:
                    return self._with_facts(verdict)
                self._say(None, f"try {self.count + 1} in {durations.render(timedelta(seconds=int(pause)))}")
                if self.stop.wait(pause):
                    why = f"stopped while it waited to try again: {verdict.summary}"
                    return self._with_facts(Verdict(Outcome.STOPPED, why, {}))
            return Verdict(Outcome.STOPPED, "stopped before it began", {})
        finally:
            self._keep(self.log.close)

    def _try(self, seconds: float, hold: process.Hold | None) -> Verdict:
        self.told, self.printed = {}, b""
        config, job = self.appliance.config, self.job
        wanted = limits.Limits(job.nice, job.memory, job.cpu)
        with limits.held(wanted, f"{self.number}-{self.count}") as held:
            self.facts |= held.facts
            if held.note and self.count == 1:
                self._note(held.note)
            ended = process.watch(
                [
                    *(sys.executable, "-m", "pi_appliance.engine.child"),
                    *(str(os.getpid()), str(config.path), str(config.state)),
                    *(job.name, str(self.number), self.due or "", json.dumps(dict(self.given)), held.plan),
                    *(f"{time.monotonic() + seconds + _AFTER:.3f}", "{fd}"),
                ],
                stop=self.stop,
                seconds=seconds,
                on_output=self._output,
                on_line=self._line,
                keep_open=(self.lock.number,),
                hold=hold,
            )
            self.held += ended.held
            return self._verdict(ended, out_of_memory=held.out_of_memory())

    def _verdict(self, ended: process.Ended, *, out_of_memory: bool) -> Verdict:
        if "summary" in self.told:
            return Verdict(Outcome.SUCCEEDED, self._quoting(self.told["summary"]), self.told["facts"])
        kind, message = self.told.get("error"), self.told.get("message", "")
        if out_of_memory or kind == "memory":
            limit = f"over its memory of {amounts.render_size(self.job.memory)}" if self.job.memory else "out of memory"
            return Verdict(Outcome.FAILED, limit, {})
        so_far = f"; {message}" if kind == "OutOfTime" else ""
        if ended.timed_out:
            why = f"ended at its deadline of {durations.render(self.job.deadline)}{so_far}"
            return Verdict(Outcome.TIMED_OUT, why, {})
        if ended.stopped:
            who = "a person" if ended.stopped == signal.SIGINT else "a request to stop"
            return Verdict(Outcome.STOPPED, f"ended by {who}{so_far}", {}, so_far=so_far)
        if kind == "Unavailable":
            return Verdict(Outcome.FAILED, message, {"unavailable": True}, self.told.get("after") or 0.0)
        if kind == "fault":
            return Verdict(Outcome.FAILED, f"a fault of the program: {message}; the log has the details", {})
        if kind is not None:
            return Verdict(_OUTCOMES.get(kind, Outcome.FAILED), self._quoting(message), {})
        how = f"by signal {-ended.status}" if ended.status < 0 else f"with status {ended.status}"
        return Verdict(Outcome.FAILED, f"its process ended {how} and said nothing; see the log", {})

    def _with_facts(self, verdict: Verdict) -> Verdict:
        if self.held:
            self.facts["paused-seconds"] = round(self.held)
        return replace(verdict, facts={**verdict.facts, **self.facts})

    def _quoting(self, summary: str) -> str:
        """Return SUMMARY with the last line that was printed, where the kind of job wants that."""
        quotes = getattr(registry.load("jobs", self.job.kind), "QUOTES", False)
        line = last_line.last_line(self.printed) if quotes else ""
        return f"{summary}: {line}" if line else summary

    def _hold(self, sensors: Sensors, look: float) -> process.Hold | None:
        if self.job.pause_when is None:
            return None
        return process.Hold(conditions.Pause(self.job.pause_when, sensors).why, self._paused, look)

    def _paused(self, why: str) -> None:
        done, note = self.progress
        self._show(done, f"paused: {why}" if why else note)

    def _tell_what_is_missing(self, sensors: Sensors) -> None:
        """Put the sensors that are not there into the facts of every run, and into the log of the first such run."""
        missing = conditions.missing(self.job, sensors)
        if not missing:
            return
        self.facts["no-sensor"] = " ".join(missing)
        before = self.appliance.store.history(job=self.job.name, limit=_KNOWN, before=self.number)
        if all(run.facts.get("no-sensor") != self.facts["no-sensor"] for run in before):
            self._note(f"no sensor of {' and '.join(missing)} here; what asks for it counts as met")

    def _note(self, text: str) -> None:
        """Say something of our own in the log."""
        line = f"pi-appliance: {text}\n".encode()
        self._keep(lambda: self.log.write(line))
        self.listener.on_output(line)

    def _output(self, chunk: bytes) -> None:
        self.printed = (self.printed + chunk)[-last_line.KEEP :]
        self._keep(lambda: self.log.write(chunk))
        self.listener.on_output(chunk)

    def _keep(self, write: Callable[[], None]) -> None:
        """Do what keeps the log; that it cannot be kept is no reason to end a run that does its work."""
        if not self.unkept:
            try:
                write()
            except Unavailable as error:
                self.unkept = f"; {error}"

    def _line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return  # cut off in the middle of a word by its end
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
        self.lock.say(self.number, done, note)
        self.listener.on_progress(done, note)
