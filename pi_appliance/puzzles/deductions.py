"""Answer puzzles that should have one solution; rate the steps of a person to it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol, TypeVar

from pi_appliance.puzzles import Answer, Details, Proof, SolveMode, Table
from pi_appliance.puzzles.runtime import SearchRuntime, partial_result

LEVELS = ("easy", "medium", "hard", "extreme")
"""Levels of difficulty for a person. Each puzzle maps its techniques to them."""
CONTRADICTION = "contradiction"
"""The technique of a step that proves that no solution exists."""


class NamedStep(Protocol):
    """A step, as far as its rating is concerned."""

    @property
    def technique(self) -> str:
        """The name of the technique."""

    @property
    def text(self) -> str:
        """The step in words."""


class SearchLimitReached(Exception):
    """A search took more steps than it may."""


Solution = TypeVar("Solution")
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


def join_names(names: Sequence[str]) -> str:
    """Return names as in "A, B and C"."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def describe_deduction(step: NamedStep) -> str:
    """Return the technique and the text of a step; the text of a guess names it already."""
    return step.text if step.technique == "guess" else f"{step.technique}: {step.text}"


def describe_next(steps: Iterator[NamedStep], runtime: SearchRuntime, end: str) -> str:
    """Return the next step in words, or `end` if there is none. Raises Interrupted."""
    runtime.report_progress(None, "looking for the next step")
    step = next(steps, None)
    if step is None:
        return end
    return f"there is no solution: {step.text}" if step.technique == CONTRADICTION else describe_deduction(step)


def find_first_two(solutions: Iterator[Solution]) -> list[Solution]:
    """Return the first two solutions, as far as there are any. Raises Interrupted."""
    found: list[Solution] = []
    with partial_result(
        lambda: "one solution is found, perhaps there are more" if found else "no solution is found yet"
    ):
        found.extend(islice(solutions, 2))
    return found


def verdict(found: Sequence[object]) -> str:
    """Return what the first two solutions say about a puzzle."""
    return ("none", "unique", "several")[len(found)]


def count_limit(mode: SolveMode, count_to: int | None, unasked: int) -> int | None:
    """Return how many solutions to count: `count_to` if that was asked for, else fewer."""
    return count_to if mode is SolveMode.COUNT else min(unasked, count_to or unasked)


def prove_unsolvable(
    answer: Answer[Solution],
    steps: Iterable[Step],
    draw: Callable[[Step], str],
    tried: str,
    runtime: SearchRuntime,
) -> Answer[Solution]:
    """Return the answer with a proof that there is no solution. Raises Interrupted.

    Args:
        answer: The answer of the search.
        steps: The steps without a solution: a person may find the contradiction.
        draw: Draws the contradiction.
        tried: What the search tried, such as "12 guesses".
        runtime: Receives the progress, and interrupts.
    """
    with partial_result(lambda: "it has no solution"):
        contradiction = find_contradiction(steps, runtime)
    if contradiction is None:
        return replace(answer, count=0, proof=Proof.EXHAUSTION, reason=f"everything was tried, with {tried}")
    reason = f"without any guess it follows that {contradiction.text}"
    pictures = {"contradiction": draw(contradiction)}
    return replace(answer, count=0, proof=Proof.CONTRADICTION, reason=reason, pictures=pictures)


def rate_unique(
    answer: Answer[Solution], clues: str, redundant: Iterable[str], rate: Callable[[], Difficulty]
) -> Answer[Solution]:
    """Return the answer of a puzzle with one solution, with its difficulty. Raises Interrupted.

    Args:
        answer: The answer of the search.
        clues: What the puzzle shows: "clues" or "givens".
        redundant: The names of those without which the solution stays the only one. May raise
            SearchLimitReached.
        rate: Rates the difficulty.
    """
    names: list[str] = []
    minimal, more = "yes", ""
    with partial_result(lambda: "it has one solution, and no other"):
        try:
            names.extend(redundant)
        except SearchLimitReached:
            minimal, more = "not known", " and perhaps more"
        rating = rate()
    details: Details = {**answer.details, "minimal": "no" if names else minimal}
    if names:
        details[f"redundant_{clues}"] = " ".join(names) + more
    details |= {"difficulty": rating.level, "hardest_step": rating.technique}
    table = Table("Steps as a person goes", ("technique", "times"), tuple(rating.steps.items()))
    return replace(answer, count=1, details=details, tables=[table])
