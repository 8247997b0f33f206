"""A simulation of the daemon through power cuts and clock steps, and the checks of its slots afterwards."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from pi_appliance.config.options import Job
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.scheduler import Scheduler
from pi_appliance.scheduling.slot_ledger import slot_statuses
from pi_appliance.system.clock import ClockState
from tests.installation import Installation
from tests.scheduling.virtual_scheduler import VirtualClock, VirtualRuns

ZONE = ZoneInfo("Europe/Berlin")
NEW_YEAR = datetime(2027, 1, 1, tzinfo=ZONE).astimezone(UTC)
WAIT = 600.0  # seconds to wait for an unsynchronized clock
MOST = 3_000  # records of a job that are checked: a clock that was ten years wrong creates many
LONG = 1500.0  # seconds that a job called long… takes


class _Over(Exception):
    """The time to simulate is over."""


class AccidentSimulation:
    """A daemon in virtual time; it records the periods in which the daemon ran with a trusted clock."""

    def __init__(self, installation: Installation, jobs: str) -> None:
        installation.write(jobs, "retention: {max-age: 30000d, max-runs: 10000000}\n")
        text = installation.config.read_text("utf-8")
        installation.config.write_text(
            text.replace("time-zone: UTC", f"time-zone: {ZONE.key}").replace("sync: 0s", "sync: 10m")
        )
        self.clock = VirtualClock(NEW_YEAR)
        self.appliance = Appliance.open(installation.config)
        self.runs = VirtualRuns(self.appliance, self.clock, lambda job: LONG if job.startswith("long") else 0.0)
        self.trusted_periods: list[list[datetime]] = []
        self.forgiven: dict[str, int] = {}
        self._end = 0.0
        self.start()

    def close(self) -> None:
        """Close the state."""
        self.appliance.close()

    def start(self) -> None:
        """Start the daemon."""
        self.scheduler = Scheduler(self.appliance, self.runs, clock=self.clock, sleep=self._sleep, max_sleep=3600)
        self._broken = True  # whether a new period starts

    def power_cut(self, *, off: timedelta, clock_lost: bool) -> None:
        """Stop everything and start again after `off`. A lost clock stood still, and is not set yet."""
        self.runs.vanish()
        for job in self.appliance.config.jobs:
            self.appliance.store.abandon_runs(job, now=self.clock.now())
        if not clock_lost:
            self.clock.step(off)
        self.clock.ticks, self.clock.known = 5.0, not clock_lost
        self.start()

    def step(self, by: timedelta) -> None:
        """Set the clock forward or back."""
        self.clock.step(by)
        self._broken = True

    def run_for(self, how_long: timedelta) -> None:
        """Run the daemon for a time."""
        self._end = self.clock.monotonic() + how_long.total_seconds()
        try:
            asyncio.run(self.scheduler.run(self._alive))
        except _Over:
            return

    def _alive(self) -> None:
        if self.scheduler.clock_state is ClockState.UNTRUSTED:
            return
        if self._broken:
            self.trusted_periods.append([self.clock.now(), self.clock.now()])
        self.trusted_periods[-1][1], self._broken = self.clock.now(), False

    async def _sleep(self, seconds: float) -> None:
        remaining = self._end - self.clock.monotonic()
        if remaining <= 0:
            raise _Over
        self.clock.advance(min(seconds, remaining, max(0.0, self.runs.next_end() - self.clock.monotonic())))
        self.runs.end_what_is_over()

    def forgive(self, job: str) -> None:
        """Ignore the slots of `job` so far: a user paused it."""
        self.forgiven[job] = len(self.trusted_periods)
        self._broken = True

    def check(self) -> None:
        """Check that no slot ran twice, none of a trusted period was lost, and all others are recorded."""
        twice = [each for each, times in Counter(self.runs.by_job).items() if times > 1]
        assert not twice, f"started twice: {twice[:5]}"
        started = set(self.runs.by_job)
        for job in self.appliance.config.jobs.values():
            silent = [
                account.at
                for account in islice(slot_statuses(self.appliance, job, self.clock.now()), MOST)
                if account.run is None and account.at < self.clock.now() - job.jitter - timedelta(seconds=10 * LONG)
            ]
            assert not silent, f"{job.name}: nothing is known of {len(silent)} slots, of {silent[:3]}"
            if job.chance is None and not job.name.startswith("long"):
                self._check_lived(job, started)

    def _check_lived(self, job: Job, started: set[tuple[str, str]]) -> None:
        assert job.schedule is not None
        for begin, end in self.trusted_periods[self.forgiven.get(job.name, 0) :]:
            for slot in slot_times.fire_times(job.schedule, begin, ZONE):
                if slot > end - job.jitter:
                    break
                due = slot_times.format_slot(slot)
                assert (job.name, due) in started, f"{job.name} lost {due}, and lived from {begin} to {end}"
