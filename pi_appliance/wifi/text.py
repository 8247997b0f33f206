"""The Wi-Fi as text for a terminal."""

from typing import Any


def wifi(result: Any, _: object) -> str:
    """Return one network a line, with the newest attempt to join one."""
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
