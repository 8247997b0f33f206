"""Push buttons on GPIO pins that start jobs.

Several jobs may share a pin: one runs when the button is pressed, another one when it is held. So
each pin is opened once. Bouncing contacts are filtered here, the same way for every library below
gpiozero.
"""

import asyncio
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pi_appliance.config.triggers import NO_GPIO, ButtonTrigger
from pi_appliance.errors import Unavailable

_RETRY_INTERVAL = 60.0  # seconds until a pin that could not be opened is tried again


class Buttons:
    """Calls `fire` with a job when its button is pressed, or was held long enough.

    Args:
        triggers: The trigger of each job.
        state_dir: Where lgpio may create its files; otherwise it uses the working directory.
        fire: Starts a job.
        report: Receives the problem of each job, or "".
    """

    def __init__(
        self,
        triggers: Mapping[str, ButtonTrigger],
        state_dir: Path,
        fire: Callable[[str], None],
        report: Callable[[str, str], None],
    ) -> None:
        self._state_dir, self._report = state_dir, report
        self._pins: dict[int, _Pin] = {}
        for job, trigger in triggers.items():
            assert trigger.pin is not None
            self._pins.setdefault(trigger.pin, _Pin(fire)).jobs[job] = trigger

    async def run(self) -> None:
        """Use the pins until it is cancelled. Raises Unavailable without the library."""
        os.environ.setdefault("LG_WD", str(self._state_dir))
        try:
            import gpiozero  # noqa: PLC0415 - 60 ms, and an optional extra
        except ImportError:
            raise Unavailable(NO_GPIO) from None
        self._report("", "")
        try:
            while True:
                opened = [self._open(gpiozero, number, pin) for number, pin in self._pins.items()]
                if all(opened):
                    await asyncio.Event().wait()
                await asyncio.sleep(_RETRY_INTERVAL)
        finally:
            for pin in self._pins.values():
                pin.close()

    def _open(self, gpiozero: Any, number: int, pin: "_Pin") -> bool:
        """Open `pin` unless it is open already; report the problem if that fails."""
        problem = ""
        if pin.button is None:
            try:
                pin.open(gpiozero, number)
            except Exception as error:  # noqa: BLE001 - the libraries of pins have errors of their own
                reason = str(error) or type(error).__name__
                problem = f"pin {number} cannot be used: {reason}"
        for job in pin.jobs:
            self._report(job, problem)
        return pin.button is not None


class _Pin:
    """A button, the jobs that use it, and its debounced state."""

    def __init__(self, fire: Callable[[str], None]) -> None:
        self._fire = fire
        self.jobs: dict[str, ButtonTrigger] = {}
        self.button: Any = None
        self._is_pressed = False
        self._settling: asyncio.TimerHandle | None = None
        self._holding: dict[str, asyncio.TimerHandle] = {}
        self._was_held = False

    def open(self, gpiozero: Any, number: int) -> None:
        """Open the pin. Raises an error of gpiozero or of a library below it."""
        loop, trigger = asyncio.get_running_loop(), next(iter(self.jobs.values()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gpiozero warns about each library that is missing
            self.button = gpiozero.Button(number, pull_up=trigger.pull_up)
        # gpiozero calls these in a thread of its own.
        self.button.when_pressed = lambda: loop.call_soon_threadsafe(self._change, True)
        self.button.when_released = lambda: loop.call_soon_threadsafe(self._change, False)

    def close(self) -> None:
        """Release the pin."""
        for timer in (self._settling, *self._holding.values()):
            if timer:
                timer.cancel()
        if self.button is not None:
            self.button.close()
            self.button = None

    def _change(self, is_pressed: bool) -> None:
        """Accept the new state once it has not changed for the debounce time."""
        if self._settling:
            self._settling.cancel()
            self._settling = None
        if is_pressed is not self._is_pressed:
            delay = max(each.debounce_ms for each in self.jobs.values()) / 1000
            self._settling = asyncio.get_running_loop().call_later(delay, self._settle, is_pressed)

    def _settle(self, is_pressed: bool) -> None:
        self._settling, self._is_pressed = None, is_pressed
        loop = asyncio.get_running_loop()
        held = {job: each.hold.total_seconds() for job, each in self.jobs.items() if each.hold}
        if is_pressed:
            self._was_held = False
            self._holding = {job: loop.call_later(delay, self._end_hold, job) for job, delay in held.items()}
        for timer in self._holding.values() if not is_pressed else ():
            timer.cancel()
        # If a job waits for a long press, a short press is only known at its end.
        if is_pressed is not bool(held) and not self._was_held:
            for job in self.jobs.keys() - held.keys():
                self._fire(job)

    def _end_hold(self, job: str) -> None:
        self._was_held = True
        self._fire(job)
