"""The endpoint /metrics, in the text format of Prometheus, version 0.0.4.

Its client library is not used, because it needs 13 MB of memory in the idle daemon.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from pi_appliance import __version__
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.daemon_interface import RunningDaemon
from pi_appliance.storage.history import Total
from pi_appliance.storage.model import Outcome, is_failing
from pi_appliance.system import machine
from pi_appliance.system.machine import Sensors, free_space

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "pi_appliance_"
_NOT_STARTED = (Outcome.SKIPPED, Outcome.MISFIRED)
_STATES = ("untrusted", "trusted", "stepped")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValues:
    """The values at one moment. Times are in seconds since 1970; None means unknown."""

    version: str
    totals: Sequence[Total] = ()
    ended: Mapping[tuple[str, Outcome], float] = field(default_factory=dict)
    """When the newest run ended, by job and outcome."""
    next_slots: Mapping[str, float] = field(default_factory=dict)
    failing: Mapping[str, bool] = field(default_factory=dict)
    paused: Mapping[str, bool] = field(default_factory=dict)
    active: int = 0
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


def render_metrics(metrics: MetricValues) -> str:
    """Return `metrics` in the Prometheus text format, without unknown values."""
    families = (*_of_runs(metrics), *_of_jobs(metrics), *_of_the_daemon(metrics), *_of_the_machine(metrics))
    return "".join(_text(family) for family in families if family.samples)


def _of_runs(metrics: MetricValues) -> Iterable[_Family]:
    runs = [_Sample(each.runs, {"job": each.job, "outcome": each.outcome}) for each in metrics.totals]
    yield _Family("runs_total", "counter", "Runs and unused slots by outcome, since the installation.", runs)
    begun: dict[str, list[Total]] = {}
    for each in metrics.totals:
        if each.outcome not in _NOT_STARTED:
            begun.setdefault(each.job, []).append(each)
    duration = {job: sum(each.seconds for each in totals) for job, totals in begun.items()}
    late = {job: sum(each.delay_seconds for each in totals) for job, totals in begun.items()}
    counts = {job: sum(each.runs for each in totals) for job, totals in begun.items()}
    yield _summary("run_seconds", "Duration of runs.", duration, counts)
    yield _summary("late_seconds", "Delay of runs after their slots; 0 for manual runs.", late, counts)


def _summary(name: str, about: str, sums: Mapping[str, float], counts: Mapping[str, int]) -> _Family:
    samples = []
    for job, value in sums.items():
        samples += [_Sample(value, {"job": job}, "_sum"), _Sample(counts[job], {"job": job}, "_count")]
    return _Family(name, "summary", about, samples)


def _of_jobs(metrics: MetricValues) -> Iterable[_Family]:
    last = [_Sample(at, {"job": job, "outcome": outcome}) for (job, outcome), at in metrics.ended.items()]
    yield _Family("last_run_timestamp_seconds", "gauge", "End of the latest run with this outcome.", last)
    good = {job: at for (job, outcome), at in metrics.ended.items() if outcome is Outcome.SUCCEEDED}
    yield _by_job("last_success_timestamp_seconds", "End of the latest successful run.", good)
    yield _by_job("next_slot_timestamp_seconds", "Next slot of the schedule.", metrics.next_slots)
    yield _by_job("job_failing", "1 if the latest significant run did not succeed.", metrics.failing)
    yield _by_job("job_paused", "1 if the job is paused.", metrics.paused)


def _by_job(name: str, about: str, values: Mapping[str, float]) -> _Family:
    return _Family(name, "gauge", about, [_Sample(value, {"job": job}) for job, value in values.items()])


def _of_the_daemon(metrics: MetricValues) -> Iterable[_Family]:
    yield _Family("info", "gauge", "Version of the program.", [_Sample(1, {"version": metrics.version})])
    yield _single_value("runs_active", "Runs that have not ended.", metrics.active)
    yield _single_value("slots_waiting", "Slots that wait for an active run.", metrics.waiting)
    yield _single_value("notifications_pending", "Notifications that wait to be sent.", metrics.pending_notifications)
    yield _single_value("clock_trusted", "1 if the wall clock is trusted.", metrics.clock_state != "untrusted")
    states = [_Sample(state == metrics.clock_state, {"state": state}) for state in _STATES]
    yield _Family("clock_state", "gauge", "State of the wall clock.", states)
    yield _single_value("clock_steps_total", "Steps of the wall clock.", metrics.clock_steps, "counter")
    yield _single_value("written_bytes_total", "Bytes that the daemon wrote to disks.", metrics.written, "counter")
    yield _single_value("resident_memory_bytes", "Memory of the daemon.", metrics.memory)
    yield _single_value("start_time_seconds", "Start of the daemon.", metrics.started)


def _of_the_machine(metrics: MetricValues) -> Iterable[_Family]:
    yield _single_value("temperature_celsius", "Temperature of the processor.", metrics.temperature)
    yield _single_value("throttled", "1 if the processor is slowed down now.", metrics.throttled)
    yield _single_value("under_voltage", "1 if the voltage is too low now.", metrics.under_voltage)
    yield _single_value("state_free_bytes", "Free space on the disk of the state folder.", metrics.free)


def _single_value(name: str, about: str, value: float | None, kind: str = "gauge") -> _Family:
    return _Family(name, kind, about, [] if value is None else [_Sample(value)])


def _text(family: _Family) -> str:
    name = _PREFIX + family.name
    about = family.help.replace("\\", r"\\").replace("\n", r"\n")
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {family.kind}"]
    lines += [f"{name}{each.end}{_labels(each.labels)} {_number(each.value)}" for each in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escape_label(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escape_label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    """Return `value` in Go notation: integers without a point, and NaN or +Inf."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


class MetricsEndpoint:
    """The endpoint /metrics. `now` returns the time."""

    def __init__(self, daemon: RunningDaemon, now: Callable[[], datetime]) -> None:
        self._daemon, self._now, self._sensors = daemon, now, Sensors()

    async def answer(self, _: Request) -> Response:
        """Answer with all metrics. This takes a few milliseconds and writes nothing."""
        return Response(render_metrics(self._collect()), media_type=MEDIA_TYPE)

    def _collect(self) -> MetricValues:
        appliance, scheduler, now = self._daemon.appliance, self._daemon.scheduler, self._now()
        appliance.sweep()
        config, store = appliance.config, appliance.store
        newest = store.newest()
        paused = {name for name, pause in store.slots.pauses().items() if pause.is_active(now)}
        power = self._sensors.power()
        next_slots = {
            name: slot.timestamp()
            for name, job in config.jobs.items()
            if job.schedule and (slot := next(slot_times.fire_times(job.schedule, now, config.zone_of(job)), None))
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
            active=len(store.active_runs()),
            waiting=scheduler.waiting,
            pending_notifications=store.count_undelivered(),
            clock_state=scheduler.clock_state,
            clock_steps=scheduler.steps,
            temperature=self._sensors.temperature(),
            throttled=power.throttled,
            under_voltage=power.under_voltage,
            written=machine.bytes_written(),
            memory=machine.resident_memory(),
            free=room,
            started=machine.start_time(),
        )
