"""SVG strips of the runs and the slots of a job, the newest at the right.

The page sets the colours by the class of each bar. The shape shows the same: a success is a full
bar, and a skipped slot is a low one. A misfire hangs from the top, and a paused slot is two dots.
Other outcomes have a gap in the middle.
"""

from collections.abc import Sequence
from html import escape
from zoneinfo import ZoneInfo

from pi_appliance.cli import terminal
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
    """Return `runs`, the newest first, as an SVG with `places` bars. Missing runs are faint."""
    shown = runs[:places]
    label = f"the last {len(shown)} runs" if shown else "no runs yet"
    bars = [(str(run.outcome or "running"), _run_title(run, zone)) for run in shown]
    return _draw_strip(bars, places, label)


def slots(items: Sequence[tuple[str, str]], *, places: int = 60) -> str:
    """Return slots, the newest first, as an SVG with `places` bars.

    Each item of `items` is an outcome, running, paused or unknown, and a title for people.
    """
    shown = items[:places]
    label = f"results of the last {len(shown)} slots" if shown else "no slots yet"
    return _draw_strip(shown, places, label)


def mark(outcome: str) -> str:
    """Return a single bar of `outcome`, for a legend."""
    return _draw_svg("mark", [_draw_bar(0, outcome, "")], 'aria-hidden="true"')


def _draw_strip(items: Sequence[tuple[str, str]], places: int, label: str) -> str:
    empty = places - len(items)
    bars = [_draw_bar(place, "none", "") for place in range(empty)]
    for place, (outcome, title) in enumerate(reversed(items), start=empty):
        bars.append(_draw_bar(place, outcome, title))
    return _draw_svg("strip", bars, f'role="img" aria-label="{label}"')


def _draw_svg(name: str, bars: Sequence[str], more: str) -> str:
    width = len(bars) * (_WIDTH + _GAP) - _GAP
    return (
        f'<svg class="{name}" viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" {more}'
        f' xmlns="http://www.w3.org/2000/svg">{"".join(bars)}</svg>'
    )


def _draw_bar(place: int, outcome: str, title: str) -> str:
    x = place * (_WIDTH + _GAP)
    title_element = f"<title>{escape(title)}</title>" if title else ""
    parts = "".join(
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="1.5"/>'
        for y, height in _SHAPES.get(outcome, _BROKEN)
    )
    return f'<g class="{outcome}">{title_element}{parts}</g>'


def _run_title(run: Run, zone: ZoneInfo) -> str:
    duration = f" in {terminal.format_elapsed(run.duration)}" if run.attempts else ""
    summary = f": {run.summary}" if run.summary else ""
    return f"{terminal.format_instant(run.started, zone)}: {terminal.describe_outcome(run)}{duration}{summary}"
