"""Data to SVG: the history of a job as a strip of bars, the newest at the right.

Colours come from the page, by the class of each bar. Shape tells the same: a run that went well is whole, a skipped one
is low, any other is broken in the middle.
"""

from collections.abc import Sequence
from html import escape
from zoneinfo import ZoneInfo

from pi_appliance.model.run import Outcome, Run
from pi_appliance.reports import as_text

_WIDTH, _GAP, _HEIGHT = 8, 4, 24
_SHAPES = {
    None: ((6, 18),),
    Outcome.SUCCEEDED: ((0, 24),),
    Outcome.SKIPPED: ((16, 8),),
}
_BROKEN = ((0, 10), (14, 10))
_NOTHING = ((22, 2),)


def strip(runs: Sequence[Run], zone: ZoneInfo, *, places: int = 20) -> str:
    """Return RUNS, the newest first, as an SVG of that many PLACES; those without a run are faint."""
    shown = list(reversed(runs[:places]))
    empty = places - len(shown)
    bars = [_bar(place, "none", _NOTHING, "") for place in range(empty)]
    for place, run in enumerate(shown, start=empty):
        bars.append(_bar(place, str(run.outcome or "running"), _SHAPES.get(run.outcome, _BROKEN), _title(run, zone)))
    width = places * (_WIDTH + _GAP) - _GAP
    said = f"the last {len(shown)} runs" if shown else "no runs yet"
    return (
        f'<svg class="strip" viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="{said}" xmlns="http://www.w3.org/2000/svg">{"".join(bars)}</svg>'
    )


def _bar(place: int, name: str, shape: Sequence[tuple[int, int]], title: str) -> str:
    x = place * (_WIDTH + _GAP)
    told = f"<title>{escape(title)}</title>" if title else ""
    parts = "".join(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="1.5"/>' for y, height in shape)
    return f'<g class="{name}">{told}{parts}</g>'


def _title(run: Run, zone: ZoneInfo) -> str:
    took = f" in {as_text.length(run.took)}" if run.attempts else ""
    summary = f": {run.summary}" if run.summary else ""
    return f"{as_text.instant(run.started, zone)}: {as_text.outcome(run)}{took}{summary}"
