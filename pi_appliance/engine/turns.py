"""Slots that wait for their turn: for the run before them, or for a moment of the steady clock."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

MOST = 10  # slots of one job that wait


@dataclass(frozen=True, slots=True)
class _Turn:
    slot: datetime
    not_before: float


class Turns:
    """The queues, one a job, each in the order in which its slots came."""

    def __init__(self) -> None:
        self._turns: dict[str, list[_Turn]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._turns.values()))

    def waits(self, job: str) -> bool:
        """Say whether a slot of JOB waits."""
        return bool(self._turns.get(job))

    def add(self, job: str, slot: datetime, not_before: float) -> bool:
        """Let SLOT of JOB wait, NOT_BEFORE at least. False if too many of that job wait already."""
        turns = self._turns.setdefault(job, [])
        if len(turns) >= MOST:
            return False
        turns.append(_Turn(slot, not_before))
        return True

    def come(self, steady: float) -> Iterator[str]:
        """Yield the jobs whose first slot may start by now."""
        yield from [job for job, turns in self._turns.items() if turns and turns[0].not_before <= steady]

    def take(self, job: str) -> datetime:
        """Return the first slot of JOB; it waits no more."""
        return self._turns[job].pop(0).slot

    def drop(self, job: str) -> None:
        """Let no slot of JOB wait any more."""
        self._turns.pop(job, None)

    def moments(self, steady: float) -> list[float]:
        """Return in how many seconds a moment comes for which a slot waits. The end of a run is none: that is news."""
        firsts = [turns[0].not_before for turns in self._turns.values() if turns]
        return [first - steady for first in firsts if first > steady]
