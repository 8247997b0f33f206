"""What Prometheus and its kin may know: GET /metrics."""

import contextlib
from collections.abc import Callable
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from pi_appliance import __version__
from pi_appliance.core import cron
from pi_appliance.core.standing import fails
from pi_appliance.reports.as_prometheus import MEDIA_TYPE, Facts, render
from pi_appliance.system import own_process
from pi_appliance.system.sensors import Sensors, free
from pi_appliance.web.world import Daemon


class Metrics:
    """The endpoint. NOW is the wall clock."""

    def __init__(self, daemon: Daemon, now: Callable[[], datetime]) -> None:
        self._daemon, self._now, self._sensors = daemon, now, Sensors()

    async def answer(self, _: Request) -> Response:
        """Answer with every metric. What is asked of the history costs a few milliseconds, of the card nothing."""
        return Response(render(self._facts()), media_type=MEDIA_TYPE)

    def _facts(self) -> Facts:
        appliance, scheduler, now = self._daemon.appliance, self._daemon.scheduler, self._now()
        appliance.sweep()
        config, store = appliance.config, appliance.store
        newest = store.newest()
        paused = {name for name, pause in store.slots.pauses().items() if pause.holds(now)}
        power = self._sensors.power()
        next_slots = {
            name: slot.timestamp()
            for name, job in config.jobs.items()
            if job.schedule and (slot := next(cron.slots(job.schedule, now, config.zone_of(job)), None))
        }
        room = None
        with contextlib.suppress(OSError):
            room = free(config.state)
        return Facts(
            version=__version__,
            totals=store.totals(),
            ended={(run.job, run.outcome): run.ended.timestamp() for run in newest if run.outcome and run.ended},
            next_slots=next_slots,
            failing={name: fails(run for run in newest if run.job == name) for name in config.jobs},
            paused={name: name in paused for name in config.jobs},
            going_on=len(store.going_on()),
            waiting=scheduler.waiting,
            notices=store.undelivered(),
            clock_state=scheduler.clock_state,
            clock_steps=scheduler.steps,
            temperature=self._sensors.temperature(),
            throttled=power.throttled,
            under_voltage=power.under_voltage,
            written=own_process.written(),
            memory=own_process.resident(),
            free=room,
            started=own_process.started(),
        )
