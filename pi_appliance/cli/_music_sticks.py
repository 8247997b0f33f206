"""What `music usb` asks the player and the machine: asyncio and all that is big is loaded with this file alone."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

from pi_appliance.engine import usb
from pi_appliance.engine.hub import open_player
from pi_appliance.engine.usb_removal import Places, let_go
from pi_appliance.errors import Unavailable
from pi_appliance.model.config import Config
from pi_appliance.model.usb import Stick
from pi_appliance.ports_player import Player
from pi_appliance.system import secrets


def listed(settings: Config) -> list[Stick]:
    """Return the sticks, with their tracks if a player says how many there are. Raises Unavailable."""
    return asyncio.run(_sticks(settings))


def remove(name: str, settings: Config) -> None:
    """Let go of the stick NAME: then it may be pulled. Raises as `let_go`."""

    async def removed() -> None:
        async with _player(settings) as player:
            await let_go(name, where, player, Places())

    where = usb.configured(settings.usb)
    asyncio.run(removed())


async def _sticks(settings: Config) -> list[Stick]:
    where = usb.configured(settings.usb)
    found = usb.found(where, Places())
    async with _player(settings) as player:
        if player is None:
            return [usb.told(each, where) for each in found]
        return [await usb.counted(usb.told(each, where), each, player) for each in found]


@contextlib.asynccontextmanager
async def _player(settings: Config) -> AsyncIterator[Player | None]:
    """Give the player; None where none answers."""
    try:
        player = await open_player(settings, secrets.load(settings.path, os.environ))
    except Unavailable:
        yield None
        return
    try:
        yield player
    finally:
        await player.close()
