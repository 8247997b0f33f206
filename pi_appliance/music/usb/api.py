"""The API of USB sticks: which there are, how far they are looked through, and letting go of one."""

import dataclasses

from pi_appliance.operations import Operation
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import Call


class UsbApi:
    """The endpoints under /usb."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def endpoints(self) -> list[Operation]:
        """Return every row."""
        return [
            Operation(
                method="GET",
                path="/usb",
                summary="Every stick that is or was here, and how far it is looked through.",
                handler=self.sticks,
                result="Sticks",
            ),
            Operation(
                method="POST",
                path="/usb/{name}/remove",
                summary="Let go of a stick, so that it can be pulled.",
                handler=self.remove,
                result="Stick",
                example={"name": "MUSIC"},
            ),
        ]

    async def sticks(self, _: Call) -> object:
        """Return all of them."""
        return [dataclasses.asdict(each) for each in self._daemon.sticks.all()]

    async def remove(self, call: Call) -> object:
        """Let go of one, and return how it is then."""
        return dataclasses.asdict(await self._daemon.sticks.remove(call.path["name"]))
