"""Answer puzzles that should have one solution, and rate the steps of a person who solves them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from pi_appliance.puzzles import Answer, Details, Proof, SolveMode, Table
from pi_appliance.puzzles.runtime import SearchRuntime, partial_result

LEVELS = ("easy", "medium", "hard", "extreme")
"""Levels of difficulty for a person. Each puzzle maps its techniques to them."""
CONTRADICTION = "contradiction"
"""The technique of a step that proves that no solution exists."""
VERDICTS = ("none", "unique", "several")
"""The words for a puzzle of which 0, 1 or 2 solutions were found, by that number."""


@dataclass(frozen=True, slots=True)
class NamedStep:
    """A step as a person solves a puzzle: its technique, and its reason in words."""

    technique: str
    text: str


class SearchLimitReached(Exception):
    """A search took more steps than its limit."""


Solution = TypeVar("Solution")
Step = TypeVar("Step", bound=NamedStep)


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Rating of a puzzle for a person: level, hardest technique, and uses of each technique."""

    level: str
    technique: str
    steps: dict[str, int]


def rate_steps(steps: Iterable[NamedStep], techniques: Mapping[str, str], runtime: SearchRuntime) -> Difficulty:
    """Rate the puzzle that `steps` solve. Raises Interrupted.

    `techniques` has the levels of all techniques, the simplest first.
    """
    uses: Counter[str] = Counter()
    for step in steps:
        uses[step.technique] += 1
        runtime.report_progress(None, "rating the difficulty")
    used = [technique for technique in techniques if technique in uses]
    if not used:
        return Difficulty(LEVELS[0], "none", {})
    return Difficulty(techniques[used[-1]], used[-1], {technique: uses[technique] for technique in used})


def join_names(names: Sequence[str]) -> str:
    """Return names as in "A, B and C"."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def describe_deduction(step: NamedStep) -> str:
    """Return the technique and the text of a step.

    The text of a guess names its technique itself.
    """
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
    known = {False: "no solution is found yet", True: "one solution is found, perhaps there are more"}
    with partial_result(lambda: known[bool(found)]):
        found.extend(islice(solutions, 2))
    return found


def count_limit(mode: SolveMode, count_to: int | None, unasked: int) -> int | None:
    """Return how many solutions to count.

    `count_to` if a count was requested, else at most `unasked`.
    """
    return count_to if mode is SolveMode.COUNT else min(unasked, count_to or unasked)


def prove_unsolvable(
    answer: Answer[Solution],
    steps: Iterable[Step],
    draw: Callable[[Step], str],
    tried: str,
    runtime: SearchRuntime,
) -> Answer[Solution]:
    """Return the answer with a proof that there is no solution. Raises Interrupted.

    A person may find the contradiction by `steps`; `draw` draws it. Else the proof is a
    complete search, and `tried` says how long it was: "12 guesses".
    """
    last: Step | None = None
    with partial_result(lambda: "it has no solution"):
        for step in steps:
            runtime.report_progress(None, "looking for a contradiction")
            last = step
    if last is None or last.technique != CONTRADICTION:
        return replace(answer, count=0, proof=Proof.EXHAUSTION, reason=f"everything was tried, with {tried}")
    reason, pictures = f"without any guess it follows that {last.text}", {"contradiction": draw(last)}
    return replace(answer, count=0, proof=Proof.CONTRADICTION, reason=reason, pictures=pictures)


def rate_unique(
    answer: Answer[Solution], clues: str, redundant: Iterable[str], rate: Callable[[], Difficulty]
) -> Answer[Solution]:
    """Return the answer of a puzzle with one solution, with its difficulty. Raises Interrupted.

    The puzzle shows `clues`: "clues" or "givens". `redundant` has the names of those without which
    the solution stays the only one, and may raise SearchLimitReached.
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
