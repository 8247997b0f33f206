"""The operations on USB drives."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, Role, text

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="music usb list",
        method="GET",
        path="/usb",
        role=Role.CONTROL,
        summary="List the USB drives: mounted or not, their size, and how many tracks the player knows.",
        handler="pi_appliance.music.usb.api:list_drives",
        result="UsbDrives",
        show="pi_appliance.music.text:usb_drives",
    ),
    Operation(
        command="music usb eject",
        path="/usb/{name}/eject",
        role=Role.CONTROL,
        summary="Eject a USB drive, so that it can be unplugged.",
        details="Playback from the drive stops. Its tracks stay in the library.",
        handler="pi_appliance.music.usb.api:eject_drive",
        arguments=(text("name", "the name of the drive", 200, required=True, positional=True),),
        result="UsbDrive",
        done="{name} can be unplugged",
        example={"name": "MUSIC"},
    ),
)
