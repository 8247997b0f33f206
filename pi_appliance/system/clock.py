"""The clocks of the machine."""

from datetime import UTC, datetime
from pathlib import Path


def now() -> datetime:
    """Return the wall clock's instant, aware, in UTC."""
    return datetime.now(UTC)


def boot_name() -> str:
    """Return a name that is the same until the machine starts anew."""
    return "boot:" + Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
