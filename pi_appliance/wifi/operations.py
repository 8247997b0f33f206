"""The operations on the Wi-Fi."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, boolean, text

_API = "pi_appliance.wifi.api"
_TEXT = "pi_appliance.wifi.text"
_MAX_SSID = 32
_SSID = text("ssid", "the name of the network", _MAX_SSID, required=True, positional=True)

JOIN = Operation(
    path="/system/wifi/join",
    summary="Join a Wi-Fi network; if it does not come up in 30 seconds, go back to the present one.",
    details="A program on this machine waits for the outcome. Others may be cut off, and get the answer at once.",
    handler=f"{_API}:join",
    arguments=(
        _SSID,
        text("password", "its password; without it, the stored one or none", 64, default=""),
        boolean("hidden", "it does not show its name", default=False),
    ),
    result="Wifi",
    needs_daemon=True,
    example={"ssid": "Home", "password": "correct horse"},
)
"""Its command is in `wifi/cli.py`, which reads the password from the keyboard."""

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="system wifi list",
        method="GET",
        path="/system/wifi",
        summary="List the Wi-Fi networks in reach and the stored ones.",
        handler=f"{_API}:show",
        arguments=(boolean("scan", "look for networks now, which takes some seconds", default=False),),
        result="Wifi",
        show=f"{_TEXT}:wifi",
        needs_daemon=True,
    ),
    JOIN,
    Operation(
        command="system wifi forget",
        path="/system/wifi/forget",
        summary="Delete a stored Wi-Fi network with its password. If it is in use, it is left.",
        handler=f"{_API}:forget",
        arguments=(_SSID,),
        result="Wifi",
        done="{ssid} is forgotten",
        needs_daemon=True,
        example={"ssid": "Home"},
    ),
    Operation(
        path="/system/wifi/hotspot",
        summary="Let a hot spot open whenever the machine has no network, or do without it.",
        handler=f"{_API}:set_hotspot",
        arguments=(
            boolean("on", "whether it opens", required=True),
            text("password", "a new password for it, of 8 to 63 characters", 63, default=""),
        ),
        result="Wifi",
        needs_daemon=True,
        example={"on": True, "password": "correct horse"},
    ),
)
