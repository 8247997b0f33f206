"""The operation of the doctor, the current problems, and the endpoints /health and /metrics.

Metrics are in the text format of Prometheus, version 0.0.4. Its client library is not used, because
it needs 13 MB of memory in the idle daemon.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pi_appliance import __version__
from pi_appliance.diagnostics.context import CheckJson
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.music.player import NO_PLAYER
from pi_appliance.music.player_hub import MusicDaemon
from pi_appliance.operations import Values
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.child_runs import run_module
from pi_appliance.scheduling.daemon_interface import RunningDaemon, Services
from pi_appliance.storage.daily_backups import find_problem
from pi_appliance.storage.history import Total
from pi_appliance.storage.model import Outcome, is_failing
from pi_appliance.system import machine
from pi_appliance.system.clock import ClockState
from pi_appliance.system.machine import Sensors, free_space


async def run_doctor(services: Services, _: Values) -> list[CheckJson]:
    """Return the results of all checks, from a process that ends with them."""
    path = str(services.appliance.config.path)
    results: list[CheckJson] = await run_module("pi_appliance", "doctor", "--json", "--config", path)
    return results


_LOW_SPACE = 200_000_000  # bytes
_HOT = 80.0  # degrees Celsius; there a Raspberry Pi slows down


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem. `text` is for the owner and says what to do, `name` is for everybody."""

    name: str
    text: str


def find_problems(daemon: MusicDaemon, sensors: Sensors) -> Iterator[Problem]:
    """Yield the problems of clock, scheduler, card, processor and power supply."""
    scheduler, appliance = daemon.scheduler, daemon.appliance
    if scheduler.clock_state is ClockState.UNTRUSTED:
        minutes = math.ceil(scheduler.clock_wait / 60)
        most = f", at most {minutes} minute{'s' * (minutes != 1)} more" if minutes else ""
        text = (
            f"The clock is not set yet. Jobs at a time of day wait for it{most}. Connect the machine to the internet."
        )
        yield Problem("the clock is not set", text)
    if scheduler.error:
        yield Problem("a job cannot be started", f"A job cannot be started or recorded: {scheduler.error}")
    try:
        appliance.require_free_space()
        if (free := machine.free_space(appliance.config.state_dir)) < _LOW_SPACE:
            text = f"Only {free // 1_000_000} MB are free on the card. Make room: no job runs on a full card."
            yield Problem("the card is almost full", text)
    except Unavailable as error:
        yield Problem("the card is full or cannot be written", f"No job can run: {error}.")
    if problem := find_problem(appliance.config):
        yield Problem("no backup can be written to its folder", f"{problem[:1].upper()}{problem[1:]}.")
    for each in daemon.triggers.problems:
        text = f"the {each.trigger} trigger of {each.job} does not work: {each.text}" if each.job else each.text
        yield Problem("a trigger does not work", f"{text[:1].upper()}{text[1:]}.")
    temperature = sensors.temperature()
    if temperature is not None and temperature >= _HOT:
        text = f"The processor is at {temperature:.0f} °C and slows down. Give it more air."
        yield Problem("the processor is too hot", text)
    if sensors.power().under_voltage:
        text = "The power supply is too weak. Use the one made for this Raspberry Pi, with a short cable."
        yield Problem("the power supply is too weak", text)


def find_player_problem(daemon: MusicDaemon) -> Problem | None:
    """Return the reason why the configured player is not reached, if there is one."""
    error = daemon.hub.error
    return (
        Problem("the player is not reached", f"{error[:1].upper()}{error[1:]}.")
        if error and error != NO_PLAYER
        else None
    )


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


_MAX_SILENCE = 180.0  # seconds; the scheduler reads the clock at least once a minute


class HealthEndpoint:
    """The endpoint /health. `monotonic` is the clock of the scheduler."""

    def __init__(self, daemon: MusicDaemon, monotonic: Callable[[], float]) -> None:
        self._daemon, self._monotonic, self._sensors = daemon, monotonic, Sensors()

    async def answer(self, _: Request) -> JSONResponse:
        """Answer 200 if the daemon is healthy, else 503 with the reason."""
        reason = self._find_problem()
        if reason:
            return JSONResponse({"ok": False, "why": reason}, 503)
        # 200: a restart, which watchdogs answer to 503, would not correct these.
        names = ["the configuration file is wrong; the last good one is used"] if self._daemon.config_error else []
        names += [each.name for each in find_problems(self._daemon, self._sensors)]
        names += [each.name for each in (find_player_problem(self._daemon),) if each]
        return JSONResponse({"ok": True, **({"degraded": "; ".join(names)} if names else {})})

    def _find_problem(self) -> str:
        silent = self._monotonic() - self._daemon.scheduler.last_tick
        if silent >= _MAX_SILENCE:
            return f"the scheduler has not looked at the clock for {silent:.0f} seconds"
        try:
            self._daemon.appliance.store.history(limit=1)
        except ApplianceError:  # its text has the path, which is not public
            return "the history cannot be read; the log of the service says why"
        try:
            self._daemon.appliance.require_free_space()
        except ApplianceError:
            return "the disk of the state folder is full or cannot be written"
        return ""


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
