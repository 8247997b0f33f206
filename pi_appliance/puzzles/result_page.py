"""result.html: a standalone page with the results and animated solutions, without scripts."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice, takewhile
from typing import NamedTuple
from xml.etree import ElementTree

from pi_appliance.puzzles import Answer, Puzzle, Step, Table, pluralize
from pi_appliance.puzzles.board_report import BoardReport
from pi_appliance.puzzles.text_format import format_details, format_elapsed, format_label, format_value

MAX_STEPS = 200
_LAST_STEP_FACTOR = 3  # the last step is shown this many times longer

PLAYER_STYLE = """\
.player{display:grid;position:relative}
.player>input{grid-area:1/1;opacity:0;width:1px;height:1px;margin:0}
.frame{grid-area:1/1;visibility:hidden;margin:0;min-width:0}
.frame svg{display:block;margin:0 auto;max-width:100%;height:auto;max-height:70vh}
.player>input:checked+.frame{visibility:visible}
.player>input:focus-visible+.frame .bar,.player>.play:focus-visible~.frame .bar{outline:3px solid var(--focus)}
.player>.play:checked~.frame{animation:var(--seen) var(--all) step-end infinite;animation-delay:var(--from)}
.player>.play:checked~.frame .go,.player>.play:not(:checked)~.frame .hold{display:none}
.frame p{margin:.5rem 0 0;min-height:3rem;text-align:center;overflow-wrap:anywhere}
.bar{display:flex;gap:.5rem;margin-top:.6rem}
.bar label,.bar i{flex:1;min-height:44px;display:grid;place-items:center;border-radius:10px;font-style:normal}
.bar label,.all label{cursor:pointer}
.bar label{background:var(--key)}.bar .go,.bar .hold{flex:2}
.bar i{opacity:.25}
.all ol{max-height:15rem;overflow:auto;margin:.5rem 0;padding-left:3rem}
.all label{display:block;padding:.35rem 0}
@media (prefers-reduced-motion:reduce){.player>.play:checked~.frame{animation:none}
.player>.play:checked+input+.frame{visibility:visible}}"""


class Player(NamedTuple):
    """An animated solution in HTML, and the styles that its pictures share on the page."""

    markup: str
    styles: tuple[str, ...]
    whole: bool  # whether all steps are included, or only the first MAX_STEPS


class _Picture(NamedTuple):
    box: str
    title: str
    parts: tuple[str, ...]
    styles: tuple[str, ...]


def render_player(steps: Iterable[Step], name: str) -> Player:
    """Return the steps as a CSS animation. `name` (alphanumeric) must be unique on the page."""
    steps = iter(steps)
    shown_steps = list(islice(steps, MAX_STEPS))
    pictures = [_player_frame(step.svg) for step in shown_steps]
    columns = zip(*(picture.parts for picture in pictures), strict=False)
    # number of parts with which all pictures begin
    common = sum(1 for _ in takewhile(lambda parts: len(set(parts)) == 1, columns))
    times = Counter(part for picture in pictures for part in dict.fromkeys(picture.parts[common:]))
    shared = {part: f"{name}_{number:x}" for number, part in enumerate(p for p, n in times.items() if n > 1)}
    base = f'<g id="{name}-b">{"".join(pictures[0].parts[:common])}</g>'
    drawn = "".join(f'<g id="{key}">{part}</g>' for part, key in shared.items())
    seconds = 1.0 if len(shown_steps) <= 40 else 0.5
    drawings = (_reuse_parts(name, picture, common, shared) for picture in pictures)
    frames = "".join(
        _render_frame(name, number, len(shown_steps), seconds, step.caption, drawing)
        for number, (step, drawing) in enumerate(zip(shown_steps, drawings, strict=True))
    )
    markup = (
        f'<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>{base}{drawn}</defs></svg>'
        f"<style>{_render_keyframes(name, len(shown_steps))}</style>"
        f'<div class="player"><input type="radio" class="play" name="{name}" id="{name}p" checked aria-label="Play">'
        f"{frames}</div>{_render_step_list(name, shown_steps)}"
    )
    styles = tuple(dict.fromkeys(style for picture in pictures for style in picture.styles))
    return Player(markup, styles, whole=next(steps, None) is None)


def _player_frame(svg: str) -> _Picture:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
    styles = tuple(each.text or "" for each in root if each.tag == "style")
    parts = tuple(
        ElementTree.tostring(each, "unicode").strip() for each in root if each.tag not in ("style", "title", "desc")
    )
    title = root.findtext("title") or ""
    return _Picture(root.get("viewBox", "0 0 100 100"), title, parts, styles)


def _reuse_parts(name: str, picture: _Picture, common: int, shared: dict[str, str]) -> str:
    parts = (f'<use href="#{shared[part]}"/>' if part in shared else part for part in picture.parts[common:])
    _, _, width, height = picture.box.split()
    size = f'viewBox="{picture.box}" width="{width}" height="{height}"'
    title = escape(picture.title)
    return f'<svg {size} role="img" aria-label="{title}"><use href="#{name}-b"/>{"".join(parts)}</svg>'


def _render_keyframes(name: str, steps: int) -> str:
    whole = steps - 1 + _LAST_STEP_FACTOR
    return "".join(
        f"@keyframes {name}{which}{{0%{{visibility:visible}}{100 * share / whole:.3f}%,100%{{visibility:hidden}}}}"
        for which, share in (("s", 1), ("e", _LAST_STEP_FACTOR))
    )


def _render_frame(name: str, number: int, steps: int, seconds: float, caption: str, svg: str) -> str:
    last = number == steps - 1
    whole = (steps - 1 + _LAST_STEP_FACTOR) * seconds
    times = f"--seen:{name}{'e' if last else 's'};--all:{whole:g}s;--from:{number * seconds:g}s"
    before = f'<label for="{name}{number - 1}" title="Previous step">←</label>' if number else "<i>←</i>"
    after = "<i>→</i>" if last else f'<label for="{name}{number + 1}" title="Next step">→</label>'
    text = escape(caption)
    return (
        f'<input type="radio" name="{name}" id="{name}{number}" aria-label="{text}">'
        f'<figure class="frame" style="{times}">{svg}<figcaption><div class="bar">{before}'
        f'<label class="hold" for="{name}{number}">Pause</label><label class="go" for="{name}p">Play</label>'
        f"{after}</div><p>{text}</p></figcaption></figure>"
    )


def _render_step_list(name: str, steps: Sequence[Step]) -> str:
    rows = "".join(
        f'<li value="{number}"><label for="{name}{number}">{escape(step.caption)}</label></li>'
        for number, step in enumerate(steps)
    )
    return f'<details class="all"><summary>All steps</summary><ol tabindex="0">{rows}</ol></details>'


MAX_ANIMATION_LENGTH = 700_000  # characters of animations; beyond, only the last step is shown
_MAX_ROWS = 200  # rows of a table that are shown
_MAX_TITLE_NAMES = 3
_TEXT_CLASS = ' class="words"'
_MAX_NOTATION_LENGTH = 2_000  # characters of a notation

STYLE = """\
:root{color-scheme:light dark;--ink:#1d2124;--quiet:#5f666b;--paper:#f4f3ef;--card:#fff;--edge:#e2e0da;
--key:#eae8e2;--focus:#0f6b5c}
@media (prefers-color-scheme:dark){:root{--ink:#eceae5;--quiet:#a3a9ad;--paper:#14171a;--card:#1f2326;--edge:#33393d;
--key:#2c3135;--focus:#5fc9b2}}
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
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .5rem .2rem 0;text-align:right;white-space:nowrap}
th:first-child,td:first-child,.words{text-align:left}.words{white-space:normal}th{color:var(--quiet);font-weight:normal;white-space:normal;vertical-align:bottom}
details>summary{padding:.6rem 0;cursor:pointer}"""


class Page:
    """A page that grows board by board, so that little work is left at the deadline."""

    def __init__(self, puzzle: Puzzle, job: str) -> None:
        self._puzzle, self._job = puzzle, job
        self._sections: list[str] = []
        self._names: list[str] = []  # names of the sections
        self._boards: list[str] = []
        self._styles: dict[str, None] = {}
        self._length_left = MAX_ANIMATION_LENGTH
        self._shortest_animation = 0  # characters of the shortest animation so far

    def add_board(self, report: BoardReport) -> None:
        """Add the result of one board."""
        puzzle, number = self._puzzle, len(self._sections)
        self._boards.append(report.name)
        parts = [
            f"<h2>{escape(report.name)}</h2>",
            f"<p>{escape(report.summarize())}</p>",
            f'<p class="quiet">{escape(puzzle.describe(report.board))} · {format_elapsed(report.seconds)}</p>',
            *self._render_board(report, f"p{number}"),
        ]
        if report.answer is not None:
            parts.append(self._render_details(report, report.answer))
            for name, drawn in report.answer.pictures.items():
                parts.append(f'<h3>{escape(format_label(name))}</h3><div class="picture">{drawn}</div>')
            parts += map(_render_table, report.answer.tables)
        self._add_section(report.name, parts)

    def add_precomputed(self, words: str, facts: dict[str, str], tables: Sequence[Table]) -> None:
        """Add a section about precomputed tables."""
        self.add_note("Precomputed", words, _render_facts(facts), *map(_render_table, tables))

    def add_note(self, name: str, words: str, *parts: str) -> None:
        """Add a section with a note, and further parts in HTML."""
        self._add_section(name, [f"<h2>{escape(name)}</h2>", f"<p>{escape(words)}</p>", *parts])

    def render(self, summary: str, times: str) -> str:
        """Return the page with a summary and the times of the run."""
        heading = f"{self._puzzle.TITLE} · {self._job}"
        more = len(self._boards) - _MAX_TITLE_NAMES  # a report is found in a list by the boards in its title
        names = ", ".join(self._boards[:_MAX_TITLE_NAMES]) + (f" and {more} more" if more > 0 else "")
        title = f"{self._puzzle.TITLE}: {names} · {self._job}" if names else heading
        links = "".join(f'<a href="#s{number}">{escape(name)}</a>' for number, name in enumerate(self._names))
        nav = f"<nav>{links}</nav>" if len(self._names) > 1 else ""
        styles = "\n".join((STYLE, PLAYER_STYLE, *self._styles))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<link rel="icon" href="data:,">'
            f"<title>{escape(title)}</title>\n<style>{styles}</style></head>\n"
            f"<body><main><h1>{escape(heading)}</h1>"
            f'<p>{escape(summary)}.</p><p class="quiet">{escape(times)}</p>{nav}\n'
            + "\n".join(self._sections)
            + "\n</main></body></html>\n"
        )

    def _add_section(self, name: str, parts: Sequence[str]) -> None:
        self._sections.append(f'<section id="s{len(self._sections)}">{"".join(parts)}</section>')
        self._names.append(name)

    def _render_board(self, report: BoardReport, name: str) -> list[str]:
        """Return the board and its solution. A generated board hides its solution in a fold."""
        picture = f'<div class="picture">{self._puzzle.render_svg(report.board)}</div>'
        if not report.solutions:
            return [picture]
        board, line = report.board, report.solutions[0]
        animation = self._render_animation(self._puzzle.steps(board, line), name)
        notation = self._puzzle.notate(board, line)
        cut = "…" if len(notation) > _MAX_NOTATION_LENGTH else ""
        solution = animation or _render_last_step(self._puzzle.steps(board, line))
        solution += f'<p class="line">{escape(notation[:_MAX_NOTATION_LENGTH])}{cut}</p>'
        if report.generator_details:
            return [picture, f"<details><summary>The solution</summary>{solution}</details>"]
        return [solution] if animation else [picture, solution]

    def _render_animation(self, steps: Iterator[Step], name: str) -> str:
        """Return the animated steps, or '' if they exceed the size limit of the page."""
        if self._length_left < self._shortest_animation:  # it would be discarded, and rendering it is slow
            return ""
        animation = render_player(steps, name)
        self._shortest_animation = min(self._shortest_animation or MAX_ANIMATION_LENGTH, len(animation.markup))
        if len(animation.markup) > self._length_left:
            return ""
        self._length_left -= len(animation.markup)
        self._styles |= dict.fromkeys(animation.styles)
        note = f"Only the first {MAX_STEPS} steps are shown."
        return animation.markup + ("" if animation.whole else f'<p class="quiet">{note}</p>')

    def _render_details(self, report: BoardReport, answer: Answer[object]) -> str:
        rows = {f"{self._puzzle.NODE_UNIT.capitalize()} tried": format_value(answer.nodes_searched())}
        if report.listed > 1:
            rows["Solutions in result.txt"] = format_value(report.listed)
        return _render_facts(rows | format_details({**report.generator_facts(), **answer.details}))


def _render_facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return f"<dl>{rows}</dl>"


def _render_last_step(steps: Iterator[Step]) -> str:
    number, last = deque(enumerate(steps), maxlen=1).pop()  # one step at a time, to save memory
    note = f"The last of {pluralize(number, 'step')}. The page is too large to animate them."
    return f'<div class="picture">{last.svg}</div><p class="quiet">{note}</p>'


def _render_table(table: Table) -> str:
    first = table.rows[0] if table.rows else ()
    worded = [isinstance(cell, str) for cell in first] or [False] * len(table.headers)
    headers = "".join(
        f"<th{_TEXT_CLASS if words else ''}>{escape(head)}</th>"
        for head, words in zip(table.headers, worded, strict=True)
    )
    rows = "".join(f"<tr>{''.join(map(_render_cell, row))}</tr>" for row in islice(table.rows, _MAX_ROWS))
    more = len(table.rows) - _MAX_ROWS
    note = f'<p class="quiet">and {more:,} more rows in result.txt</p>' if more > 0 else ""
    title = escape(table.title)
    return (
        f'<details open><summary>{title}</summary><div class="wide" role="group" aria-label="{title}" tabindex="0">'
        f"<table><tr>{headers}</tr>{rows}</table></div>{note}</details>"
    )


def _render_cell(value: float | str) -> str:
    return f"<td{_TEXT_CLASS if isinstance(value, str) else ''}>{escape(format_value(value))}</td>"
