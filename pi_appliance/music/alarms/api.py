"""The API of the alarms, the sleep timer and announcements; and of slots that are left out, of any job."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from pi_appliance.config import units
from pi_appliance.music.alarms import service
from pi_appliance.operations import Argument, Operation, integer, text
from pi_appliance.scheduling import slot_ledger
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage import serializers
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import Call


def _length(name: str, what: str) -> Argument:
    def read(value: object) -> timedelta:
        if not isinstance(value, str):
            raise ValueError
        return units.parse_duration(value)

    must = "a length of time such as 90s, 15m or 1h30m"
    return Argument(name=name, help=what, expected=must, parse=read, schema={"type": "string"})


_AT = text("at", "when the clock on its wall shows this next", 5, required=True)
_SLEEP = (
    _length("in", "for how long the music still plays"),
    text("at", "until the clock on the wall shows this"),
    text("play_out", "then play the track, album or queue to its end"),
    _length("fade", "how long it takes to fade out"),
)
_ANNOUNCE = (
    text("text", "the text to speak"),
    text("source", "the sound to play: a file of the library or an address"),
    integer("volume", "how loud", 0, 100),
)


class AlarmApi:
    """The endpoints under /alarms, /sleep and /announce. ACTIONS knows what time it is."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Operation]:
        """Return every row."""
        return [*self._alarms(), *self._music(), *self._jobs()]

    def _alarms(self) -> list[Operation]:
        def post(path: str, what: str, act: Callable[[Call], Awaitable[object]], **more: Any) -> Operation:
            example = {"job": "wake"} if "{job}" in path else {}
            more["example"] = example | more.get("example", {})
            return Operation(method="POST", path=path, summary=what, handler=act, result="Alarms", **more)

        one = "/alarms/{job}"
        once = "Let it ring once beside its schedule, when the clock shows that time next."
        return [
            Operation(
                method="GET",
                path="/alarms",
                summary="Every alarm: when it rings next, what is skipped, what rings or snoozes now.",
                handler=self.alarms,
                result="Alarms",
            ),
            post("/alarms/snooze", "Let whichever alarm rings be silent for a while.", self.snooze),
            post("/alarms/stop", "End whichever alarm rings or snoozes.", self.stop),
            post(f"{one}/skip", "Let it not ring the next time, and then again.", self.skip),
            post(f"{one}/unskip", "Let it ring the next time after all.", self.unskip),
            post(f"{one}/snooze", "Let it be silent for a while.", self.snooze),
            post(f"{one}/stop", "End it.", self.stop),
            post(f"{one}/once", once, self.once, arguments=(_AT,), example={"at": "06:45"}),
            Operation(
                method="DELETE",
                path=f"{one}/once",
                summary="Let it not ring at such times after all.",
                handler=self.forget_once,
                result="Alarms",
                example={"job": "wake"},
            ),
        ]

    def _music(self) -> list[Operation]:
        return [
            Operation(
                method="GET",
                path="/sleep",
                summary="The sleep timer, if one is set.",
                handler=self.sleep,
                result="Sleep",
            ),
            Operation(
                method="POST",
                path="/sleep",
                summary="Let the music fall asleep; this takes the place of a timer that is set.",
                handler=self.set_sleep,
                arguments=_SLEEP,
                result="Sleep",
                status=202,
                example={"in": "30m"},
            ),
            Operation(
                method="DELETE",
                path="/sleep",
                summary="Let the music go on after all.",
                handler=self.cancel_sleep,
                result="Sleep",
            ),
            Operation(
                method="POST",
                path="/announce",
                summary="Say or play something over the music, which then goes on as it was.",
                handler=self.announce,
                arguments=_ANNOUNCE,
                result="Asked",
                status=202,
                example={"text": "dinner is ready"},
            ),
        ]

    def _jobs(self) -> list[Operation]:
        ways = {
            "skip": ("Leave out its next slot; those after it are used as ever.", self.skip_slot),
            "unskip": ("Use the slot after all that was to be skipped.", self.unskip_slot),
        }
        return [
            Operation(
                method="POST",
                path=f"/jobs/{{name}}/{way}",
                summary=what,
                handler=act,
                result="Skip",
                example={"name": "daily"},
            )
            for way, (what, act) in ways.items()
        ]

    async def alarms(self, _: Call) -> object:
        """Return every alarm."""
        return [service.alarm_values(each) for each in service.alarms(self._appliance, self._actions.now())]

    async def skip(self, call: Call) -> object:
        """Let an alarm not ring the next time."""
        service.skip(self._appliance, call.path["job"], now=self._actions.now())
        return await self._changed(call)

    async def unskip(self, call: Call) -> object:
        """Let an alarm ring the next time after all."""
        service.unskip(self._appliance, call.path["job"], now=self._actions.now())
        return await self._changed(call)

    async def snooze(self, call: Call) -> object:
        """Let an alarm, or whichever rings, be silent for a while."""
        service.snooze(self._appliance, call.path.get("job"))
        return await self._changed(call)

    async def stop(self, call: Call) -> object:
        """End an alarm, or whichever rings."""
        service.stop_ringing(self._appliance, call.path.get("job"))
        return await self._changed(call)

    async def once(self, call: Call) -> object:
        """Let an alarm ring once."""
        service.ring_at(self._appliance, call.path["job"], call.given["at"], now=self._actions.now())
        return await self._changed(call)

    async def forget_once(self, call: Call) -> object:
        """Let an alarm not ring at times of its own."""
        service.cancel_rings(self._appliance, call.path["job"])
        return await self._changed(call)

    async def sleep(self, _: Call) -> object:
        """Return the sleep timer."""
        return service.sleep_values(service.sleep_timer(self._appliance))

    async def set_sleep(self, call: Call) -> object:
        """Set the sleep timer; its run begins at once."""
        given = {key: value for key, value in call.given.items() if key != "in"}
        service.set_sleep_timer(self._appliance, now=self._actions.now(), in_=call.given["in"], **given)
        self._daemon.wake()
        return await self.sleep(call)

    async def cancel_sleep(self, call: Call) -> object:
        """Cancel the sleep timer."""
        service.cancel_sleep_timer(self._appliance)
        self._daemon.wake()
        return await self.sleep(call)

    async def announce(self, call: Call) -> object:
        """Announce something; the history tells how it goes."""
        return self._asked(service.announce(self._appliance, now=self._actions.now(), **call.given))

    async def skip_slot(self, call: Call) -> object:
        """Leave out the next slot of any job."""
        slot = slot_ledger.skip(self._appliance, call.path["name"], now=self._actions.now())
        self._daemon.wake()
        return {"job": slot.job, "skipped": serializers.instant(slot.at)}

    async def unskip_slot(self, call: Call) -> object:
        """Use the slot of any job after all."""
        slot = slot_ledger.unskip(self._appliance, call.path["name"], now=self._actions.now())
        self._daemon.wake()
        return {"job": slot.job, "skipped": None}

    @property
    def _appliance(self) -> Appliance:
        return self._daemon.appliance

    def _asked(self, ask: RunRequest) -> object:
        self._daemon.wake()
        return {"asked": ask.id, "job": ask.job, "due": serializers.instant(ask.run_at)}

    async def _changed(self, call: Call) -> object:
        self._daemon.wake()
        return await self.alarms(call)
