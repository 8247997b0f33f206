"""USB sticks in the API."""

from pi_appliance.errors import Refused, UnknownName
from pi_appliance.model.usb import Stick, StickState
from tests.web.world import World

BLUE = Stick(name="Blue & co", state=StickState.SCANNING, uri="USB/Blue & co", size=8, used=3, files=100, tracks=20)


class TheSticks:
    """One stick."""

    def __init__(self) -> None:
        self.gone: list[str] = []

    def all(self) -> list[Stick]:
        return [BLUE]

    async def remove(self, name: str) -> Stick:
        if name != BLUE.name:
            raise UnknownName("stick", name, [BLUE.name])
        if self.gone:
            raise Refused(f"{name} is away already")
        self.gone.append(name)
        return Stick(name=name, state=StickState.AWAY, uri=BLUE.uri)


def test_the_sticks_and_how_far_they_are(world: World) -> None:
    world.daemon.sticks = TheSticks()
    (stick,) = world.ask("/api/v1/usb").json
    assert (stick["name"], stick["state"], stick["files"], stick["tracks"]) == ("Blue & co", "scanning", 100, 20)
    assert world.ask("/api/v1/usb?all=1").status == 400


def test_a_stick_is_let_go_of(world: World) -> None:
    world.daemon.sticks = TheSticks()
    assert world.ask("/api/v1/usb/Blue%20%26%20co/remove", {}).json["state"] == "away"
    assert world.ask("/api/v1/usb/Blue%20%26%20co/remove", {}).status == 409
    assert world.ask("/api/v1/usb/Red/remove", {}).status == 404
    assert world.ask("/api/v1/usb/Red/remove", {"now": True}).status == 400
