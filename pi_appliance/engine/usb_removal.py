"""Letting go of a USB stick: what plays from it ends, root is asked to unmount it, and then it may be pulled."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.model.config import Usb
from pi_appliance.model.music import Play
from pi_appliance.ports_player import Player
from pi_appliance.system import files, mounts, usb_root, usb_sticks

_WINDOW = 200  # tracks of the queue asked for at a time
_GLANCE = 0.05  # seconds between two looks at whether it is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where is looked, and how long is waited, in seconds."""

    mounts: Path = mounts.LIST
    root: usb_root.Places = field(default_factory=lambda: usb_root.Places.of(os.environ))
    tick: float = 1.0  # between two looks at how far a scan is
    patience: float = 20.0  # for who unmounts
    may_unmount: bool = field(default_factory=lambda: os.geteuid() == 0)


async def let_go(name: str, usb: Usb, player: Player | None, places: Places) -> None:
    """Let go of the stick NAME; when this returns, it may be pulled. Without a PLAYER nothing plays from it.

    Raises UnknownName; Refused if it is away, or others have mounted it; Unavailable if nobody unmounts it.
    """
    known = {each.name: each.mount for each in usb_sticks.found(usb.folder, places.mounts)}
    if name not in known:
        raise UnknownName("stick", name, list(known))
    mount = known[name]
    if mount is None:
        raise Refused(f"{name} is away already")
    if mount.folder.parent != places.root.mounts:
        raise Refused(f"{name} was not mounted by the appliance; who did must unmount it: sudo umount '{mount.folder}'")
    if player is not None:
        await _silence(player, f"{usb.uri}/{name}/")
    await _unmounted(name, usb, places)


async def _silence(player: Player, prefix: str) -> None:
    """Go on to the next track that is not below PREFIX if the current one is; stop where there is none."""
    state = await player.state()
    if state.track is None or state.play is Play.STOPPED or not state.track.uri.startswith(prefix):
        return None
    position = (state.track.position or 0) + 1
    while state.play is Play.PLAYING and position < state.queue_length:
        tracks = (await player.queue(position, _WINDOW)).tracks
        other = next((each for each in tracks if not each.uri.startswith(prefix)), None)
        if other is not None:
            return await player.play(other.position)
        if not tracks:
            break
        position += len(tracks)
    return await player.stop()


async def _unmounted(name: str, usb: Usb, places: Places) -> None:
    """Have NAME unmounted: by ourselves as root, else by the unit that waits for requests. Raises Unavailable."""
    if places.may_unmount:
        await asyncio.to_thread(usb_root.remove, name, usb.folder, places.root)
    else:
        request = places.root.request
        if not request.parent.is_dir():
            raise Unavailable(
                f"{request.parent} is not there, so nobody can be asked to unmount {name};"
                f" run: sudo pi-appliance music usb remove '{name}'"
            )
        files.write(request, name.encode())
    deadline = time.monotonic() + places.patience
    while any(each.name == name and each.mount for each in usb_sticks.found(usb.folder, places.mounts)):
        if time.monotonic() > deadline:
            places.root.request.unlink(missing_ok=True)
            raise Unavailable(f"nobody unmounts {name}; see: systemctl status pi-appliance-usb.path pi-appliance-usb")
        await asyncio.sleep(_GLANCE)
