"""A line of a puzzle played step by step, in a page without a script: CSS shows one picture after the other.

A radio button stands before each step: which is checked is what is seen. While the first one, "play", is checked, an
animation shows one after the other. What pictures have in common is drawn once and used again, so that a line of thirty
moves takes tens of kilobytes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice, takewhile
from typing import NamedTuple
from xml.etree import ElementTree

from pi_appliance.puzzles import Step

MOST_STEPS = 200
_LINGER = 3  # so many times as long as the others, the last step is seen

STYLE = """\
.player{display:grid;position:relative}
.player>input{grid-area:1/1;opacity:0;width:1px;height:1px;margin:0}
.frame{grid-area:1/1;visibility:hidden;margin:0;min-width:0}
.frame svg{display:block;margin:0 auto;max-width:100%;height:auto;max-height:70vh}
.player>input:checked+.frame{visibility:visible}
.player>input:focus-visible+.frame .bar{outline:3px solid #1f6feb}
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
    """The markup of a line, and the styles of its pictures, each of which the page needs once."""

    markup: str
    styles: tuple[str, ...]
    whole: bool
    """Whether all steps are played; else the first MOST_STEPS are."""


class _Picture(NamedTuple):
    box: str
    parts: tuple[str, ...]
    styles: tuple[str, ...]


def player(steps: Iterable[Step], name: str) -> Player:
    """Return what plays STEPS in a page; NAME, of letters and digits, is the player's own there."""
    steps = iter(steps)
    taken = list(islice(steps, MOST_STEPS))
    pictures = [_picture(step.svg) for step in taken]
    common = _common(pictures)
    times = Counter(part for picture in pictures for part in set(picture.parts[common:]))
    shared = {part: f"{name}_{number:x}" for number, part in enumerate(p for p, n in times.items() if n > 1)}
    base = f'<g id="{name}-b">{"".join(pictures[0].parts[:common])}</g>'
    drawn = "".join(f'<g id="{key}">{part}</g>' for part, key in shared.items())
    seconds = 1.0 if len(taken) <= 40 else 0.5
    frames = "".join(
        _frame(name, number, len(taken), seconds, step.caption, _used(name, picture, common, shared))
        for number, (step, picture) in enumerate(zip(taken, pictures, strict=True))
    )
    markup = (
        f'<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>{base}{drawn}</defs></svg>'
        f"<style>{_keyframes(name, len(taken))}</style>"
        f'<div class="player"><input type="radio" class="play" name="{name}" id="{name}p" checked aria-label="Play">'
        f"{frames}</div>{_all(name, taken)}"
    )
    styles = tuple(dict.fromkeys(style for picture in pictures for style in picture.styles))
    return Player(markup, styles, whole=next(steps, None) is None)


def _picture(svg: str) -> _Picture:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
    styles = tuple(each.text or "" for each in root if each.tag == "style")
    parts = tuple(
        ElementTree.tostring(each, "unicode").strip() for each in root if each.tag not in ("style", "title", "desc")
    )
    return _Picture(root.get("viewBox", "0 0 100 100"), parts, styles)


def _common(pictures: Sequence[_Picture]) -> int:
    """Return how many parts all PICTURES begin with."""
    return sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, zip(*(p.parts for p in pictures), strict=False)))


def _used(name: str, picture: _Picture, common: int, shared: dict[str, str]) -> str:
    parts = (f'<use href="#{shared[part]}"/>' if part in shared else part for part in picture.parts[common:])
    _, _, width, height = picture.box.split()
    size = f'viewBox="{picture.box}" width="{width}" height="{height}"'
    return f'<svg {size} role="img"><use href="#{name}-b"/>{"".join(parts)}</svg>'


def _keyframes(name: str, steps: int) -> str:
    """Return when a step is seen, and the last one, as shares of the time that all take together."""
    whole = steps - 1 + _LINGER
    return "".join(
        f"@keyframes {name}{which}{{0%{{visibility:visible}}{100 * share / whole:.3f}%,100%{{visibility:hidden}}}}"
        for which, share in (("s", 1), ("e", _LINGER))
    )


def _frame(name: str, number: int, steps: int, seconds: float, caption: str, svg: str) -> str:
    last = number == steps - 1
    whole = (steps - 1 + _LINGER) * seconds
    times = f"--seen:{name}{'e' if last else 's'};--all:{whole:g}s;--from:{number * seconds:g}s"
    before = f'<label for="{name}{number - 1}" title="Back">←</label>' if number else "<i>←</i>"
    after = "<i>→</i>" if last else f'<label for="{name}{number + 1}" title="On">→</label>'
    told = escape(caption)
    return (
        f'<input type="radio" name="{name}" id="{name}{number}" aria-label="{told}">'
        f'<figure class="frame" style="{times}">{svg}<figcaption><div class="bar">{before}'
        f'<label class="hold" for="{name}{number}">Pause</label><label class="go" for="{name}p">Play</label>'
        f"{after}</div><p>{told}</p></figcaption></figure>"
    )


def _all(name: str, steps: Sequence[Step]) -> str:
    rows = "".join(
        f'<li value="{number}"><label for="{name}{number}">{escape(step.caption)}</label></li>'
        for number, step in enumerate(steps)
    )
    return f'<details class="all"><summary>All steps</summary><ol>{rows}</ol></details>'
