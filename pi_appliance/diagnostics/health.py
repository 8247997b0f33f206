"""Whether the daemon is well, for a watchdog. Everybody may ask, so it says nothing that is not for everybody."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse

from pi_appliance.errors import ApplianceError
from pi_appliance.web.interface import Daemon

_LATE = 180.0  # seconds; the scheduler looks at the clock once a minute at least


class Health:
    """The endpoint. TICKS is the clock of the scheduler's beat."""

    def __init__(self, daemon: Daemon, ticks: Callable[[], float]) -> None:
        self._daemon, self._ticks = daemon, ticks

    async def answer(self, _: Request) -> JSONResponse:
        """Answer 200 if all is well, else 503 and why."""
        why = self._trouble()
        return JSONResponse({"ok": False, "why": why}, 503) if why else JSONResponse({"ok": True})

    def _trouble(self) -> str:
        silent = self._ticks() - self._daemon.scheduler.beat
        if silent >= _LATE:
            return f"the scheduler has not looked at the clock for {silent:.0f} seconds"
        try:
            self._daemon.appliance.store.history(limit=1)
        except ApplianceError:  # it names the file, which is not for everybody
            return "the history cannot be read; the log of the service says why"
        return ""
