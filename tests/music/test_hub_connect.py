"""The hub with a slow player: the state and the error are never set together."""

import asyncio
from pathlib import Path

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.music.model import Capability
from pi_appliance.music.player_hub import PlayerHub
from tests.fakes.driven_time import DrivenTime
from tests.fakes.soft_player import SoftPlayer, soft_player_config

pytestmark = pytest.mark.usefixtures("soft_players")


class Slow(SoftPlayer):
    """Reports its capabilities on demand, or never if `lost`."""

    lost = False
    told: asyncio.Event

    async def capabilities(self) -> frozenset[Capability]:
        await self.told.wait()
        if self.lost:
            raise Unavailable("the player went while it was asked")
        return await super().capabilities()


@pytest.mark.parametrize("lost", [False, True])
def test_the_state_is_known_with_the_player_and_not_before(lost: bool) -> None:
    async def scenario() -> None:
        player = Slow(DrivenTime())
        player.told, player.lost = asyncio.Event(), lost
        hub = PlayerHub(soft_player_config(player), Path("/nowhere"), {})
        living = asyncio.ensure_future(hub.run())
        try:
            await player.time.settle()
            assert (hub.state, bool(hub.error)) == (None, True)
            player.told.set()
            await player.time.settle()
            assert (hub.state is None, bool(hub.error)) == (lost, lost)
        finally:
            living.cancel()

    asyncio.run(scenario())
