"""Steps of a person who solves a puzzle: its difficulty, and contradictions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pi_appliance.puzzles.runtime import SearchRuntime

LEVELS = ("easy", "medium", "hard", "extreme")
"""Levels of difficulty for a person. Each puzzle maps its techniques to them."""
CONTRADICTION = "contradiction"
"""The technique of a step that proves that no solution exists."""


class NamedStep(Protocol):
    """A step, as far as its rating is concerned."""

    @property
    def technique(self) -> str:
        """The name of the technique."""


Step = TypeVar("Step", bound=NamedStep)


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Rating of a puzzle for a person: level, hardest technique, and uses of each technique."""

    level: str
    technique: str
    steps: dict[str, int]


def rate_steps(steps: Iterable[NamedStep], techniques: Mapping[str, str], runtime: SearchRuntime) -> Difficulty:
    """Rate the puzzle that `steps` solve.

    Args:
        steps: The steps to the solution.
        techniques: All techniques, simplest first, with their levels.
        runtime: Receives the progress, and interrupts.

    Raises:
        Interrupted: The search was interrupted.
    """
    uses: Counter[str] = Counter()
    for step in steps:
        uses[step.technique] += 1
        runtime.report_progress(None, "rating the difficulty")
    used = [technique for technique in techniques if technique in uses]
    if not used:
        return Difficulty(LEVELS[0], "none", {})
    return Difficulty(techniques[used[-1]], used[-1], {technique: uses[technique] for technique in used})


def find_contradiction(steps: Iterable[Step], runtime: SearchRuntime) -> Step | None:
    """Return the contradiction at the end of `steps`, or None. Raises Interrupted."""
    last = None
    for step in steps:
        runtime.report_progress(None, "looking for a contradiction")
        last = step
    return last if last is not None and last.technique == CONTRADICTION else None
