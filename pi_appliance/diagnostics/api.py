"""The endpoints `/health` for a watchdog and `/metrics` for Prometheus."""

import contextlib
from collections.abc import Callable
from datetime import datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pi_appliance import __version__
from pi_appliance.diagnostics.metrics import MEDIA_TYPE, MetricValues, render_metrics
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling import cron
from pi_appliance.storage.job_health import is_failing
from pi_appliance.system import sensors
from pi_appliance.system.sensors import Sensors, free_space
from pi_appliance.web.interface import Daemon

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
        silent = self._ticks() - self._daemon.scheduler.beat
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
            if job.schedule and (slot := next(cron.fire_times(job.schedule, now, config.zone_of(job)), None))
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
            written=sensors.bytes_written(),
            memory=sensors.rss(),
            free=room,
            started=sensors.start_time(),
        )
