"""result.html: what became of the boards, as a page that stands alone: no script, nothing from anywhere."""

from collections import deque
from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice
from typing import Any

from pi_appliance.jobs import _puzzle_player
from pi_appliance.jobs._puzzle_told import Told, by_making, duration, in_words
from pi_appliance.puzzles import Puzzle, Step, Table, counted
from pi_appliance.puzzles._result import label, spoken, told_facts

ROOM = 700_000  # characters of played lines; of what is too much, only the end is shown
_ROWS = 200  # of a table
_WORDS = ' class="words"'
_LONGEST = 2_000  # characters of a line's notation

STYLE = """\
:root{color-scheme:light dark;--ink:#1d2124;--quiet:#5f666b;--paper:#f4f3ef;--card:#fff;--edge:#e2e0da;--key:#eae8e2}
@media (prefers-color-scheme:dark){:root{--ink:#eceae5;--quiet:#a3a9ad;--paper:#14171a;--card:#1f2326;--edge:#33393d;
--key:#2c3135}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:46rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.15rem;margin:0 0 .3rem}
.quiet{color:var(--quiet)}p{margin:.3rem 0}
section{background:var(--card);border:1px solid var(--edge);border-radius:16px;padding:1rem;margin:1rem 0}
nav{display:flex;flex-wrap:wrap;gap:.4rem;margin:.8rem 0}
nav a{padding:.5rem .8rem;min-height:44px;background:var(--key);border-radius:10px;color:inherit;text-decoration:none}
.picture svg{display:block;margin:.6rem auto;max-width:100%;height:auto;max-height:70vh}
.line{overflow-wrap:anywhere;font-family:ui-monospace,monospace;font-size:.9rem}
dl{display:grid;grid-template-columns:fit-content(48%) 1fr;gap:.1rem 1rem;margin:.6rem 0}dt{color:var(--quiet)}
dd{margin:0;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .5rem .2rem 0;text-align:right;white-space:nowrap}
th:first-child,td:first-child,.words{text-align:left}.words{white-space:normal}th{color:var(--quiet);font-weight:normal;white-space:normal;vertical-align:bottom}
details>summary{padding:.6rem 0;cursor:pointer}"""


class Page:
    """A page that grows by a board at a time, so that little is left to do when the time is over."""

    def __init__(self, puzzle: Puzzle, job: str) -> None:
        self._puzzle, self._job = puzzle, job
        self._sections: list[str] = []
        self._names: list[str] = []
        self._styles: dict[str, None] = {}
        self._room = ROOM
        self._least = 0  # characters that the shortest played line took

    def add(self, told: Told) -> None:
        """Add what became of one board."""
        puzzle, number = self._puzzle, len(self._sections)
        parts = [
            f"<h2>{escape(told.name)}</h2>",
            f"<p>{escape(in_words(told))}</p>",
            f'<p class="quiet">{escape(puzzle.describe(told.board))} · {duration(told.seconds)}</p>',
            *self._shown(told, f"p{number}"),
        ]
        if told.answer is not None:
            parts += [self._facts(told)]
            parts += [_picture(name, drawn) for name, drawn in told.answer.pictures.items()]
            parts += map(_table, told.answer.tables)
        self._section(told.name, parts)

    def prepared(self, words: str, facts: dict[str, str], tables: Sequence[Table]) -> None:
        """Add what was prepared, in WORDS."""
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
        self._section("Prepared", ["<h2>Prepared</h2>", f"<p>{escape(words)}</p><dl>{rows}</dl>", *map(_table, tables)])

    def note(self, name: str, words: str) -> None:
        """Add WORDS below NAME."""
        self._section(name, [f"<h2>{escape(name)}</h2>", f"<p>{escape(words)}</p>"])

    def render(self, summary: str, times: str) -> str:
        """Return the page. SUMMARY says how it went, TIMES when."""
        title = f"{self._puzzle.TITLE} · {self._job}"
        links = "".join(f'<a href="#s{number}">{escape(name)}</a>' for number, name in enumerate(self._names))
        nav = f"<nav>{links}</nav>" if len(self._names) > 1 else ""
        styles = "\n".join((STYLE, _puzzle_player.STYLE, *self._styles))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(title)}</title>\n<style>{styles}</style></head>\n"
            f'<body><h1>{escape(title)}</h1><p>{escape(summary)}.</p><p class="quiet">{escape(times)}</p>{nav}\n'
            + "\n".join(self._sections)
            + "\n</body></html>\n"
        )

    def _section(self, name: str, parts: Sequence[str]) -> None:
        self._sections.append(f'<section id="s{len(self._sections)}">{"".join(parts)}</section>')
        self._names.append(name)

    def _shown(self, told: Told, name: str) -> list[str]:
        """Return the board and its solution. Of a new board, the solution is folded up: somebody may want to try."""
        picture = f'<div class="picture">{self._puzzle.render_svg(told.board)}</div>'
        if not told.listed.lines:
            return [picture]
        line = told.listed.lines[0]
        played = self._played(self._puzzle.steps(told.board, line), name)
        solution = (played or _end(self._puzzle.steps(told.board, line))) + self._notated(told.board, line)
        if told.made:
            return [picture, f"<details><summary>The solution</summary>{solution}</details>"]
        return [solution] if played else [picture, solution]

    def _played(self, steps: Iterator[Step], name: str) -> str:
        """Return the STEPS, played; '' if there is no room for them."""
        if self._room < self._least:  # drawing what is thrown away would take half of a night of new boards
            return ""
        played = _puzzle_player.player(steps, name)
        self._least = min(self._least or ROOM, len(played.markup))
        if len(played.markup) > self._room:
            return ""
        self._room -= len(played.markup)
        self._styles |= dict.fromkeys(played.styles)
        told = f"The first {_puzzle_player.MOST_STEPS} steps are played; there are more of them."
        return played.markup + ("" if played.whole else f'<p class="quiet">{told}</p>')

    def _notated(self, board: Any, line: Any) -> str:
        notation = self._puzzle.notate(board, line)
        cut = "…" if len(notation) > _LONGEST else ""
        return f'<p class="line">{escape(notation[:_LONGEST])}{cut}</p>'

    def _facts(self, told: Told) -> str:
        assert told.answer is not None
        rows = {f"{self._puzzle.MOVES.capitalize()} tried": spoken(told.answer.tried())}
        if told.listed.number > 1:
            rows["Solutions in result.txt"] = spoken(told.listed.number)
        rows |= told_facts({**by_making(self._puzzle, told), **told.answer.facts})
        drawn = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows.items())
        return f"<dl>{drawn}</dl>"


def _end(steps: Iterator[Step]) -> str:
    """Return how STEPS end, where there is no room for all of them."""
    number, last = deque(enumerate(steps), maxlen=1).pop()  # one at a time: many pictures are much memory
    told = f"The end, after {counted(number, 'step')}. There is no room in this page to play them."
    return f'<div class="picture">{last.svg}</div><p class="quiet">{told}</p>'


def _picture(name: str, drawn: str) -> str:
    return f'<h3>{escape(label(name))}</h3><div class="picture">{drawn}</div>'


def _table(table: Table) -> str:
    first = table.rows[0] if table.rows else ()
    worded = [isinstance(cell, str) for cell in first] or [False] * len(table.heads)
    heads = "".join(
        f"<th{_WORDS if words else ''}>{escape(head)}</th>" for head, words in zip(table.heads, worded, strict=True)
    )
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(table.rows, _ROWS))
    more = len(table.rows) - _ROWS
    told = f'<p class="quiet">and {more:,} more rows in result.txt</p>' if more > 0 else ""
    return (
        f'<details open><summary>{escape(table.title)}</summary><div class="wide"><table><tr>{heads}</tr>{rows}'
        f"</table></div>{told}</details>"
    )


def _cell(value: float | str) -> str:
    return f"<td{_WORDS if isinstance(value, str) else ''}>{escape(spoken(value))}</td>"
