"""The appliance put together from its configuration: what the command line, the daemon and the page all ask."""

import contextlib
import logging
import os
import pwd
import secrets as random_source
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config, Job, StartedBy
from pi_appliance.config.notifications import NotifyTargets
from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.scheduling import cron
from pi_appliance.scheduling.due import is_selected, uniform
from pi_appliance.scheduling.model import Cron, Every
from pi_appliance.storage.model import Outcome, Run
from pi_appliance.storage.recovery import open_history
from pi_appliance.storage.runs import Store
from pi_appliance.storage.slots import Pause, slot_key
from pi_appliance.system import clock, files, locks, logs

log = logging.getLogger("pi_appliance.appliance")
_RANKS = {".html": 0, ".svg": 2, ".png": 2}


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot to come, and when its jitter begins it.

    `picked`: it will be used. If not, it was used already, a person wants it skipped, or the chance leaves it out.
    """

    job: str
    at: datetime
    selected: bool
    used: bool
    starts_at: datetime
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class JobView:
    """A job, its next slot, its newest run, and whether it pauses."""

    job: Job
    next: Slot | None
    last: Run | None
    pause: Pause | None = None


@dataclass(frozen=True, slots=True)
class Appliance:
    """One configuration with the state that belongs to it."""

    config: Config
    store: Store
    secret: bytes
    """Decides the chances: 32 bytes made once for this installation."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the configuration PATH and open its state folder.

        Raises ConfigError with every problem; Unavailable if the state folder cannot be used; Refused if it is
        another user's and this is root.
        """
        config = load_config(path)
        refuse_as_root(config.state_dir)
        folder = files.make_directory(config.state_dir, mode=0o750)
        files.make_directory(folder / "locks")
        return cls(config, open_history(folder), _secret(folder / "secret.key"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the state."""
        self.store.close()

    def reloaded(self) -> Self:
        """Return the appliance with the file read again, over the same state.

        Raises ConfigError; Refused for another state folder, for runs of it would not know what this one has done.
        """
        config = load_config(self.config.path)
        if config.state_dir != self.config.state_dir:
            raise Refused(
                f"`state-dir` was {self.config.state_dir} and is {config.state_dir} now; that needs a restart"
            )
        return replace(self, config=config)

    def job(self, name: str) -> Job:
        """Return the job called NAME. Raises UnknownName with the nearest there is."""
        if name not in self.config.jobs:
            raise UnknownName("job", name, tuple(self.config.jobs))
        return self.config.jobs[name]

    def lock_path(self, job: str) -> Path:
        """Return where the lock of JOB lies."""
        return self.config.state_dir / "locks" / f"{job}.lock"

    def log_path(self, job: str, run: int) -> Path:
        """Return where the log of a run lies, if it printed anything."""
        return self.config.state_dir / "logs" / job / f"{run}.log"

    def log(self, run: int) -> tuple[Run, str]:
        """Return a run and what it printed. Raises UnknownName."""
        found = self.store.find_run(run)
        if found is None:
            newest = self.store.history(limit=1)
            raise UnknownName("run", str(run), [f"1 to {newest[0].id}"] if newest else [])
        return self._told(found), logs.read_log(self.log_path(found.job, found.id))

    def slots(self, name: str, after: datetime) -> Iterator[Slot]:
        """Yield the slots of a job after AFTER."""
        job, skip = self.job(name), self.store.requests.skipped_slot(name)
        for at in cron.fire_times(job.schedule, after, self.config.zone_of(job)) if job.schedule else ():
            due = cron.slot_key(at)
            used = self.store.is_claimed(slot_key(name, due))
            picked = not used and due != skip and is_selected(job.chance, secret=self.secret, job=name, due=due)
            begins = at + job.jitter * (uniform(self.secret, name, due) if job.jitter else 0)
            yield Slot(name, at, picked, used, begins, due == skip)

    def jobs(self, now: datetime) -> list[JobView]:
        """Return every job with its next slot and its newest run, in the order of the file."""
        self.sweep()
        # One that goes on says more than one that was skipped because of it.
        last = self.store.latest_runs() | {run.job: run for run in self.store.active_runs()}
        pauses = {name: pause for name, pause in self.store.slots.pauses().items() if pause.is_active(now)}
        views = []
        for name, job in self.config.jobs.items():
            newest = last.get(name)
            coming = next(self.slots(name, now), None)
            views.append(JobView(job, coming, newest and self._told(newest), pauses.get(name)))
        return views

    def history(self, *, job: str | None = None, limit: int = 50, before: int | None = None) -> list[Run]:
        """Return runs, the newest first. JOB may be one that is no longer in the file."""
        self.sweep()
        runs = self.store.history(job=job, limit=limit, before=before)
        if job is not None and not runs:
            self.job(job)  # neither here nor in the past: say so
        return [self._told(run) for run in runs]

    def sweep(self) -> None:
        """Close the runs whose process vanished. The lock of their job is free: that proves it.

        What cannot be written just now is closed by a later look; nobody is kept from reading by that.
        """
        with contextlib.suppress(Unavailable):
            for name in {run.job for run in self.store.active_runs()}:
                with locks.acquire(self.lock_path(name)) as lock:
                    if lock is not None:
                        self.close_the_ones_before(name, lock)

    def close_the_ones_before(self, name: str, lock: locks.Lock) -> None:
        """Close the runs of the job NAME that never ended: as abandoned, unless the LOCK tells how they did."""
        left = lock.previous_result()
        if left is not None and any(run.id == left.run_id for run in self.store.active_runs(name)):
            outcome, told = Outcome(left.outcome), self._told_of(name)
            now, attempts = left.ended_at, left.attempts
            self.store.finish_run(left.run_id, outcome, left.summary, now=now, attempts=attempts, told=told)
        self.store.abandon_runs(name, now=clock.now(), told=self._told_of(name))

    def write_end(self, run: Run, lock: locks.Lock | None) -> Run:
        """Close RUN, which has ended, in the history, and return what stands there.

        Where that cannot be written, how it ended is left in its LOCK for who holds that next.
        """
        assert run.outcome is not None
        assert run.ended is not None
        try:
            self.store.finish_run(
                run.id,
                run.outcome,
                run.summary,
                now=run.ended,
                attempts=run.attempts,
                details=run.details,
                told=self._told_of(run.job),
            )
            return self.store.find_run(run.id) or self.store.restore_run(
                run
            )  # lost, if the file was damaged while it ran
        except Unavailable as error:
            if lock is not None:
                lock.leave_result(locks.UnreportedResult(run.id, run.outcome, run.summary, run.ended, run.attempts))
            log.warning(
                "run %s of %s: %s; it is written down once that can be: %s", run.id, run.job, run.outcome, error
            )
            return run

    def _told_of(self, name: str) -> NotifyTargets | None:
        """Return who is told of the job NAME, None if it is no longer in the file."""
        return NotifyTargets.for_job(self.config, self.config.jobs[name]) if name in self.config.jobs else None

    def require_room(self) -> None:
        """Raise Unavailable, with what to do, if no run could be written down just now."""
        files.require_free_space(self.config.state_dir)

    def pause(self, name: str, *, now: datetime, until: datetime | None = None) -> None:
        """Use no slot of the job NAME from now on, to UNTIL or until it is resumed. Raises UnknownName, Refused."""
        job = self.job(name)
        if job.schedule is None and not job.depends_on:
            raise Refused(f"{name} has no schedule, so there is nothing to pause")
        if until is not None and until <= now:
            raise Refused("that time is past already; name one to come")
        before = self.store.slots.pauses().get(name)
        if before is not None and not before.is_active(now) and not self._is_watched(job):
            self.store.slots.delete_pause(name)  # one that ended by itself, and that nobody has to account for
        self.store.slots.pause(name, since=now, until=until)

    def resume(self, name: str, *, now: datetime) -> None:
        """Use the slots of the job NAME again. Raises UnknownName; Refused if it does not pause."""
        job = self.job(name)
        pause = self.store.slots.pauses().get(name)
        if pause is None or not pause.is_active(now):
            raise Refused(f"{name} does not pause")
        if self._is_watched(job):
            self.store.slots.end_pause(name, at=now)  # the daemon accounts for what was left out
        else:
            self.store.slots.delete_pause(name)

    @staticmethod
    def _is_watched(job: Job) -> bool:
        """Say whether the daemon accounts for the slots of JOB."""
        return job.started_by is StartedBy.DAEMON and isinstance(job.schedule, (Cron, Every))

    def cancel(self, name: str) -> Run:
        """Ask the run of the job NAME to end, and return it; one that was cut off is not gone on with.

        Raises UnknownName; Refused if none goes on.
        """
        self.job(name)
        self.sweep()
        for run in self.store.active_runs(name):
            if locks.request_stop(self.lock_path(name), run.id, "cancelled by a person"):
                return run
        if self.store.requests.delete_checkpoint(name) and (cut_off := self.store.history(job=name, limit=1)):
            return cut_off[0]
        raise Refused(f"no run of {name} goes on")

    def report_files(self) -> Sequence[Path]:
        """Return the reports, relative to their folder: the job that wrote last first; pages, texts, then pictures."""
        folder = self.config.reports
        written: dict[Path, float] = {}
        for path in folder.glob("*/*"):
            with contextlib.suppress(FileNotFoundError):  # a run has taken it away just now
                if path.is_file() and not path.name.startswith("."):
                    written[path.relative_to(folder)] = path.stat().st_mtime
        newest: dict[str, float] = {}
        for path, when in written.items():
            newest[path.parts[0]] = max(when, newest.get(path.parts[0], 0.0))
        return sorted(
            written,
            key=lambda path: (-newest[path.parts[0]], path.parts[0], _RANKS.get(path.suffix, 1), -written[path]),
        )

    def _told(self, run: Run) -> Run:
        """Return RUN with how far it says it is, if it goes on."""
        said = None if run.outcome else locks.read_status(self.lock_path(run.job))
        return replace(run, progress=said[1], status_text=said[2]) if said and said[0] == run.id else run


def refuse_as_root(state: Path) -> None:
    """Raise Refused if root works on the state of another user: what root writes there, that user could not use."""
    if os.geteuid() == 0 and state.exists() and (owner := state.stat().st_uid) != 0:
        try:
            name = pwd.getpwuid(owner).pw_name
        except KeyError:
            name = f"#{owner}"
        raise Refused(f"{state} belongs to {name}; run this as that user: sudo -u {shlex.quote(name)} pi-appliance …")


def _secret(path: Path) -> bytes:
    """Return the secret of this installation, making it the first time; two that start at once get the same."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    files.write_file(draft, random_source.token_bytes(32), mode=0o600)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
    return path.read_bytes()
