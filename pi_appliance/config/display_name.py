"""Names of jobs as people read them."""

import re
from collections.abc import Sequence

_MADE_BY_PAGE = re.compile(r"alarm-(\d\d)-(\d\d)(?:-(\d+))?")


def display_name(job: str, times: Sequence[str] = ()) -> str:
    """Return the name of `job` for people: alarm-07-00 is Alarm 07:00, other names stay.

    `times` are the times at which an alarm rings, if known. They may have changed since the page
    made its name.
    """
    made = _MADE_BY_PAGE.fullmatch(job)
    if made is None:
        return job
    hour, minute, number = made.groups()
    time = times[0] if len(times) == 1 else f"{hour}:{minute}"
    return f"Alarm {time} ({number})" if number else f"Alarm {time}"
