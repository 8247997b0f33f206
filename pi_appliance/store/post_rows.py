"""Rows of the ledger of posts to intents."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from pi_appliance.model.post import Intent, Sent, State
from pi_appliance.store.database import Damaged, instant

MILLION = 1_000_000  # the file counts money in millionths of a dollar


def dollars(millionths: int) -> Decimal:
    """Return the amount that the file holds as MILLIONTHS."""
    return Decimal(millionths) / MILLION


def month_of(now: datetime) -> str:
    """Return the calendar month of NOW as the file names it: 2027-03."""
    return f"{now:%Y-%m}"


def intent_of(row: Any) -> Intent:
    """Return the intent that stands in ROW of the table `posts`. Raises Damaged if it makes no sense."""
    try:
        state = State(row["state"])
    except ValueError as error:
        raise Damaged(f"the history is damaged: a post makes no sense: {error}") from None
    return Intent(
        id=row["id"],
        job=row["job"],
        slot=row["slot"],
        network=row["network"],
        part=row["part"],
        parts=row["parts"],
        line=row["line"],
        text=row["text"],
        state=state,
        why=row["why"],
        made=instant(row["made"]),
        until=instant(row["until"]),
        next=instant(row["next"]),
        tries=row["tries"],
        sent=None if row["remote"] is None else Sent(row["remote"], row["link"]),
        sent_at=instant(row["sent"]) if row["sent"] else None,
        cost=dollars(row["cost"]),
        run=row["run"],
        older=row["older"],
    )
