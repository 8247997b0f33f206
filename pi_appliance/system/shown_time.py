"""The time zone in which a command, or an answer of the page, shows times."""

import contextlib
from contextvars import ContextVar
from datetime import datetime, tzinfo

_TIME_ZONE = ContextVar[str]("_TIME_ZONE", default="")


def use_time_zone(name: str = "") -> None:
    """Show times in the time zone `name`, by default in the time zone of this machine."""
    _TIME_ZONE.set(name)


def format_local_time(instant: str) -> str:
    """Return `instant`, in ISO 8601, in the time zone of the appliance, to the minute."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - most commands show no time

    zone: tzinfo | None = None
    with contextlib.suppress(KeyError, ValueError, OSError):  # this machine may not know the time zone
        zone = ZoneInfo(name) if (name := _TIME_ZONE.get()) else None
    return datetime.fromisoformat(instant).astimezone(zone).strftime("%a %Y-%m-%d %H:%M")
