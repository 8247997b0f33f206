"""When the hub tries to connect to the player after the connection was lost, or could not be made.

A restarted player answers soon, so the hub tries often at first, then less often. It tries at once
when a person needs the player.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from pi_appliance.system.backoff import Backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconnectPolicy:
    """How long the hub waits between attempts to connect: each time twice as long."""

    first_delay: timedelta = timedelta(seconds=0.2)
    # longest delay within `early_period`, because a restarted player is soon back
    early_max_delay: timedelta = timedelta(seconds=1.2)
    early_period: timedelta = timedelta(minutes=10)
    max_delay: timedelta = timedelta(seconds=30)
    min_delay: timedelta = timedelta(seconds=0.25)  # shortest delay, also when `reconnect_now()` is called
    fallback_max_delay: timedelta = timedelta(seconds=60)  # longest delay while the built-in silent player is used


class PlayerReconnect:
    """The waits of the hub between its attempts to connect.

    Args:
        policy: How long they are.
        clock: Seconds of a monotonic clock.
    """

    def __init__(self, policy: ReconnectPolicy, clock: Callable[[], float]) -> None:
        self._policy, self._clock = policy, clock
        self._backoff = self._new_backoff(policy.max_delay)
        self._lost_at = clock()
        self._wanted_now = asyncio.Event()

    def note_loss(self, *, was_connected: bool) -> None:
        """Begin again with the shortest wait, if the player `was_connected` until now."""
        if was_connected:
            self._backoff.reset()
        if self._backoff.failures == 0:
            self._lost_at = self._clock()

    def end_wait(self) -> None:
        """End the present wait, because the player is needed."""
        self._wanted_now.set()

    def fallback_backoff(self) -> Backoff:
        """Return the delays while the built-in silent player is used."""
        return self._new_backoff(self._policy.fallback_max_delay)

    async def wait(self, backoff: Backoff | None = None) -> None:
        """Wait until the next attempt.

        The delay is from `backoff`, or else the one after a loss.
        """
        delay = backoff.next_delay() if backoff else self._delay_after_loss()
        seconds = delay.total_seconds()
        minimum = min(self._policy.min_delay.total_seconds(), seconds)
        self._wanted_now.clear()
        await asyncio.sleep(minimum)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds - minimum):
                await self._wanted_now.wait()

    def _delay_after_loss(self) -> timedelta:
        is_early = self._clock() - self._lost_at < self._policy.early_period.total_seconds()
        return self._backoff.next_delay(min(self._policy.early_max_delay, self._backoff.longest) if is_early else None)

    def _new_backoff(self, max_delay: timedelta) -> Backoff:
        return Backoff(self._policy.first_delay, max_delay)
