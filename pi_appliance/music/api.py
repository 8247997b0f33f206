"""The API of the player itself: what it does, its buttons, its outputs and its partitions."""

import functools

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pi_appliance.music import serializers
from pi_appliance.music.covers import SIZES, Covers
from pi_appliance.music.events import PlayerEvents
from pi_appliance.music.model import Partition
from pi_appliance.music.player_commands import COMMANDS, Command
from pi_appliance.operations import Argument, Operation, boolean, text
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import ID, Call
from pi_appliance.web.sse import EventStream

_NAME = text("name", "what to call it", 100, required=True)
_OUTPUT = text("output", "the name of an output", 200, required=True)


class PlayerApi:
    """The endpoints under /player that no other file has."""

    def __init__(self, daemon: Daemon, actions: Actions, changes: PlayerEvents) -> None:
        self._daemon, self._actions, self._changes = daemon, actions, changes

    def endpoints(self) -> list[Operation]:
        """Return every row."""
        return [
            Operation(
                method="GET",
                path="/player",
                summary="What the player does and can; why there is none, in `error`.",
                handler=self.state,
            ),
            Operation(
                method="GET",
                path="/player/events",
                summary="What changes, as server-sent events; goes on after `Last-Event-ID` or `after` where it can.",
                handler=self.events,
                arguments=(text("after", "the id of the last event that was heard", 100, example="a1b2c3d4-17"),),
                media="text/event-stream",
                result="Events",
            ),
            *(self._button(name, wanted) for name, wanted in COMMANDS.items()),
            *self._outputs(),
            *self._partitions(),
        ]

    def _button(self, name: str, wanted: Command) -> Operation:
        return Operation(
            method="POST",
            path=f"/player/{name}",
            summary=wanted.what,
            handler=functools.partial(self.press, name),
            arguments=wanted.keys,
            example=wanted.example,
        )

    def _outputs(self) -> list[Operation]:
        return [
            Operation(
                method="GET",
                path="/player/outputs",
                summary="Where sound comes out.",
                handler=self.outputs,
                result="Outputs",
            ),
            Operation(
                method="POST",
                path=f"/player/outputs/{ID}",
                summary="Switch an output.",
                handler=self.switch,
                arguments=(boolean("on", "whether it sounds", required=True),),
                result="Outputs",
                example={"id": 0, "on": True},
            ),
        ]

    def _partitions(self) -> list[Operation]:
        return [
            Operation(
                method="GET",
                path="/player/partitions",
                summary="The partitions: players within the player.",
                handler=self.partitions,
                result="Partitions",
            ),
            Operation(
                method="POST",
                path="/player/partitions",
                summary="Make a partition.",
                handler=self.new_partition,
                arguments=(_NAME,),
                result="Partitions",
                status=201,
                example={"name": "terrace"},
            ),
            Operation(
                method="POST",
                path="/player/partitions/{name}/use",
                summary="Speak of this partition from now on, wherever the appliance shows or plays music.",
                handler=self.use_partition,
                example={"name": "default"},
            ),
            Operation(
                method="POST",
                path="/player/partitions/here/move-output",
                summary="Move an output into the partition that is spoken of.",
                handler=self.move_output,
                arguments=(_OUTPUT,),
                result="Outputs",
                example={"output": "Kitchen"},
            ),
            Operation(
                method="DELETE",
                path="/player/partitions/{name}",
                summary="Delete a partition that has no outputs and no listeners.",
                handler=self.delete_partition,
                result="Partitions",
                example={"name": "garden"},
            ),
        ]

    async def state(self, _: Call) -> object:
        """Only the player."""
        return serializers.music(self._daemon.hub)

    async def events(self, call: Call) -> object:
        """Return a stream of what changes."""
        heard = call.request.headers.get("last-event-id") or call.given["after"] or ""
        return EventStream(self._changes, self._changes.place(heard))

    async def press(self, name: str, call: Call) -> object:
        """Do what the button NAME says, and say what the player does then."""
        sent = {key: value for key, value in call.given.items() if value is not None}
        await self._actions.ask_player(name, sent)
        return await self._after()

    async def outputs(self, _: Call) -> object:
        """Where sound comes out."""
        return [serializers.output(each) for each in await (await self._daemon.hub.player()).list_outputs()]

    async def switch(self, call: Call) -> object:
        """Switch an output."""
        await (await self._daemon.hub.player()).set_output(call.path["id"], call.given["on"])
        return await self.outputs(call)

    async def partitions(self, _: Call) -> object:
        """Players within the player."""
        found = await (await self._daemon.hub.player()).list_partitions()
        return [_partition(each) for each in found]

    async def new_partition(self, call: Call) -> object:
        """Make one."""
        await (await self._daemon.hub.player()).create_partition(call.given["name"])
        return await self.partitions(call)

    async def use_partition(self, call: Call) -> object:
        """Speak of one."""
        await (await self._daemon.hub.player()).use_partition(call.path["name"])
        return await self._after()

    async def delete_partition(self, call: Call) -> object:
        """Delete one."""
        await (await self._daemon.hub.player()).delete_partition(call.path["name"])
        return await self.partitions(call)

    async def move_output(self, call: Call) -> object:
        """Move an output here."""
        await (await self._daemon.hub.player()).move_output(call.given["output"])
        return await self.outputs(call)

    async def _after(self) -> object:
        state = await (await self._daemon.hub.player()).state()
        return serializers.music(self._daemon.hub, state)


def _partition(partition: Partition) -> dict[str, str]:
    return {"name": partition.name}


_DAY = 86_400  # seconds for which a phone need not ask again
_URI = text("uri", "the address of a track", 2000, required=True, example="a.ogg")


def _size(value: object) -> int:
    if str(value) not in {str(size) for size in SIZES}:
        raise ValueError
    return int(str(value))


_SIZE = Argument(
    name="size",
    help="pixels of a side at the most; none: as it is",
    expected=f"one of {', '.join(map(str, SIZES))}",
    parse=_size,
    schema={"type": "integer", "enum": list(SIZES)},
    example=256,
)


class ArtApi:
    """The endpoint /player/art."""

    def __init__(self, covers: Covers) -> None:
        self._covers = covers

    def endpoints(self) -> list[Operation]:
        """Return the row."""
        return [
            Operation(
                method="GET",
                path="/player/art",
                summary="The cover of a track, with an ETag; 404 where there is none.",
                handler=self.art,
                arguments=(_URI, _SIZE),
                media="image/*",
                result="Picture",
            )
        ]

    async def art(self, call: Call) -> object:
        """Return the cover, or 304 if the phone has it."""
        found = await self._covers.find(call.given["uri"], call.given["size"] or 0)
        if found is None:
            raise HTTPException(404, "there is no picture of that track", {"Cache-Control": "private, max-age=300"})
        headers = {
            "ETag": f'"{found.tag}"',
            "Cache-Control": f"private, max-age={_DAY}",
            # A picture is data: whatever it holds, it runs nothing and loads nothing.
            "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
        }
        if _has(call.request, found.tag):
            return Response(status_code=304, headers=headers)
        return Response(found.data, headers=headers, media_type=found.mime)


def _has(request: Request, tag: str) -> bool:
    told = request.headers.get("if-none-match", "")
    return told.strip() == "*" or f'"{tag}"' in [each.strip().removeprefix("W/") for each in told.split(",")]
