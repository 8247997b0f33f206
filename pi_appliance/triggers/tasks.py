"""Ending tasks that may lose a cancellation."""

import asyncio
from collections.abc import Collection
from typing import Any

_AGAIN = 5.0  # seconds


async def end_tasks(tasks: Collection[asyncio.Task[Any]], *, again: float = _AGAIN) -> None:
    """Cancel `tasks` and wait until they have ended, with whatever result.

    A task may lose a cancellation: `asyncio.wait_for` of Python 3.11 returns normally if the
    result arrives at the same moment (https://github.com/python/cpython/issues/86296), and a
    client may turn a cancellation into an error of its own while it disconnects. So they are
    cancelled again.

    Args:
        tasks: The tasks.
        again: Seconds to wait before they are cancelled again.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=again)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # so that asyncio does not report it as never retrieved
