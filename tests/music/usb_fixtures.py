"""A USB stick as the daemon tells of it, without any."""

import dataclasses

from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.music.usb.drives import StickState, UsbDrive


class TheSticks:
    """One stick that is being looked through, called NAME."""

    def __init__(self, name: str = "Blue & co") -> None:
        self.stick = UsbDrive(
            name=name, state=StickState.SCANNING, uri=f"USB/{name}", size=8, used=3, files=100, tracks=20
        )

    def all(self) -> list[UsbDrive]:
        return [self.stick]

    async def remove(self, name: str) -> UsbDrive:
        if name != self.stick.name:
            raise UnknownName("stick", name, [self.stick.name])
        if self.stick.state is StickState.AWAY:
            raise Refused(f"{name} is away already")
        self.stick = dataclasses.replace(self.stick, state=StickState.AWAY)
        return self.stick


class NoSticks:
    """What the daemon has where no folder of sticks is configured."""

    def all(self) -> list[UsbDrive]:
        raise Unavailable("no folder of USB sticks is configured")
