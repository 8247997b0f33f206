"""Push buttons start jobs: pressed or held, without the bouncing of their contacts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from gpiozero import Button, Device
from gpiozero.pins.mock import MockFactory

from pi_appliance.config.triggers import ButtonTrigger
from pi_appliance.triggers.buttons import Buttons
from tests.installation import Installation, wait_until
from tests.test_daemon import QUIET, running_daemon

PRESS = ButtonTrigger(pin=17, debounce_ms=20)
HOLD = ButtonTrigger(pin=17, debounce_ms=20, hold=timedelta(milliseconds=150))


@pytest.fixture
def pins():
    """Use pins of memory in place of those of the machine, by the public setting of gpiozero."""
    Device.pin_factory = MockFactory()
    yield Device.pin_factory
    Device.pin_factory.reset()
    Device.pin_factory = None


class Pressed:
    """Buttons that are used: which jobs they started, and their problems."""

    def __init__(self) -> None:
        self.jobs: asyncio.Queue[str] = asyncio.Queue()
        self.problems: dict[str, str] = {}

    async def next(self) -> str:
        return await asyncio.wait_for(self.jobs.get(), 10)


@contextlib.asynccontextmanager
async def using(triggers: dict[str, ButtonTrigger], folder: Path) -> AsyncIterator[Pressed]:
    pressed = Pressed()
    buttons = Buttons(triggers, folder, pressed.jobs.put_nowait, pressed.problems.__setitem__)
    task = asyncio.create_task(buttons.run())
    async with asyncio.timeout(10):
        while not triggers.keys() <= pressed.problems.keys():
            await asyncio.sleep(0)
    try:
        yield pressed
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_a_press_starts_the_job_once_however_the_contact_bounces(pins, tmp_path):
    async def run() -> None:
        async with using({"bell": PRESS}, tmp_path) as pressed:
            for _ in range(5):
                pins.pin(17).drive_low()
                pins.pin(17).drive_high()
            pins.pin(17).drive_low()
            assert await pressed.next() == "bell"
            for _ in range(5):
                pins.pin(17).drive_high()
                pins.pin(17).drive_low()
            pins.pin(17).drive_high()
            await asyncio.sleep(0.1)  # longer than it must be still
            assert pressed.jobs.empty()
            pins.pin(17).drive_low()
            assert await pressed.next() == "bell"
        Button(17).close()  # the pin is free again

    asyncio.run(run())


def test_one_button_for_a_short_and_a_long_press(pins, tmp_path):
    async def run() -> None:
        async with using({"short": PRESS, "long": HOLD}, tmp_path) as pressed:
            pins.pin(17).drive_low()
            assert await pressed.next() == "long"
            pins.pin(17).drive_high()
            await asyncio.sleep(0.1)
            assert pressed.jobs.empty()  # a long press is not a short one
            pins.pin(17).drive_low()
            await asyncio.sleep(0.06)
            pins.pin(17).drive_high()
            assert await pressed.next() == "short"
            await asyncio.sleep(0.2)
            assert pressed.jobs.empty()

    asyncio.run(run())


def test_a_pin_that_is_busy_is_a_problem_and_the_others_work(pins, tmp_path):
    async def run() -> None:
        with contextlib.closing(Button(17)):
            async with using({"bell": PRESS, "other": ButtonTrigger(pin=22, pull_up=False)}, tmp_path) as pressed:
                assert pressed.problems["bell"].startswith("pin 17 cannot be used: pin GPIO17 is already in use")
                assert pressed.problems["other"] == ""
                pins.pin(22).drive_high()
                assert await pressed.next() == "other"

    asyncio.run(run())


def test_a_machine_without_pins_runs_nevertheless(installation: Installation) -> None:
    installation.write("bell: {kind: command, triggers: {button: {pin: 17}}, with: {run: ['true']}}", QUIET)
    with running_daemon(installation):
        wait_until(lambda: "pin 17 cannot be used: " in installation.json("jobs", "triggers")[0]["problem"])
        assert installation.run("jobs", "run", "bell").returncode == 0
    with running_daemon(installation, {"GPIOZERO_PIN_FACTORY": "mock"}):
        wait_until(lambda: "1 ready" in installation.run("doctor").stdout)


def test_two_jobs_agree_about_the_pull_of_their_pin(installation: Installation) -> None:
    jobs = (
        "a: {kind: command, triggers: {button: {pin: 17}}, with: {run: ['true']}}\n"
        "b: {kind: command, triggers: {button: {pin: 17, pull-up: false}}, with: {run: ['true']}}"
    )
    installation.write(jobs)
    checked = installation.run("config", "check")
    assert (checked.returncode, "another job has another value for pin 17" in checked.stderr) == (2, True)
