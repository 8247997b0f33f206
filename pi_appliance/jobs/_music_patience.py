"""A player that is asked again for a while where it does not answer: what one moment of silence must not spoil.

An MPD (0.23.12) that is asked while it plays the last of what it has read may answer nobody until that is played: a
second and a half of a CD's sound, six of a voice's.
"""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from pi_appliance.errors import Unavailable
from pi_appliance.ports_player import Player

PATIENCE = 8.0  # seconds
_PAUSE = 0.25


def patient(player: Player, rest: Callable[[float], Awaitable[None]], now: Callable[[], float]) -> Player:
    """Return PLAYER, asked again for PATIENCE: what raises Unavailable was certainly not done."""
    return cast("Player", _Patient(player, rest, now))


class _Patient:
    def __init__(self, player: Player, rest: Callable[[float], Awaitable[None]], now: Callable[[], float]) -> None:
        self._player, self._rest, self._now = player, rest, now

    def __getattr__(self, name: str) -> Any:
        ask = getattr(self._player, name)

        async def asked(*words: Any, **more: Any) -> Any:
            began = self._now()
            while True:
                try:
                    return await ask(*words, **more)
                except Unavailable:
                    if self._now() - began >= PATIENCE:
                        raise
                    await self._rest(_PAUSE)

        return asked
