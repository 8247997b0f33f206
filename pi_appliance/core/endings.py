"""How a program ended, in words."""

import signal

_SHELL = 128  # a shell adds it to the signal that ended what it ran
_HINTS = {
    126: "a program that it wanted to run may not be executed",
    127: "a program that it wanted to run is not there",
}


def how(status: int) -> str:
    """Say how a program ended whose STATUS is its exit status, or negative for the signal that ended it."""
    if status < 0:
        return f"was ended by {_name(-status)}"
    hint = _HINTS.get(status, "")
    if _SHELL < status <= _SHELL + signal.SIGRTMIN:
        hint = f"shells say so of {_name(status - _SHELL)}"
    return f"ended with status {status}" + (f" ({hint})" if hint else "")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have numbers only
        return f"signal {number}"
