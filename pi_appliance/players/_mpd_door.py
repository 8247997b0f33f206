"""The door to an MPD: a connection for each command, and what is said when it is not opened or not answered.

A connection of its own costs a command a millisecond, and buys certainty: MPD greets whoever comes, so one that is
gone or hung is found out before anything was asked of it, and there is no old connection to mend. What a connection
needs (password, partition) it is told each time.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.players import _address, _mpd_words
from pi_appliance.players._mpd_line import NO_SUCH_THING, NOT_ALLOWED, HungUp, Line, NoMpd, Said

REACH = 1.0  # seconds for a connection and the greeting; a hung MPD is found out here
AT_ONCE = 3  # MPD lets five wait to be greeted; Linux lets the sixth try again after a second
ANSWER = 5.0  # seconds that an MPD which has just greeted may keep silent; a big folder takes its time on a Pi


class Door:
    """Where an MPD is and how to come in. What a command does stands in the files that build on this one."""

    def __init__(self, name: str, place: _address.Place, password: str, partition: str = "") -> None:
        """NAME is how the owner wrote PLACE; PARTITION is the one to speak of, '' for MPD's own first one."""
        self._name, self._place, self._password, self._partition = name, place, password, partition
        self._adding = asyncio.Lock()  # two that fill the queue at once would mix what they bring
        self._doorway = asyncio.Semaphore(AT_ONCE)
        self._open: set[Line] = set()

    @contextlib.asynccontextmanager
    async def _session(self, *, partition: bool = True) -> AsyncIterator[Line]:
        """Give a greeted connection that speaks of the PARTITION."""
        line: Line | None = None
        try:
            async with asyncio.timeout(REACH):
                async with self._doorway:
                    line = await Line.open(self._place)
                self._open.add(line)
                if self._password:
                    await line.ask("password", self._password)
                if partition:
                    await self._enter(line, self._partition)
            line.patience = ANSWER
            yield line
        except Said as no:
            raise self._refusal(no) from None
        except (OSError, ValueError, LookupError, EOFError, NoMpd, HungUp) as error:
            if line is not None and line.acted:
                raise Uncertain(
                    f"MPD at {self._name} did not answer {line.acted!r}; see if it was done, then go on"
                ) from None
            raise self._lost(error) from None
        finally:
            if line is not None:
                self._open.discard(line)
                line.close()

    async def _enter(self, line: Line, name: str) -> None:
        """Let LINE speak of the partition NAME, '' for the first one."""
        line.partition = name
        if not name:
            return
        try:
            await line.ask("partition", name)
        except Said as no:
            raise self._no_partition(name) if no.code == NO_SUCH_THING else no from None

    def _no_partition(self, name: str) -> Refused:
        return Refused(f"MPD at {self._name} has no partition {name!r}; make it, or name another one")

    def _refusal(self, no: Said) -> ApplianceError:
        words = _mpd_words.refusal(no.words)
        if no.code in NOT_ALLOWED:
            return Refused(f"MPD at {self._name} says: {words}; put the right MPD_PASSWORD=… among the secrets")
        return Refused(f"MPD says: {words}")

    def _lost(self, error: Exception) -> Unavailable:
        verb = "restart" if isinstance(error, TimeoutError) else "start"
        todo = f"{verb} it (sudo systemctl {verb} mpd) or correct `address` under `player:`"
        return Unavailable(f"MPD at {self._name} is not reached: {_mpd_words.why(error)}; {todo}")
