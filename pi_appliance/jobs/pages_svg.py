"""Data to SVG: the runs of a job as a strip of bars, and its slots as a strip of thinner ones, the newest at the right.

Colours come from the page, by the class of each bar. Shape tells the same: what went well is whole, what was skipped is
low, what came too late hangs from the top, what a pause left out is two dots; anything else is broken in the middle.
"""

from collections.abc import Sequence
from html import escape
from zoneinfo import ZoneInfo

from pi_appliance.cli import text
from pi_appliance.storage.model import Run

_WIDTH, _GAP, _HEIGHT = 8, 4, 24
_SHAPES = {  # rectangles one below the other: where each begins, and how high it is
    "running": ((6, 18),),
    "succeeded": ((0, 24),),
    "skipped": ((16, 8),),
    "misfired": ((0, 8),),
    "paused": ((8, 4), (20, 4)),
    "unknown": ((10, 4),),
    "none": ((22, 2),),
}
_BROKEN = ((0, 10), (14, 10))


def history_bars(runs: Sequence[Run], zone: ZoneInfo, *, places: int = 20) -> str:
    """Return RUNS, the newest first, as an SVG of that many PLACES; those without a run are faint."""
    shown = runs[:places]
    said = f"the last {len(shown)} runs" if shown else "no runs yet"
    bars = [(str(run.outcome or "running"), _title(run, zone)) for run in shown]
    return _strip(bars, places, said)


def slots(found: Sequence[tuple[str, str]], *, places: int = 60) -> str:
    """Return slots, the newest first, as an SVG of that many PLACES.

    FOUND: what became of each (an outcome, running, paused, unknown), and a title that tells it to a person.
    """
    shown = found[:places]
    said = f"what became of the last {len(shown)} slots" if shown else "no slots yet"
    return _strip(shown, places, said)


def mark(what: str) -> str:
    """Return the bar of a slot that came to WHAT, alone, for a legend."""
    return _picture("mark", [_bar(0, what, "")], 'aria-hidden="true"')


def _strip(found: Sequence[tuple[str, str]], places: int, said: str) -> str:
    """Return bars of FOUND, the newest first."""
    empty = places - len(found)
    bars = [_bar(place, "none", "") for place in range(empty)]
    for place, (what, title) in enumerate(reversed(found), start=empty):
        bars.append(_bar(place, what, title))
    return _picture("strip", bars, f'role="img" aria-label="{said}"')


def _picture(name: str, bars: Sequence[str], more: str) -> str:
    width = len(bars) * (_WIDTH + _GAP) - _GAP
    return (
        f'<svg class="{name}" viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" {more}'
        f' xmlns="http://www.w3.org/2000/svg">{"".join(bars)}</svg>'
    )


def _bar(place: int, what: str, title: str) -> str:
    x = place * (_WIDTH + _GAP)
    told = f"<title>{escape(title)}</title>" if title else ""
    parts = "".join(
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="1.5"/>'
        for y, height in _SHAPES.get(what, _BROKEN)
    )
    return f'<g class="{what}">{told}{parts}</g>'


def _title(run: Run, zone: ZoneInfo) -> str:
    took = f" in {text.length(run.duration)}" if run.attempts else ""
    summary = f": {run.summary}" if run.summary else ""
    return f"{text.instant(run.started, zone)}: {text.outcome(run)}{took}{summary}"
