"""Answers for a battleship board: whether it can be, how many placements there are, where the ships are likely."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Proof, SolveMode, SolveResult, kernel_mode, pluralize
from pi_appliance.puzzles.battleship import kernel
from pi_appliance.puzzles.battleship.board import UNKNOWN, Board, Solution
from pi_appliance.puzzles.battleship.count import Survey, Sweep, names, orders
from pi_appliance.puzzles.battleship.fit import places
from pi_appliance.puzzles.battleship.heat import best_shot, heat_map, percent, tables
from pi_appliance.puzzles.battleship.reason import reason, seen_at_once
from pi_appliance.puzzles.battleship.search import Search, SearchLimitReached
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime

Facts = dict[str, int | float | str]
PATIENCE = 20_000  # ships tried: about a second; nearly every board needs fewer than a hundred


def solve(board: Board, mode: SolveMode, runtime: SearchRuntime) -> SolveResult:
    """Return the answer for BOARD: by then it is known whether it can be. Raises Interrupted; Refused (memory)."""
    return _Asked(board, runtime).answer(mode)


def hint(board: Board, runtime: SearchRuntime) -> str:
    """Return the best next shot on BOARD in words. Raises Interrupted; Refused (memory)."""
    answer = solve(board, SolveMode.COUNT, runtime)
    facts = answer.details
    if answer.proof:
        return f"there is no shot: this board cannot be, as {answer.reason}"
    if "best_shot" in facts:
        chance = f"{facts['best_shot_per_cent']} % of the {answer.count:,} placements"
        return f"shoot at {facts['best_shot']}: a ship is there in {chance}"
    return str(facts.get("map", "there is no shot: no square is unknown"))


@dataclass(slots=True)
class _Asked:
    """One question about a board."""

    board: Board
    runtime: SearchRuntime
    spent: int = 0
    """Ships tried by the searches that are over."""
    certain: str = "whether the board is possible is not known yet"
    """What is proven until now."""

    def answer(self, mode: SolveMode) -> SolveResult:
        if why := seen_at_once(self.board):
            return self._none(Proof.CONTRADICTION, why)
        search = Search(self.board, self._tick, patience=PATIENCE)
        lines = search.lines()
        try:
            first = next(lines, None)
        except SearchLimitReached:
            return self._hard(mode)
        if first is None:
            self.spent += search.tried
            tried = pluralize(self.spent, "ship")
            return self._none(Proof.EXHAUSTION, f"every way to lay the fleet was looked at ({tried} laid): none fits")
        search.patience = None
        return self._possible(mode, search, chain([first], lines))

    def _hard(self, mode: SolveMode) -> SolveResult:
        """Answer where the search is not through soon: the sweep decides, however the ships may lie."""
        self.spent += PATIENCE
        search = Search(self.board, self._tick)
        lines = search.lines()
        try:
            number = Sweep(self.board, places(self.board), self.runtime).total()
        except Refused:
            first = next(lines, None)  # however long it takes
            number, lines = int(first is not None), chain([first] if first else [], lines)
        if not number:
            return self._none(Proof.EXHAUSTION, "all ways to lay the fleet were looked at: there is none")
        return self._possible(mode, search, lines)

    def _possible(self, mode: SolveMode, search: Search, lines: Iterator[Solution]) -> SolveResult:
        self.certain = "the board is possible"
        if mode is SolveMode.FIRST:
            return self._found(search, islice(lines, 1))
        try:
            survey, count, why_not = self._counted()
        except Interrupted as error:
            error.partial_result = f"{self.certain}; {error.partial_result}"
            raise
        facts: Facts = {"placements_told_apart": count // names(self.board) * orders(self.board)}
        if why_not:
            facts["map"] = why_not
        shot = best_shot(self.board, survey) if survey else None
        if not survey or not shot:
            return self._found(search, lines if mode is SolveMode.ALL else iter(()), count, facts)
        facts |= {"best_shot": str(shot), "best_shot_per_cent": round(percent(survey, shot), 2)}
        answer = self._found(search, lines if mode is SolveMode.ALL else iter(()), count, facts)
        return replace(
            answer, tables=tables(self.board, survey), pictures={"probability": heat_map(self.board, survey)}
        )

    def _counted(self) -> tuple[Survey | None, int, str]:
        """Return the survey of the board where it has unknown squares and memory allows, the count, and why not."""
        sweep = Sweep(self.board, places(self.board), self.runtime)
        if not self.board.marked(UNKNOWN):
            return None, sweep.total(), ""
        try:
            survey = sweep.survey()
        except Refused as error:
            return None, sweep.total(), f"left out: {error}"
        return survey, survey.total, ""

    def _found(
        self, search: Search, lines: Iterator[Solution], count: int | None = None, facts: Facts | None = None
    ) -> SolveResult:
        spent = self.spent
        kernels = {"kernel": kernel_mode(kernel)} if count is not None else {}
        return SolveResult(
            solutions=lines,
            nodes_searched=lambda: spent + search.tried,
            count=count,
            details={"possible": "yes", **(facts or {}), **kernels},
        )

    def _none(self, proof: Proof, why: str) -> SolveResult:
        """Return the answer that the board cannot be, with the marks that contradict each other."""
        spent, self.certain = self.spent, f"the board is impossible: {why}"
        found = reason(self.board, self._tick)
        facts: Facts = {"possible": "no"}
        if found is None:
            why += "; this fleet does not fit on such a sea at all"
        elif found.together:
            together = ", ".join(found.together)
            facts["contradiction"] = together
            cannot = "cannot be by itself" if len(found.together) == 1 else "cannot stand together"
            why += f"; {together} {cannot}"
            why += ", and none of them can be left out" if found.smallest and len(found.together) > 1 else ""
            if found.alone:
                facts["one_wrong_mark"] = ", ".join(found.alone)
                either = " or ".join(found.alone)
                why += f"; if one mark is wrong, it is {either}" if found.only else f"; possible without {either}"
            elif found.only:
                why += "; no single mark is to blame: at least two are wrong"
        return SolveResult(nodes_searched=lambda: spent, count=0, proof=proof, reason=why, details=facts)

    def _tick(self, tried: int) -> None:
        try:
            self.runtime.report_progress(None, f"{pluralize(self.spent + tried, 'ship')} laid")
        except Interrupted as error:
            error.partial_result = self.certain
            raise
