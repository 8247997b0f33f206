"""The partitions of an MPD: players within the player, and which one is spoken of."""

from collections.abc import Sequence

from pi_appliance.errors import Refused
from pi_appliance.model.music import Partition
from pi_appliance.players import _mpd_words
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_line import EXISTS, NO_SUCH_THING, WRONG_WORDS, Said


class Partitioning(Door):
    """The part of ports_player.Player that is about partitions. None of it is done from within one that may be gone."""

    async def partitions(self) -> Sequence[Partition]:
        """Return the partitions there are."""
        async with self._session(partition=False) as line:
            return [Partition(name=name) for name in _mpd_words.values(await line.ask("listpartitions"), "partition")]

    async def use_partition(self, name: str) -> None:
        """Speak of the partition NAME from now on, on every connection. Raises Refused if there is none."""
        async with self._session(partition=False) as line:
            await self._enter(line, name)
        self._partition = name
        for each in self._open:
            each.wake()  # who waits for changes waits for those of this partition now

    async def new_partition(self, name: str) -> None:
        """Make a partition."""
        told = {
            EXISTS: f"there is a partition called {name!r} already",
            WRONG_WORDS: f"{name!r} cannot be a partition's name; use letters, digits, - and _",
        }
        async with self._session(partition=False) as line:
            try:
                await line.act("new partition", ("newpartition", name))
            except Said as no:
                raise Refused(told[no.code]) if no.code in told else no from None

    async def delete_partition(self, name: str) -> None:
        """Delete a partition that has no outputs and no listeners. Raises Refused otherwise."""
        async with self._session(partition=False) as line:
            try:
                await line.act("delete partition", ("delpartition", name))
            except Said as no:
                raise self._no_partition(name) if no.code == NO_SUCH_THING else no from None

    async def move_output(self, name: str) -> None:
        """Move the output called NAME into the partition that is spoken of."""
        async with self._session() as line:
            await line.ask("moveoutput", name)
