"""The accounts of slots: what each came to, written down so that none is lost and none is told twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pi_appliance.core import chance, cron, plan
from pi_appliance.engine.assemble import Appliance
from pi_appliance.model.config import Job
from pi_appliance.model.notice import Told
from pi_appliance.model.run import Outcome, Trigger
from pi_appliance.model.schedule import Cron
from pi_appliance.store.slots import Settled, Watched, slot_key

_TICK = timedelta(microseconds=1)
NEVER = datetime.max.replace(tzinfo=UTC)
_SAVE = timedelta(hours=1)  # so much is looked through again at the next start, rather than written each time


@dataclass(slots=True)
class Watch:
    """How far the slots of a job are accounted for: in truth, and on the disk; and when to look at it again."""

    until: datetime
    saved: datetime
    wake: datetime | None = None


class Ledger:
    """The accounts of one appliance, as its daemon keeps them."""

    def __init__(self, appliance: Appliance) -> None:
        self.appliance = appliance
        self._watches: dict[str, Watch] = {}
        self.held: dict[str, set[datetime]] = {}
        """Slots that are about to start, or wait for the run before them."""

    def watch(self, job: Job, now: datetime) -> Watch:
        """Return how far JOB is accounted for; one that was not watched before begins NOW."""
        found = self._watches.get(job.name)
        if found is None:
            found = self._watches[job.name] = self._adopted(job, now)
        if found.until > now:  # the clock was put back: its slots come again, and those that were used are claimed
            found.until, found.wake = now, None
            known = self.appliance.store.slots.watched().get(job.name)
            if known is not None and known.since > now:
                self.appliance.store.slots.watch(job.name, known.schedule, since=now)
        return found

    def rests(self, job: str, now: datetime) -> bool:
        """Say whether there is nothing to do for JOB by now."""
        known = self._watches.get(job)
        return known is not None and known.until <= now and known.wake is not None and now < known.wake

    def rewind(self, job: str, slot: datetime, *, again: datetime) -> None:
        """Account for SLOT anew, not before AGAIN: nothing came of it, and that could not be written down."""
        watch = self._watches.get(job)
        if watch is not None:
            watch.until, watch.wake = min(watch.until, slot - _TICK), again

    def owed(self, job: Job, watch: Watch, now: datetime, cause: str) -> list[plan.Start]:
        """Write down what came to nothing, and return what is to start. It is held until `let_go`.

        Raises Unavailable if it cannot be written; then all is as it was.
        """
        assert job.schedule is not None
        zone, secret, held = self.appliance.config.zone_of(job), self.appliance.secret, self._held(job.name)
        known = plan.Known(
            used=self.appliance.store.slots.used(job.name, watch.until, now),
            held=held,
            picked=lambda due: chance.picks(job.chance, secret=secret, job=job.name, due=due),
            share=lambda due: chance.share(secret, job.name, due),
            cause=cause,
            skipped=self.appliance.store.asks.skipped(job.name),
        )
        found = plan.decide(job, zone, watch.until, now, known)
        safe = min([found.until, *(start.slot - _TICK for start in found.starts)])
        self._settle(job, found.gone, watch, now, safe)
        if found.starts and safe - watch.saved > _SAVE:
            self.appliance.store.slots.settled_until(job.name, safe)
            watch.saved = safe
        watch.until = found.until
        if known.skipped is not None and known.skipped <= cron.due_name(found.until):
            self.appliance.store.asks.skip(job.name, None)
        held.update(start.slot for start in found.starts)
        coming = next(cron.slots(job.schedule, now, zone), None)
        watch.wake = min([each for each in (coming, found.wake) if each], default=NEVER)
        return found.starts

    def let_go(self, job: str, slot: datetime) -> None:
        """SLOT is neither about to start nor waiting any more."""
        self._held(job).discard(slot)

    def came_to_nothing(self, job: Job, slot: datetime, outcome: Outcome, why: str, now: datetime) -> None:
        """Write down that nothing is started for SLOT, which was held. Raises Unavailable."""
        watch = self.watch(job, now)
        waiting = self._held(job.name) - {slot}
        safe = min([watch.until, *(each - _TICK for each in waiting)])
        self._settle(job, [plan.Gone(slot, slot, 1, outcome, why)], watch, now, safe)
        self.let_go(job.name, slot)

    def paused(self, job: Job, watch: Watch, until: datetime, why: str, now: datetime) -> None:
        """Write down the slots of JOB up to UNTIL, which a pause left unused. Raises Unavailable."""
        assert job.schedule is not None
        span = watch.until, min(until, now)
        used = self.appliance.store.slots.used(job.name, *span)
        gone = plan.unused(job.schedule, self.appliance.config.zone_of(job), span, used, (Outcome.SKIPPED, why))
        self._settle(job, gone, watch, now, min(until, now))
        watch.until, watch.wake = max(watch.until, min(until, now)), None
        self._held(job.name).clear()

    def wake(self) -> datetime | None:
        """Return when some job must be looked at next."""
        known = self.appliance.config.jobs
        return min((watch.wake for job, watch in self._watches.items() if watch.wake and job in known), default=None)

    def _held(self, job: str) -> set[datetime]:
        """Return the slots of JOB that are held. One that its run has claimed by now needs no holding any more."""
        held = self.held.setdefault(job, set())
        held -= {slot for slot in held if self.appliance.store.claimed(slot_key(job, cron.due_name(slot)))}
        return held

    def _settle(self, job: Job, gone: Sequence[plan.Gone], watch: Watch, now: datetime, safe: datetime) -> None:
        if gone:
            told = Told.of(self.appliance.config, job)
            what = [_settled(job, Trigger.DAEMON, each, told) for each in gone]
            self.appliance.store.slots.settle(what, now=now, until=safe)
            watch.saved = safe

    def _adopted(self, job: Job, now: datetime) -> Watch:
        assert job.schedule is not None
        slots, text = self.appliance.store.slots, plan.store_text(job.schedule, self.appliance.config.zone_of(job))
        known = slots.watched().get(job.name)
        if known is None or known.schedule != text:
            if known is not None:
                self._close(job, known, now)
            slots.watch(job.name, text, since=now)
            return Watch(now, now)
        return Watch(known.until, known.until)

    def _close(self, job: Job, known: Watched, now: datetime) -> None:
        """Account for what a schedule that is no more named while nothing ran here."""
        before = plan.from_store(known.schedule)
        if before is not None and known.until < now:
            used = self.appliance.store.slots.used(job.name, known.until, now)
            why = Outcome.SKIPPED, "its schedule was changed before it could run"
            gone = plan.unused(*before, (known.until, now), used, why)
            self._settle(job, gone, Watch(now, now), now, now)


def _settled(job: Job, trigger: Trigger, gone: plan.Gone, told: Told) -> Settled:
    return Settled(
        job=job.name,
        kind=job.kind,
        trigger=trigger,
        first=cron.due_name(gone.first),
        last=cron.due_name(gone.last),
        count=gone.count,
        outcome=gone.outcome,
        summary=gone.why,
        told=told,
    )


def account_for_cron(appliance: Appliance, job: Job, due: str, now: datetime) -> None:
    """Write down the slots that cron did not start since the last one, now that it has started DUE."""
    if not isinstance(job.schedule, Cron) or not due[:1].isdigit():
        return
    zone, slot = appliance.config.zone_of(job), datetime.fromisoformat(due)
    slots, text = appliance.store.slots, plan.store_text(job.schedule, zone)
    known = slots.watched().get(job.name)
    if known is None or known.schedule != text:
        slots.watch(job.name, text, since=slot)
    elif known.until < slot:
        used = slots.used(job.name, known.until, slot)
        why = Outcome.MISFIRED, "cron did not start it: the machine was off, or cron was"
        gone = plan.unused(job.schedule, zone, (known.until, slot - _TICK), used, why)
        if gone:
            told = Told.of(appliance.config, job)
            slots.settle([_settled(job, Trigger.CRON, each, told) for each in gone], now=now, until=slot)
        else:  # else each run would look through all slots since the first, whose claims do not stay for ever
            slots.settled_until(job.name, slot)
