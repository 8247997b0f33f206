"""The only way a job ever runs: one call is one run, one row of the history, one child process an attempt."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from pi_appliance.core import backoff, cron, durations
from pi_appliance.core.chance import picks
from pi_appliance.engine import pings
from pi_appliance.engine.assemble import Appliance
from pi_appliance.errors import Unavailable, UnknownName
from pi_appliance.model.config import Job
from pi_appliance.model.notice import Told
from pi_appliance.model.run import Outcome, Run, Trigger
from pi_appliance.model.schedule import AtBoot, Cron, Every
from pi_appliance.system import clock, locks, process
from pi_appliance.system.logs import RunLog

_LONGEST_REPLAY = timedelta(hours=4)  # cron itself looks back three hours after the clock was put forward
_SWEEP = 1.0  # seconds; the page and the daemon hold the lock for a moment where they close what was cut off
_OUTCOMES = {"Uncertain": Outcome.UNCERTAIN, "OutOfTime": Outcome.TIMED_OUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who wants to hear of a run while it goes on."""

    on_output: Callable[[bytes], None] = lambda _: None
    on_progress: Callable[[float | None, str], None] = lambda _, __: None


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How a run, or one attempt, ended."""

    outcome: Outcome
    summary: str
    facts: dict[str, Any]
    again_after: float | None = None  # seconds; set where trying again may help


def run(
    appliance: Appliance,
    name: str,
    trigger: Trigger,
    *,
    due: str | None = None,
    as_scheduled: bool = False,
    listener: Listener | None = None,
    random: Random,
) -> Run:
    """Run the job NAME and return how it went.

    DUE is the slot; where a schedule started the run and none is given, it is the slot of this moment. A run by hand
    has none, and asks no chance, unless AS_SCHEDULED. Raises UnknownName; Unavailable if the state folder is no use.
    """
    job = appliance.job(name)
    now = clock.now()
    misfire = ""
    if due is not None:
        _require_slot(job, due, appliance.config.time_zone)
    if due is None and (trigger is not Trigger.HAND or as_scheduled):
        due, misfire = _slot_of(job, now, appliance, by_hand=trigger is Trigger.HAND)
    store, told = appliance.store, Told.of(appliance.config, job)
    # From here on a signal ends the run, not this process: the history hears of it whenever it comes.
    with process.Stop().caught() as stop, locks.taken(appliance.lock_path(name), patience=_SWEEP) as lock:
        if lock is not None:
            store.abandon(name, now=now, told=told)
        number, used_by = store.begin(job=name, kind=job.kind, trigger=trigger, due=due, now=now)
        verdict = _reason_not_to(appliance, job, due, misfire, used_by)
        if verdict is None and lock is None:
            verdict = _Verdict(Outcome.SKIPPED, _overlap(appliance, name), {})
        attempts, start = 0, None
        if verdict is None:
            assert lock is not None
            start = pings.Start(appliance, job, number)
            lock.say(number, None, "starting")
            attempt = _Attempts(appliance, job, number, due, lock, stop, listener or Listener())
            verdict = attempt.until_done(random)
            verdict = replace(verdict, summary=verdict.summary + attempt.unkept)
            attempts = attempt.count
        store.end(
            number,
            verdict.outcome,
            verdict.summary,
            now=clock.now(),
            attempts=attempts,
            facts=verdict.facts,
            told=told,
        )
    if start:
        start.wait()
    ended = store.run(number)
    assert ended is not None
    return ended


def _require_slot(job: Job, due: str, zone: ZoneInfo) -> None:
    """Raise UnknownName unless DUE names a slot of JOB: any other would be a second claim to the same post."""
    real = None
    match job.schedule:
        case AtBoot():
            real = clock.boot_name()
        case Cron() | Every():
            just_before = datetime.fromisoformat(due) - timedelta(microseconds=1) if due[:1].isdigit() else clock.now()
            real = cron.due_name(next(cron.slots(job.schedule, just_before, zone)))
    if due != real:
        raise UnknownName(f"slot of {job.name}", due, [real] if real else [])


def _slot_of(job: Job, now: datetime, appliance: Appliance, *, by_hand: bool) -> tuple[str | None, str]:
    """Return the slot that a run started NOW belongs to, and why it is a misfire, if it is."""
    zone = appliance.config.time_zone
    if job.schedule is None:
        return None, "its schedule is gone; take the entry out with: pi-appliance jobs install"
    if isinstance(job.schedule, AtBoot):
        return clock.boot_name(), ""
    slot = cron.last_slot(job.schedule, now, zone, within=job.grace)
    if slot is not None:
        return cron.due_name(slot), ""
    if by_hand:  # between two slots: the next one, which is then used
        return cron.due_name(next(cron.slots(job.schedule, now, zone))), ""
    slot = cron.last_slot(job.schedule, now, zone, within=max(job.grace, _LONGEST_REPLAY))
    if slot is None:
        return None, "its schedule names no slot here; bring cron in step with: pi-appliance jobs install"
    late = durations.render(timedelta(seconds=int((now - slot).total_seconds())))
    return cron.due_name(slot), f"{late} late, more than its grace of {durations.render(job.grace)}"


def _reason_not_to(
    appliance: Appliance, job: Job, due: str | None, misfire: str, used_by: int | None
) -> _Verdict | None:
    if used_by is not None:
        return _Verdict(Outcome.SKIPPED, f"its slot {due} was used by run {used_by}", {})
    if misfire:
        return _Verdict(Outcome.MISFIRED, misfire, {})
    if due is not None and not picks(job.chance, secret=appliance.secret, job=job.name, due=due):
        return _Verdict(Outcome.SKIPPED, f"by chance ({job.chance})", {})
    return None


def _overlap(appliance: Appliance, name: str) -> str:
    going_on = appliance.store.going_on(name)
    return f"run {going_on[0].id} of it still goes on" if len(going_on) > 1 else "another run of it still goes on"


class _Attempts:
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
        self.told: dict[str, Any] = {}
        self.count = 0
        self.unkept = ""  # why the log is not whole

    def until_done(self, random: Random) -> _Verdict:
        """Try as often as the job's `retry` allows, within its deadline."""
        give_up = time.monotonic() + self.job.deadline.total_seconds()
        retry = self.job.retry
        try:
            while not self.stop.signal:
                self.count += 1
                verdict = self._try(give_up - time.monotonic())
                if verdict.again_after is None or self.count > retry.times:
                    return verdict
                own = backoff.wait(self.count, first=retry.wait, at_most=retry.at_most, random=random)
                pause = max(own.total_seconds(), verdict.again_after)
                if time.monotonic() + pause >= give_up:
                    return verdict
                self._say(None, f"try {self.count + 1} in {durations.render(timedelta(seconds=int(pause)))}")
                if self.stop.wait(pause):
                    return _Verdict(Outcome.STOPPED, f"stopped while it waited to try again: {verdict.summary}", {})
            return _Verdict(Outcome.STOPPED, "stopped before it began", {})
        finally:
            self._keep(self.log.close)

    def _try(self, seconds: float) -> _Verdict:
        self.told = {}
        appliance = self.appliance
        ended = process.watch(
            [
                *(sys.executable, "-m", "pi_appliance.engine.child"),
                *(
                    str(os.getpid()),
                    str(appliance.config.path),
                    str(appliance.config.state),
                    self.job.name,
                    str(self.number),
                    self.due or "",
                    "{fd}",
                ),
            ],
            stop=self.stop,
            seconds=seconds,
            on_output=self._output,
            on_line=self._line,
            keep_open=(self.lock.number,),
        )
        return self._verdict(ended)

    def _verdict(self, ended: process.Ended) -> _Verdict:
        if "summary" in self.told:
            return _Verdict(Outcome.SUCCEEDED, self.told["summary"], self.told["facts"])
        if ended.timed_out:
            return _Verdict(Outcome.TIMED_OUT, f"ended at its deadline of {durations.render(self.job.deadline)}", {})
        if ended.stopped:
            who = "a person" if ended.stopped == signal.SIGINT else "a request to stop"
            return _Verdict(Outcome.STOPPED, f"ended by {who}", {})
        kind, message = self.told.get("error"), self.told.get("message", "")
        if kind == "Unavailable":
            return _Verdict(Outcome.FAILED, message, {"unavailable": True}, self.told.get("after") or 0.0)
        if kind == "fault":
            return _Verdict(Outcome.FAILED, f"a fault of the program: {message}; the log has the details", {})
        if kind is not None:
            return _Verdict(_OUTCOMES.get(kind, Outcome.FAILED), message, {})
        how = f"by signal {-ended.status}" if ended.status < 0 else f"with status {ended.status}"
        return _Verdict(Outcome.FAILED, f"its process ended {how} and said nothing; see the log", {})

    def _output(self, chunk: bytes) -> None:
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
        self.lock.say(self.number, done, note)
        self.listener.on_progress(done, note)
