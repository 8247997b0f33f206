"""The results of the operations on the machine as text for a terminal."""

from typing import Any

_WORDS = {"ok": "", "warn": "look at it: ", "fail": "PROBLEM: ", "skipped": "not known: "}


def facts(result: Any, _: object) -> str:
    """Return one fact a line, with what to do about a problem below it."""
    lines = []
    for each in result:
        lines.append(f"{each['check'] + ':':<15} {_WORDS[each['status']]}{each['summary']}")
        if each["fix"]:
            lines.append(f"{'':<15} fix: {each['fix']}")
    return "\n".join(lines)


def power_request(result: Any, _: object) -> str:
    """Return what happens now, and which runs are stopped."""
    runs = ", ".join(result["running"])
    return f"{result['request']} is on its way" + (f"; these runs get {result['grace']} to end: {runs}" if runs else "")


def backups(result: Any, _: object) -> str:
    """Return one backup a line."""
    places = {"card": "on the card", "folder": "in the folder of `backup:`"}
    lines = [f"{each['name']}  {each['size']} bytes, {places[each['place']]}" for each in result]
    return "\n".join(lines) or "there are no backups yet; make one with: pi-appliance system backups create"
