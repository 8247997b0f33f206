"""Handlers of the operations on USB drives."""

import contextlib
import dataclasses

from pi_appliance.errors import ApplianceError
from pi_appliance.music.interface import MusicServices
from pi_appliance.music.usb.drives import UsbDrive, count_tracks
from pi_appliance.operations import Values


async def list_drives(services: MusicServices, _: Values) -> object:
    """Return every USB drive, also those not mounted with tracks in the library."""
    return [dataclasses.asdict(await _with_tracks(services, each)) for each in services.daemon.usb_drives.all()]


async def eject_drive(services: MusicServices, values: Values) -> object:
    """Eject a USB drive and return its state."""
    return dataclasses.asdict(await services.daemon.usb_drives.eject(values["name"]))


async def _with_tracks(services: MusicServices, drive: UsbDrive) -> UsbDrive:
    if drive.tracks is None:
        with contextlib.suppress(ApplianceError):  # without a player the number is unknown
            tracks = await count_tracks(await services.daemon.hub.player(), drive.uri)
            return dataclasses.replace(drive, tracks=tracks)
    return drive
