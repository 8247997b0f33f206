"""The new boards of a day: what they are called, and the seeds that they follow from."""

from datetime import datetime

from pi_appliance.ports import Context


def seeds(context: Context, many: int) -> dict[str, int]:
    """Return the names and the seeds of so MANY new boards: each day its own, and the same for the same day."""
    day = _day(context)
    return {
        f"{day:%Y-%m-%d}" + (f"-{number}" if many > 1 else ""): int(f"{day:%Y%m%d}") * 1_000 + number
        for number in range(1, many + 1)
    }


def _day(context: Context) -> datetime:
    """Return the day of the slot, or of the run, in the job's time zone."""
    slot = context.due is not None and context.due[:1].isdigit()
    moment = datetime.fromisoformat(context.due or "") if slot else context.now
    return moment.astimezone(context.local_time().tzinfo)
