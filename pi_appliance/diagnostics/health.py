"""The current problems of the appliance, which the page shows, and the endpoint /health."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse

from pi_appliance.diagnostics.thresholds import HOT, LOW_SPACE
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.music.player import NO_PLAYER
from pi_appliance.music.player_hub import MusicDaemon
from pi_appliance.storage.daily_backups import find_problem
from pi_appliance.system import machine
from pi_appliance.system.clock import ClockState
from pi_appliance.system.machine import Sensors


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem. `text` is for the owner and says what to do, `name` is for everybody."""

    name: str
    text: str


def find_problems(daemon: MusicDaemon, sensors: Sensors) -> Iterator[Problem]:
    """Yield the problems of clock, scheduler, card, processor and power supply."""
    scheduler, appliance = daemon.scheduler, daemon.appliance
    if scheduler.clock_state is ClockState.UNTRUSTED:
        minutes = math.ceil(scheduler.clock_wait / 60)
        most = f", at most {minutes} minute{'s' * (minutes != 1)} more" if minutes else ""
        text = (
            f"The clock is not set yet. Jobs at a time of day wait for it{most}. Connect the machine to the internet."
        )
        yield Problem("the clock is not set", text)
    if scheduler.error:
        yield Problem("a job cannot be started", f"A job cannot be started or recorded: {scheduler.error}")
    try:
        appliance.require_free_space()
        if (free := machine.free_space(appliance.config.state_dir)) < LOW_SPACE:
            text = f"Only {free // 1_000_000} MB are free on the card. Make room: no job runs on a full card."
            yield Problem("the card is almost full", text)
    except Unavailable as error:
        yield Problem("the card is full or cannot be written", f"No job can run: {error}.")
    if problem := find_problem(appliance.config):
        yield Problem("no backup can be written to its folder", f"{problem[:1].upper()}{problem[1:]}.")
    for each in daemon.triggers.problems:
        text = f"the {each.trigger} trigger of {each.job} does not work: {each.text}" if each.job else each.text
        yield Problem("a trigger does not work", f"{text[:1].upper()}{text[1:]}.")
    temperature = sensors.temperature()
    if temperature is not None and temperature >= HOT:
        text = f"The processor is at {temperature:.0f} °C and slows down. Give it more air."
        yield Problem("the processor is too hot", text)
    if sensors.power().under_voltage:
        text = "The power supply is too weak. Use the one made for this Raspberry Pi, with a short cable."
        yield Problem("the power supply is too weak", text)


def find_player_problem(daemon: MusicDaemon) -> Problem | None:
    """Return the reason why the configured player is not reached, if there is one."""
    error = daemon.hub.error
    return (
        Problem("the player is not reached", f"{error[:1].upper()}{error[1:]}.")
        if error and error != NO_PLAYER
        else None
    )


_MAX_SILENCE = 180.0  # seconds; the scheduler reads the clock at least once a minute


class HealthEndpoint:
    """The endpoint /health. `monotonic` is the clock of the scheduler."""

    def __init__(self, daemon: MusicDaemon, monotonic: Callable[[], float]) -> None:
        self._daemon, self._monotonic, self._sensors = daemon, monotonic, Sensors()

    async def answer(self, _: Request) -> JSONResponse:
        """Answer 200 if the daemon is healthy, else 503 with the reason."""
        reason = self._find_problem()
        if reason:
            return JSONResponse({"ok": False, "why": reason}, 503)
        # 200: a restart, which watchdogs answer to 503, would not correct these.
        names = ["the configuration file is wrong; the last good one is used"] if self._daemon.config_error else []
        names += [each.name for each in find_problems(self._daemon, self._sensors)]
        names += [each.name for each in (find_player_problem(self._daemon),) if each]
        return JSONResponse({"ok": True, **({"degraded": "; ".join(names)} if names else {})})

    def _find_problem(self) -> str:
        silent = self._monotonic() - self._daemon.scheduler.last_tick
        if silent >= _MAX_SILENCE:
            return f"the scheduler has not looked at the clock for {silent:.0f} seconds"
        try:
            self._daemon.appliance.store.history(limit=1)
        except ApplianceError:  # its text has the path, which is not public
            return "the history cannot be read; the log of the service says why"
        try:
            self._daemon.appliance.require_free_space()
        except ApplianceError:
            return "the disk of the state folder is full or cannot be written"
        return ""
