"""USB drives of a fake daemon."""

import dataclasses

from pi_appliance.errors import Refused, UnknownName
from pi_appliance.music.usb.drives import DriveState, UsbDrive
from pi_appliance.music.usb.mounts import UsbNotConfigured


class FakeUsbDrives:
    """One drive called `name` that is being scanned."""

    def __init__(self, name: str = "Blue & co") -> None:
        self.drive = UsbDrive(
            name=name, state=DriveState.SCANNING, uri=f"USB/{name}", size=8, used=3, files=100, tracks=20
        )

    def all(self) -> list[UsbDrive]:
        return [self.drive]

    async def eject(self, name: str) -> UsbDrive:
        if name != self.drive.name:
            raise UnknownName("USB drive", name, [self.drive.name])
        if self.drive.state is DriveState.UNMOUNTED:
            raise Refused(f"{name} is not mounted")
        self.drive = dataclasses.replace(self.drive, state=DriveState.UNMOUNTED)
        return self.drive


class NoUsbDrives:
    """The daemon without a configured folder."""

    def all(self) -> list[UsbDrive]:
        raise UsbNotConfigured("no folder of USB drives is configured")
