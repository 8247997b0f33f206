"""Data to Prometheus' text format, version 0.0.4. Our own, as their client would cost the idle daemon 13 MB."""

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pi_appliance import __version__
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling import instants
from pi_appliance.storage.model import Outcome, is_failing
from pi_appliance.system import machine
from pi_appliance.system.machine import Sensors, free_space
from pi_appliance.web.interface import Daemon

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "pi_appliance_"
_NEVER_BEGAN = (Outcome.SKIPPED, Outcome.MISFIRED)
_STATES = ("untrusted", "trusted", "stepped")


class RunTotal(Protocol):
    """Over all time: how many runs of a job ended so, how long they took together, how late they began together."""

    @property
    def job(self) -> str:
        """The job."""

    @property
    def outcome(self) -> Outcome:
        """How they ended."""

    @property
    def runs(self) -> int:
        """How many."""

    @property
    def seconds(self) -> float:
        """How long they took together."""

    @property
    def delay_seconds(self) -> float:
        """How many seconds after their slots they began, together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValues:
    """The values at one moment. Times are in seconds since 1970; None means unknown."""

    version: str
    totals: Sequence[RunTotal] = ()
    ended: Mapping[tuple[str, Outcome], float] = field(default_factory=dict)
    """When the newest run ended, by job and outcome."""
    next_slots: Mapping[str, float] = field(default_factory=dict)
    failing: Mapping[str, bool] = field(default_factory=dict)
    paused: Mapping[str, bool] = field(default_factory=dict)
    going_on: int = 0
    waiting: int = 0
    pending_notifications: int = 0
    clock_state: str = "trusted"
    clock_steps: int = 0
    temperature: float | None = None
    throttled: bool | None = None
    under_voltage: bool | None = None
    written: int | None = None
    memory: int | None = None
    free: int | None = None
    started: float | None = None


@dataclass(frozen=True, slots=True)
class _Sample:
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    end: str = ""  # of its name: _sum or _count


@dataclass(frozen=True, slots=True)
class _Family:
    name: str
    kind: str
    help: str
    samples: Sequence[_Sample]


def render_metrics(facts: MetricValues) -> str:
    """Return `facts` in the Prometheus text format, without unknown values."""
    families = (*_of_runs(facts), *_of_jobs(facts), *_of_the_daemon(facts), *_of_the_machine(facts))
    return "".join(_text(family) for family in families if family.samples)


def _of_runs(facts: MetricValues) -> Iterable[_Family]:
    runs = [_Sample(each.runs, {"job": each.job, "outcome": each.outcome}) for each in facts.totals]
    yield _Family("runs_total", "counter", "Slots and runs by how they ended, since the beginning.", runs)
    begun: dict[str, list[RunTotal]] = {}
    for each in facts.totals:
        if each.outcome not in _NEVER_BEGAN:
            begun.setdefault(each.job, []).append(each)
    took = {job: sum(each.seconds for each in found) for job, found in begun.items()}
    late = {job: sum(each.delay_seconds for each in found) for job, found in begun.items()}
    counts = {job: sum(each.runs for each in found) for job, found in begun.items()}
    yield _summary("run_seconds", "How long runs took.", took, counts)
    yield _summary("late_seconds", "How long after their slots runs began; by hand counts as 0.", late, counts)


def _summary(name: str, about: str, sums: Mapping[str, float], counts: Mapping[str, int]) -> _Family:
    samples = []
    for job, value in sums.items():
        samples += [_Sample(value, {"job": job}, "_sum"), _Sample(counts[job], {"job": job}, "_count")]
    return _Family(name, "summary", about, samples)


def _of_jobs(facts: MetricValues) -> Iterable[_Family]:
    last = [_Sample(at, {"job": job, "outcome": outcome}) for (job, outcome), at in facts.ended.items()]
    yield _Family("last_run_timestamp_seconds", "gauge", "When the newest run that ended so ended.", last)
    good = {job: at for (job, outcome), at in facts.ended.items() if outcome is Outcome.SUCCEEDED}
    yield _by_job("last_success_timestamp_seconds", "When the newest run that succeeded ended.", good)
    yield _by_job("next_slot_timestamp_seconds", "The next instant that the schedule names.", facts.next_slots)
    yield _by_job("job_failing", "1 if the newest run that did something did not succeed.", facts.failing)
    yield _by_job("job_paused", "1 if its slots are not used until somebody lets it go on.", facts.paused)


def _by_job(name: str, about: str, values: Mapping[str, float]) -> _Family:
    return _Family(name, "gauge", about, [_Sample(value, {"job": job}) for job, value in values.items()])


def _of_the_daemon(facts: MetricValues) -> Iterable[_Family]:
    yield _Family("info", "gauge", "Which version this is.", [_Sample(1, {"version": facts.version})])
    yield _one("runs_going_on", "Runs that have not ended.", facts.going_on)
    yield _one("slots_waiting", "Slots that wait for the run before them.", facts.waiting)
    yield _one("notifications_pending", "Notifications still to be sent.", facts.pending_notifications)
    yield _one("clock_trusted", "1 if the wall clock is believed.", facts.clock_state != "untrusted")
    states = [_Sample(state == facts.clock_state, {"state": state}) for state in _STATES]
    yield _Family("clock_state", "gauge", "What is thought of the wall clock.", states)
    yield _one("clock_steps_total", "How often the wall clock was put forward or back.", facts.clock_steps, "counter")
    yield _one("written_bytes_total", "Bytes that the daemon had written to disks.", facts.written, "counter")
    yield _one("resident_memory_bytes", "Memory that the daemon holds.", facts.memory)
    yield _one("start_time_seconds", "When the daemon started.", facts.started)


def _of_the_machine(facts: MetricValues) -> Iterable[_Family]:
    yield _one("temperature_celsius", "Of the processor.", facts.temperature)
    yield _one("throttled", "1 if the processor is slowed down just now.", facts.throttled)
    yield _one("under_voltage", "1 if the voltage is too low just now.", facts.under_voltage)
    yield _one("state_free_bytes", "Room where the state folder is.", facts.free)


def _one(name: str, about: str, value: float | None, kind: str = "gauge") -> _Family:
    return _Family(name, kind, about, [] if value is None else [_Sample(value)])


def _text(family: _Family) -> str:
    name = _PREFIX + family.name
    about = family.help.replace("\\", r"\\").replace("\n", r"\n")
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {family.kind}"]
    lines += [f"{name}{each.end}{_labels(each.labels)} {_number(each.value)}" for each in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    """Return `value` in Go notation: integers without a point, and NaN or +Inf."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


_MAX_SILENCE = 180.0  # seconds; the scheduler reads the clock at least once a minute


class HealthEndpoint:
    """The endpoint. TICKS is the clock of the scheduler's beat."""

    def __init__(self, daemon: Daemon, ticks: Callable[[], float]) -> None:
        self._daemon, self._ticks = daemon, ticks

    async def answer(self, _: Request) -> JSONResponse:
        """Answer 200 if all is well, else 503 and why."""
        why = self._trouble()
        return JSONResponse({"ok": False, "why": why}, 503) if why else JSONResponse({"ok": True})

    def _trouble(self) -> str:
        silent = self._ticks() - self._daemon.scheduler.last_tick
        if silent >= _MAX_SILENCE:
            return f"the scheduler has not looked at the clock for {silent:.0f} seconds"
        try:
            self._daemon.appliance.store.history(limit=1)
        except ApplianceError:  # it names the file, which is not for everybody
            return "the history cannot be read; the log of the service says why"
        return ""


class MetricsEndpoint:
    """The endpoint. NOW is the wall clock."""

    def __init__(self, daemon: Daemon, now: Callable[[], datetime]) -> None:
        self._daemon, self._now, self._sensors = daemon, now, Sensors()

    async def answer(self, _: Request) -> Response:
        """Answer with every metric. What is asked of the history costs a few milliseconds, of the card nothing."""
        return Response(render_metrics(self._facts()), media_type=MEDIA_TYPE)

    def _facts(self) -> MetricValues:
        appliance, scheduler, now = self._daemon.appliance, self._daemon.scheduler, self._now()
        appliance.sweep()
        config, store = appliance.config, appliance.store
        newest = store.newest()
        paused = {name for name, pause in store.slots.pauses().items() if pause.is_active(now)}
        power = self._sensors.power()
        next_slots = {
            name: slot.timestamp()
            for name, job in config.jobs.items()
            if job.schedule and (slot := next(instants.fire_times(job.schedule, now, config.zone_of(job)), None))
        }
        room = None
        with contextlib.suppress(OSError):
            room = free_space(config.state_dir)
        return MetricValues(
            version=__version__,
            totals=store.totals(),
            ended={(run.job, run.outcome): run.ended.timestamp() for run in newest if run.outcome and run.ended},
            next_slots=next_slots,
            failing={name: is_failing(run for run in newest if run.job == name) for name in config.jobs},
            paused={name: name in paused for name in config.jobs},
            going_on=len(store.active_runs()),
            waiting=scheduler.waiting,
            pending_notifications=store.undelivered(),
            clock_state=scheduler.clock_state,
            clock_steps=scheduler.steps,
            temperature=self._sensors.temperature(),
            throttled=power.throttled,
            under_voltage=power.under_voltage,
            written=machine.bytes_written(),
            memory=machine.rss(),
            free=room,
            started=machine.start_time(),
        )
