"""What changes at the player arrives as it is, in its order, once; and who slept gets just what he missed."""

import contextlib
import socket
from typing import Any

import pytest

from pi_appliance.music.model import Capability
from pi_appliance.web.sse import ReplayBuffer
from tests.web.served_appliance import Event, Events, World

PATH = "/api/v1/player/events"


def begun(events: Events) -> Event:
    """Return the newest event of a stream that has just begun: everything, and that once more for the first to come."""
    assert events.any().name == "hello"
    return events.named("state")


def settled(events: Events) -> Event:
    """As `begun`, for the first listener of all."""
    begun(events)
    return events.named("connection")


def become(world: World, **changes: Any) -> None:
    world.in_loop(lambda: world.player.become(**changes))


def volumes(events: Events, many: int) -> list[int]:
    return [events.named("player").data["player"]["volume"] for _ in range(many)]


def test_it_begins_with_everything(world: World) -> None:
    with world.events(PATH) as events:
        assert events.any() == Event("", "hello", {"now": 1000.0})
        state = events.any()
        assert state.name == "state"
        assert state.data.pop("at") == 1000.0
        assert world.ask("/api/v1/player").json == {**state.data, "rating": None, "favourite": False}


def test_each_change_is_an_event_of_its_name_with_what_a_client_needs(world: World) -> None:
    player = world.player
    with world.events(PATH) as events:
        settled(events)
        for change, name, data in (
            (lambda: player.become(volume=7), "player", None),
            (lambda: player.changed("mixer", volume=8), "mixer", None),
            (lambda: player.changed("options", repeat=True), "options", None),
            (lambda: player.changed("playlist", queue_version=5), "queue", {"version": 5, "length": 2}),
            (lambda: player.changed("output"), "output", {"outputs": world.ask("/api/v1/player/outputs").json}),
            (lambda: player.changed("database"), "database", world.ask("/api/v1/player/stats").json),
            (lambda: player.changed("stored_playlist"), "stored-playlist", {}),
            (lambda: player.changed("sticker"), "sticker", {}),
            (lambda: player.changed("partition", partition="x"), "partition", {"partition": "x"}),
        ):
            world.in_loop(change)
            event = events.any()
            wanted = {"player": world.ask("/api/v1/player").json["player"], "at": 1000.0} if data is None else data
            assert (event.name, event.data) == (name, wanted)


def test_a_player_that_is_lost_and_found_is_told(world: World) -> None:
    hub = world.daemon.hub
    player = world.player
    with world.events(PATH) as events:
        settled(events)

        def lose() -> None:
            hub.list_player, hub.error = None, "MPD does not answer"
            hub.tell()

        def find() -> None:
            hub.list_player, hub.error = player, ""
            hub.tell()

        world.in_loop(lose)
        assert (lost := events.any()).name == "connection"
        assert (lost.data["player"], lost.data["error"]) == (None, "MPD does not answer")
        world.in_loop(find)
        everything = events.any().data
        assert everything.pop("at") == 1000.0
        assert world.ask("/api/v1/player").json == {**everything, "rating": None, "favourite": False}


def test_an_update_tells_how_far_it_is_and_that_it_is_over(world: World) -> None:
    with world.events(PATH) as events:
        settled(events)
        world.ask("/api/v1/player/update", {})
        assert events.any().data == {"updating": 1, "tracks": 4}
        world.in_loop(world.player.shelf.pop)  # nothing is told of it until the next look
        assert events.any().data == {"updating": 1, "tracks": 3}
        world.in_loop(lambda: world.player.changed("update", updating=None))
        assert events.any().data == {"updating": None, "tracks": 3}


@pytest.mark.parametrize("how", ["header", "query"])
def test_who_slept_gets_exactly_what_he_missed(world: World, how: str) -> None:
    with world.events(PATH) as awake:
        last = settled(awake).id
        become(world, volume=1)
        heard = awake.any()
        for volume in (2, 3, 4):
            become(world, volume=volume)
        assert volumes(awake, 3) == [2, 3, 4]
    for after, missed in ((last, [1, 2, 3, 4]), (heard.id, [2, 3, 4])):
        path, headers = (PATH, {"Last_Event_ID": after}) if how == "header" else (f"{PATH}?after={after}", {})
        with world.events(path, **headers) as events:
            assert events.any().name == "hello"
            found = [events.any() for _ in missed]
            assert [event.data["player"]["volume"] for event in found] == missed
            assert [event.name for event in found] == ["player"] * len(missed)
            become(world, volume=50)
            assert volumes(events, 1) == [50]  # and goes on, without a gap and without a second telling
            become(world, volume=4)
            assert volumes(events, 1) == [4]


def test_nothing_is_missed_while_nobody_at_all_listens(world: World) -> None:
    with world.events(PATH) as events:
        last = settled(events).id
    for volume in (11, 12):
        become(world, volume=volume)
    with world.events(PATH, Last_Event_ID=last) as events:
        assert volumes(events, 2) == [11, 12]


@pytest.mark.parametrize("after", ["00000000-1", "nonsense", "", "-1", "²-²"])
def test_an_id_of_another_life_gets_everything(world: World, after: str) -> None:
    with world.events(PATH) as events:
        begun(events)
    with world.events(PATH, Last_Event_ID=after.encode().decode("latin-1")) as events:
        assert events.any().name == "hello"
        assert events.any().name == "state"


def test_who_slept_too_long_gets_everything(world: World) -> None:
    with world.events(PATH) as events:
        last = settled(events).id
        for _ in range(501):
            become(world, volume=9)
            events.named("player")
    with world.events(PATH, Last_Event_ID=last) as events:
        assert events.any().name == "hello"
        state = events.any()
        assert (state.name, state.data["player"]["volume"]) == ("state", 9)
        epoch, _, number = state.id.partition("-")
        assert last.startswith(f"{epoch}-")
        assert int(number) > 501


def test_two_listeners_hear_the_same_bytes(world: World) -> None:
    with world.events(PATH) as one, world.events(PATH) as two:
        settled(one)
        begun(two)
        become(world, volume=12)
        assert one.named("player") == two.named("player")


def test_a_phone_that_does_not_read_holds_up_nobody_and_skips_to_the_newest(world: World) -> None:
    with socket.create_connection(("127.0.0.1", world.service.port)) as asleep:
        asleep.settimeout(10)
        asleep.sendall(f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        asleep.recv(100)
        for volume in range(1000):
            become(world, volume=volume % 40, error="x" * 20_000)
            world.in_loop(lambda: None)  # each is an event of its own
        become(world, volume=42, error="")
        with world.events(PATH) as awake:
            assert begun(awake).data["player"]["volume"] == 42
        read, tail, states = 0, b"", 0
        while b'"volume":42' not in tail:
            got = asleep.recv(65_536)
            states += (tail[-11:] + got).count(b"event: state")
            read, tail = read + len(got), tail[-1000:] + got
        assert states == 2  # the first of all, and the one he skipped to
        assert read < 1000 * 20_000 / 2  # what waited for him was not all that happened


def test_a_house_full_of_phones_is_served_and_the_page_beside_them(world: World) -> None:
    with contextlib.ExitStack() as stack:
        phones = [stack.enter_context(world.events(PATH)) for _ in range(150)]
        for each in phones:
            begun(each)
        assert world.ask("/health").status == 200
        become(world, volume=17)
        assert [volumes(each, 1) for each in phones] == [[17]] * 150


def test_what_the_player_lacks_does_not_stop_the_stream(world: World) -> None:
    with world.events(PATH) as events:
        settled(events)
        world.player.can.discard(Capability.OUTPUTS)
        world.in_loop(lambda: world.player.changed("output"))
        assert events.named("output").data == {}
        become(world, volume=3)
        assert volumes(events, 1) == [3]


def test_a_ring_hands_out_little_at_once_and_forgets_the_oldest() -> None:
    ring = ReplayBuffer(max_events=50)
    start = ring.position_of(ring.id)
    assert start == 0
    for number in range(50):
        ring.add("n", {"n": number})
    seen, place = b"", start
    while place < ring.number:
        found = ring.events_after(place)
        assert found is not None
        body, place = found
        assert body.count(b"event:") <= 20
        seen += body
    assert [f'{{"n":{number}}}'.encode() in seen for number in range(50)] == [True] * 50
    ring.add("n", {})
    assert ring.events_after(0) is None
    assert ring.events_after(1) is not None
    assert ring.events_after(52) is None
