"""Records which files of the program run functions; `tests/traces.py` puts it into the processes that it starts.

Python imports it at its start, from PYTHONPATH. Each process appends the names of files to a file of its
own in the folder `PYTHON_CALL_RECORDS`. After SIGUSR2 it begins again with an empty line.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

PACKAGE = f"{Path(__file__).parents[2] / 'pi_appliance'}/"
_IS_FUNCTION = 0x01  # flag of code: its variables are local; neither a module nor the body of a class has it


def _record_calls(folder: str) -> None:
    visited = set[str]()

    def write(text: str) -> None:
        with Path(folder, str(os.getpid())).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def on_event(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if (
            event != "call"
            or name in visited
            or not name.startswith(PACKAGE)
            or not frame.f_code.co_flags & _IS_FUNCTION
        ):
            return
        if not _is_importing(frame):
            visited.add(name)
            write(name.removeprefix(PACKAGE))

    def begin_again(*_: object) -> None:
        visited.clear()
        write("")

    signal.signal(signal.SIGUSR2, begin_again)
    threading.setprofile(on_event)
    sys.setprofile(on_event)


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether an import called the function, such as a decorator in a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


if "PYTHON_CALL_RECORDS" in os.environ:
    _record_calls(os.environ["PYTHON_CALL_RECORDS"])
