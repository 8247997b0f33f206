"""The operations on the Wi-Fi, and their results as text for a terminal."""

from collections.abc import Sequence
from typing import Any

from pi_appliance.operations import Operation, boolean, text

_API = "pi_appliance.wifi.api"
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
        show=f"{__name__}:show_networks",
        needs_daemon=True,
    ),
    JOIN,
    Operation(
        command="system wifi forget",
        path="/system/wifi/forget",
        summary="Delete a stored Wi-Fi network with its password. If it is in use, it is left.",
        handler=f"{_API}:forget",
        arguments=(_SSID,),
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
        needs_daemon=True,
        example={"on": True, "password": "correct horse"},
    ),
)


def show_networks(result: Any, _: object) -> str:
    """Return a line per network, then the newest attempt to join one."""
    lines = [result["obstacle"]] if result["obstacle"] else []
    for each in result["networks"]:
        signal = "away" if each["signal"] is None else f"{each['signal']} %"
        notes = ", ".join(
            word
            for word, holds in (("connected", each["in_use"]), ("known", each["known"]), (each["security"] or "", True))
            if holds and word
        )
        lines.append(f"{signal:>5}  {each['ssid']}  {notes}")
    if (last := result["last"]) is not None:
        lines.append(last["message"] or f"{last['ssid']} is being joined")
    if result["hotspot"]["open"]:
        lines.append(f"the hot spot {result['hotspot']['name']} is open")
    return "\n".join(lines) or "no network is in reach; look again with: pi-appliance system wifi list --scan"
