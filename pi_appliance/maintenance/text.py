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


def update(result: Any, _: object) -> str:
    """Return the version, what is newer, and how the last update went."""
    newest, last = result["newest"], result["last"]
    lines = [f"version {result['version']}"]
    if result["obstacle"]:
        lines.append(result["obstacle"])
    elif newest:
        lines += [f"{newest['version']} is available; install it with: pi-appliance system update install"]
        lines += [f"  {line}".rstrip() for line in newest["notes"].splitlines()]
    elif result["error"]:
        lines.append(f"releases cannot be looked up: {result['error']}")
    elif result["checked_at"]:
        lines.append(f"it is the newest; checked at {result['checked_at']}")
    if last:
        end = {"running": "is running", "done": "is done", "failed": "failed"}[last["state"]]
        lines.append(f"update to {last['version']} {end}" + (f": {last['message']}" if last["message"] else ""))
    return "\n".join(lines)


def backups(result: Any, _: object) -> str:
    """Return one backup a line."""
    places = {"card": "on the card", "folder": "in the folder of `backup:`"}
    lines = [f"{each['name']}  {each['size']} bytes, {places[each['place']]}" for each in result]
    return "\n".join(lines) or "there are no backups yet; make one with: pi-appliance system backups create"
