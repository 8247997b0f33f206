"""The appliance, built from its configuration, for the command line, the daemon and the page."""

import contextlib
import logging
import os
import pwd
import secrets as random_source
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Self

from pi_appliance.config import units
from pi_appliance.config.loader import load_config, load_usable
from pi_appliance.config.options import Config, Job, NotifyTargets, StartedBy
from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.chance import is_selected, uniform_for_slot
from pi_appliance.scheduling.schedule import Cron, Every
from pi_appliance.storage.history import Pause, Store, open_history, slot_key
from pi_appliance.storage.model import Outcome, Run
from pi_appliance.storage.run_log import read_log
from pi_appliance.system import clock, files

log = logging.getLogger("pi_appliance.appliance")
_MAX_SEARCHED = 1000  # slots in which one that the chance selects is searched


@dataclass(frozen=True, slots=True)
class Slot:
    """A future slot, and when its run starts: with the jitter.

    `selected` is False if the slot was used, is to be skipped, or is excluded by the chance.
    """

    job: str
    at: datetime
    selected: bool
    used: bool
    starts_at: datetime
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with its next slot, its newest run and its pause."""

    job: Job
    next: Slot | None
    last: Run | None
    pause: Pause | None = None


@dataclass(frozen=True, slots=True)
class Appliance:
    """A configuration together with its state."""

    config: Config
    store: Store
    secret: bytes
    """Key of the random draws: 32 bytes, created once for this installation."""

    @classmethod
    def open(cls, path: Path, *, or_last_good: bool = False, prepare: Callable[[Path], None] = lambda _: None) -> Self:
        """Read the configuration `path` and open its state directory.

        Args:
            path: The file.
            or_last_good: Use the last good copy instead of a wrong file.
            prepare: Called with the state directory before anything in it is opened.

        Raises:
            ConfigError: the configuration has problems. It contains all of them.
            Unavailable: the state directory cannot be used.
            Refused: root may not use the state of another user.
        """
        config = load_usable(path) if or_last_good else load_config(path)
        refuse_as_root(config.state_dir)
        prepare(config.state_dir)
        folder = files.make_directory(config.state_dir, mode=0o750)
        files.make_directory(folder / "locks")
        return cls(config, open_history(folder), _load_secret(folder / "secret.key"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.store.close()

    def reload(self) -> Self:
        """Return the appliance with the configuration read again and the same state.

        Raises:
            ConfigError: the configuration has problems.
            Refused: the state directory changed. The runs in it would be unknown.
        """
        config = load_config(self.config.path)
        if config.state_dir != self.config.state_dir:
            raise Refused(
                f"`state-dir` was {self.config.state_dir} and is {config.state_dir} now; that needs a restart"
            )
        return replace(self, config=config)

    def job(self, name: str) -> Job:
        """Return the job `name`. Raises UnknownName with the most similar name."""
        if name not in self.config.jobs:
            raise UnknownName("job", name, tuple(self.config.jobs))
        return self.config.jobs[name]

    def lock_path(self, job: str) -> Path:
        """Return the path of the lock of `job`."""
        return self.config.state_dir / "locks" / f"{job}.lock"

    def log_path(self, job: str, run: int) -> Path:
        """Return the path of the log of a run. It exists if the run printed anything."""
        return self.config.state_dir / "logs" / job / f"{run}.log"

    def log(self, run: int) -> tuple[Run, str]:
        """Return a run and its output. Raises UnknownName."""
        stored_run = self.store.find_run(run)
        if stored_run is None:
            newest = self.store.history(limit=1)
            raise UnknownName("run", str(run), [f"1 to {newest[0].id}"] if newest else [])
        return self._with_progress(stored_run), read_log(self.log_path(stored_run.job, stored_run.id))

    def slots(self, name: str, after: datetime) -> Iterator[Slot]:
        """Yield the slots of a job after `after`."""
        job, skip = self.job(name), self.store.requests.skipped_slot(name)
        for at in slot_times.fire_times(job.schedule, after, self.config.zone_of(job)) if job.schedule else ():
            due = slot_times.format_slot(at)
            used = self.store.is_claimed(slot_key(name, due))
            selected = not used and due != skip and is_selected(job.chance, secret=self.secret, job=name, due=due)
            starts_at = at + job.jitter * (uniform_for_slot(self.secret, name, due) if job.jitter else 0)
            yield Slot(name, at, selected, used, starts_at, due == skip)

    def jobs(self, now: datetime) -> list[JobView]:
        """Return every job with its next slot and its newest run, in the order of the file."""
        self.sweep()
        # An active run is shown rather than a newer run that was skipped because of it.
        last = self.store.latest_runs() | {run.job: run for run in self.store.active_runs()}
        pauses = {name: pause for name, pause in self.store.slots.pauses().items() if pause.is_active(now)}
        views = []
        for name, job in self.config.jobs.items():
            newest = last.get(name)
            coming = next(self.slots(name, now), None)
            views.append(JobView(job, coming, newest and self._with_progress(newest), pauses.get(name)))
        return views

    def history(self, *, job: str | None = None, limit: int = 50, before: int | None = None) -> list[Run]:
        """Return runs, the newest first. `job` may be missing in the configuration."""
        self.sweep()
        runs = self.store.history(job=job, limit=limit, before=before)
        if job is not None and not runs:
            self.job(job)  # raises UnknownName for an unknown job
        return [self._with_progress(run) for run in runs]

    def sweep(self) -> None:
        """Close the runs whose process has disappeared: the lock of their job is free.

        A write error is ignored, because the next call tries again and reading must go on.
        """
        with contextlib.suppress(Unavailable):
            for name in {run.job for run in self.store.active_runs()}:
                with files.acquire_lock(self.lock_path(name)) as lock:
                    if lock is not None:
                        self.close_interrupted_runs(name, lock)

    def close_interrupted_runs(self, name: str, lock: files.Lock) -> None:
        """Close the unfinished runs of `name`, with the result in `lock` or as abandoned."""
        result = lock.previous_result()
        if result is not None and any(run.id == result.run_id for run in self.store.active_runs(name)):
            outcome, targets = Outcome(result.outcome), self._notify_targets(name)
            now, attempts = result.ended_at, result.attempts
            self.store.finish_run(result.run_id, outcome, result.summary, now=now, attempts=attempts, targets=targets)
        self.store.abandon_runs(name, now=clock.now(), targets=self._notify_targets(name))

    def save_result(self, run: Run, lock: files.Lock | None) -> Run:
        """Save the end of `run` and return it.

        If the database fails, store the result in `lock`.
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
                targets=self._notify_targets(run.job),
            )
            # If the file was damaged and replaced during the run, the row of the run is missing.
            return self.store.find_run(run.id) or self.store.restore_run(run)
        except Unavailable as error:
            if lock is not None:
                lock.leave_result(files.UnreportedResult(run.id, run.outcome, run.summary, run.ended, run.attempts))
            log.warning(
                "run %s of %s: %s; it is recorded as soon as that is possible: %s", run.id, run.job, run.outcome, error
            )
            return run

    def _notify_targets(self, name: str) -> NotifyTargets | None:
        """Return the notification targets of the job `name`, or None without such a job."""
        return NotifyTargets.for_job(self.config, self.config.jobs[name]) if name in self.config.jobs else None

    def require_free_space(self) -> None:
        """Raise Unavailable, with advice, if no run could be saved now."""
        files.require_free_space(self.config.state_dir)

    def pause(self, name: str, *, now: datetime, until: datetime | None = None) -> None:
        """Pause the job `name` until `until`, or until a person resumes it.

        Raises:
            UnknownName: there is no such job.
            Refused: nothing but a person starts it, or `until` is in the past.
        """
        job = self.job(name)
        if not job.is_automatic:
            raise Refused(f"{name} has no schedule, so there is nothing to pause")
        if until is not None and until <= now:
            raise Refused("that time has passed; give a time in the future")
        before = self.store.slots.pauses().get(name)
        if before is not None and not before.is_active(now) and not self._daemon_accounts_for(job):
            self.store.slots.delete_pause(name)  # the pause has expired, and its slots need no accounting
        self.store.slots.pause(name, since=now, until=until)

    def resume(self, name: str, *, now: datetime) -> None:
        """Resume the job `name`.

        Raises:
            UnknownName: there is no such job.
            Refused: it is not paused.
        """
        job = self.job(name)
        pause = self.store.slots.pauses().get(name)
        if pause is None or not pause.is_active(now):
            raise Refused(f"{name} is not paused")
        if self._daemon_accounts_for(job):
            self.store.slots.end_pause(name, at=now)  # the daemon accounts for the unused slots
        else:
            self.store.slots.delete_pause(name)

    @staticmethod
    def _daemon_accounts_for(job: Job) -> bool:
        return job.started_by is StartedBy.DAEMON and isinstance(job.schedule, (Cron, Every))

    def skip_slot(self, name: str, *, now: datetime, at: datetime | None = None) -> Slot:
        """Skip the slot `at` of the job `name`, by default the next one, and return it.

        A second call has no effect. Only one slot of a job can be skipped at a time.

        Raises:
            UnknownName: there is no such job.
            Refused: its slots cannot be predicted, it is paused, or it already skips another slot.
        """
        job = self.job(name)
        pause = self.store.slots.pauses().get(name)
        if not isinstance(job.schedule, (Cron, Every)):
            raise Refused(f"{name} has no scheduled times, so there is none to skip")
        if pause is not None and pause.is_active(now):
            raise Refused(
                f"{name} is paused, so there is nothing to skip; resume it with: pi-appliance jobs resume {name}"
            )
        for slot in islice(self.slots(name, now - job.jitter), _MAX_SEARCHED):
            is_wanted = slot.at == at if at else slot.starts_at > now
            if is_wanted and (slot.selected or (slot.skipped and not slot.used)):
                skipped = self.skipped_slot(name, now - job.jitter)
                if skipped is not None and skipped.at != slot.at:
                    already = units.format_time(skipped.at, self.config.zone_of(job))
                    raise Refused(f"{name} already skips {already}, and only one time can be skipped; unskip it first")
                self.store.requests.set_skipped_slot(name, slot_times.format_slot(slot.at))
                return slot
        raise Refused(f"{name} has no future slot that would be used")

    def unskip_slot(self, name: str, *, now: datetime) -> Slot:
        """Use the slot of the job `name` that was to be skipped, and return it.

        Raises:
            UnknownName: there is no such job.
            Refused: no slot is to be skipped.
        """
        slot = self.skipped_slot(name, now - self.job(name).jitter)
        if slot is None:
            raise Refused(f"no slot of {name} is to be skipped")
        self.store.requests.set_skipped_slot(name, None)
        return slot

    def skipped_slot(self, name: str, after: datetime) -> Slot | None:
        """Return the slot of the job `name` after `after` that is to be skipped."""
        skipped = self.store.requests.skipped_slot(name)
        if skipped is None:
            return None
        slot = next((slot for slot in self.slots(name, after) if slot_times.format_slot(slot.at) >= skipped), None)
        return slot if slot is not None and slot.skipped else None

    def clear_skip(self, name: str, slot: str | None) -> None:
        """Delete the mark of a slot to skip up to `slot`, which is accounted for."""
        skipped = self.store.requests.skipped_slot(name)
        if skipped is not None and slot is not None and slot[:1].isdigit() and skipped <= slot:
            self.store.requests.set_skipped_slot(name, None)

    def cancel(self, name: str) -> Run:
        """Ask the run of the job `name` to end, and return it. An interrupted run is not resumed.

        Raises:
            UnknownName: there is no such job.
            Refused: no run is active.
        """
        self.job(name)
        self.sweep()
        for run in self.store.active_runs(name):
            if files.request_stop(self.lock_path(name), run.id, "cancelled by a person"):
                return run
        if self.store.requests.delete_checkpoint(name) and (cut_off := self.store.history(job=name, limit=1)):
            return cut_off[0]
        raise Refused(f"no run of {name} is active")

    def _with_progress(self, run: Run) -> Run:
        status = None if run.outcome else files.read_lock_status(self.lock_path(run.job))
        return replace(run, progress=status[1], status_text=status[2]) if status and status[0] == run.id else run


def refuse_as_root(state: Path) -> None:
    """Raise Refused if root uses the state of another user, who could not use the new files."""
    if os.geteuid() == 0 and state.exists() and (owner := state.stat().st_uid) != 0:
        try:
            name = pwd.getpwuid(owner).pw_name
        except KeyError:
            name = f"#{owner}"
        raise Refused(f"{state} belongs to {name}; run this as that user: sudo -u {shlex.quote(name)} pi-appliance …")


def _load_secret(path: Path) -> bytes:
    """Return the secret of this installation. Create it once, safely for two processes."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    files.write_file(draft, random_source.token_bytes(32), mode=0o600)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
    return path.read_bytes()
