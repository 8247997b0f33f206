"""What became of the slots of a job, as its page and the API tell it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from markupsafe import Markup

from pi_appliance.engine.accounts import Account, accounts
from pi_appliance.engine.assemble import Appliance
from pi_appliance.reports import as_svg, as_text

_STRIP = 60  # slots in the strip
_ROWS = 20  # slots in the list


@dataclass(frozen=True, slots=True)
class Slots:
    """A strip of the newest slots, the bar of each thing that became of one, and the newest of them one by one."""

    strip: Markup
    legend: Sequence[tuple[str, Markup]]
    rows: Sequence[Account]


def newest(appliance: Appliance, name: str, now: datetime) -> Iterator[Account]:
    """Yield what became of each slot of the job NAME up to NOW, the newest first. Raises UnknownName."""
    job = appliance.job(name)
    appliance.sweep()
    return accounts(appliance, job, now)


def shown(appliance: Appliance, name: str, now: datetime) -> Slots:
    """Return what the page of the job NAME shows of its slots. Raises UnknownName."""
    found, zone = list(islice(newest(appliance, name, now), _STRIP)), appliance.config.time_zone
    bars = [
        (each.what, f"{as_text.instant(each.at, zone)}: {each.what}" + (f": {each.reason}" if each.reason else ""))
        for each in found
    ]
    legend = [(what, _markup(as_svg.mark(what))) for what in dict.fromkeys(what for what, _ in bars)]
    return Slots(_markup(as_svg.slots(bars, places=_STRIP)), legend, found[:_ROWS])


def _markup(picture: str) -> Markup:
    return Markup(picture)  # noqa: S704 - it escapes its texts
