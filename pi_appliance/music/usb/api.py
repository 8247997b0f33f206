"""Handlers of the operations on USB drives."""

import contextlib
import dataclasses
from collections.abc import Iterator

from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.music.player_hub import MusicServices
from pi_appliance.music.usb.drives import UsbDrive, UsbNotConfigured, count_tracks
from pi_appliance.operations import Values


async def list_drives(services: MusicServices, _: Values) -> object:
    """Return every USB drive, also those not mounted with tracks in the library."""
    with _refuse_without_folder():
        drives = services.daemon.usb_drives.all()
    return [dataclasses.asdict(await _with_tracks(services, each)) for each in drives]


async def eject_drive(services: MusicServices, values: Values) -> object:
    """Eject a USB drive and return its state."""
    with _refuse_without_folder():
        return dataclasses.asdict(await services.daemon.usb_drives.eject(values["name"]))


@contextlib.contextmanager
def _refuse_without_folder() -> Iterator[None]:
    """Turn UsbNotConfigured into Refused, because trying again later would not help."""
    try:
        yield
    except UsbNotConfigured as error:
        raise Refused(str(error)) from None


async def _with_tracks(services: MusicServices, drive: UsbDrive) -> UsbDrive:
    if drive.tracks is None:
        with contextlib.suppress(ApplianceError):  # without a player the number is unknown
            tracks = await count_tracks(await services.daemon.hub.player(), drive.uri)
            return dataclasses.replace(drive, tracks=tracks)
    return drive
