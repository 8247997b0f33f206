"""Player events arrive in order and once, also after a reconnect."""

import contextlib
import socket
from typing import Any

import pytest

from pi_appliance.music.model import Capability
from pi_appliance.web.sse import ReplayBuffer
from tests.web.served_appliance import Event, Events, ServedAppliance

PATH = "/api/v1/player/events"


def first_state(events: Events) -> Event:
    """Return the newest event of a new stream: everything, sent again with the first change."""
    assert events.next_event().name == "hello"
    return events.wait_for_event("state")


def settled(events: Events) -> Event:
    """Return the first state, for the first listener."""
    first_state(events)
    return events.wait_for_event("connection")


def become(appliance: ServedAppliance, **changes: Any) -> None:
    appliance.call_in_loop(lambda: appliance.player.set_state(**changes))


def volumes(events: Events, many: int) -> list[int]:
    return [events.wait_for_event("player").data["player"]["volume"] for _ in range(many)]


def test_it_starts_with_everything(appliance: ServedAppliance) -> None:
    with appliance.events(PATH) as events:
        assert events.next_event() == Event("", "hello", {"now": 1000.0})
        state = events.next_event()
        assert state.name == "state"
        assert state.data.pop("at") == 1000.0
        assert appliance.request("/api/v1/player").json == {**state.data, "rating": None, "favourite": False}


def test_each_change_is_a_named_event_with_the_needed_data(appliance: ServedAppliance) -> None:
    player = appliance.player
    with appliance.events(PATH) as events:
        settled(events)
        for change, name, data in (
            (lambda: player.set_state(volume=7), "player", None),
            (lambda: player.changed("mixer", volume=8), "mixer", None),
            (lambda: player.changed("options", repeat=True), "options", None),
            (lambda: player.changed("playlist", queue_version=5), "queue", {"version": 5, "length": 2}),
            (lambda: player.changed("output"), "output", {"outputs": appliance.request("/api/v1/player/outputs").json}),
            (lambda: player.changed("database"), "database", appliance.request("/api/v1/player/stats").json),
            (lambda: player.changed("stored_playlist"), "stored-playlist", {}),
            (lambda: player.changed("sticker"), "sticker", {}),
            (lambda: player.changed("partition", partition="x"), "partition", {"partition": "x"}),
        ):
            appliance.call_in_loop(change)
            event = events.next_event()
            expected = (
                {"player": appliance.request("/api/v1/player").json["player"], "at": 1000.0} if data is None else data
            )
            assert (event.name, event.data) == (name, expected)


def test_a_lost_and_reconnected_player_is_reported(appliance: ServedAppliance) -> None:
    hub = appliance.daemon.hub
    player = appliance.player
    with appliance.events(PATH) as events:
        settled(events)

        def lose() -> None:
            hub.list_player, hub.error = None, "MPD does not answer"
            hub.notify()

        def find() -> None:
            hub.list_player, hub.error = player, ""
            hub.notify()

        appliance.call_in_loop(lose)
        assert (lost := events.next_event()).name == "connection"
        assert (lost.data["player"], lost.data["error"]) == (None, "MPD does not answer")
        appliance.call_in_loop(find)
        everything = events.next_event().data
        assert everything.pop("at") == 1000.0
        assert appliance.request("/api/v1/player").json == {**everything, "rating": None, "favourite": False}


def test_an_update_reports_its_progress_and_its_end(appliance: ServedAppliance) -> None:
    with appliance.events(PATH) as events:
        settled(events)
        appliance.request("/api/v1/player/update", {})
        assert events.next_event().data == {"updating": 1, "tracks": 4}
        appliance.call_in_loop(appliance.player.library.pop)  # it is not reported until the next query
        assert events.next_event().data == {"updating": 1, "tracks": 3}
        appliance.call_in_loop(lambda: appliance.player.changed("update", updating=None))
        assert events.next_event().data == {"updating": None, "tracks": 3}


@pytest.mark.parametrize("how", ["header", "query"])
def test_a_reconnected_client_gets_exactly_the_missed_events(appliance: ServedAppliance, how: str) -> None:
    with appliance.events(PATH) as awake:
        last = settled(awake).id
        become(appliance, volume=1)
        received = awake.next_event()
        for volume in (2, 3, 4):
            become(appliance, volume=volume)
        assert volumes(awake, 3) == [2, 3, 4]
    for after, missed in ((last, [1, 2, 3, 4]), (received.id, [2, 3, 4])):
        path, headers = (PATH, {"Last_Event_ID": after}) if how == "header" else (f"{PATH}?after={after}", {})
        with appliance.events(path, **headers) as events:
            assert events.next_event().name == "hello"
            result = [events.next_event() for _ in missed]
            assert [event.data["player"]["volume"] for event in result] == missed
            assert [event.name for event in result] == ["player"] * len(missed)
            become(appliance, volume=50)
            assert volumes(events, 1) == [50]  # and continues, without a gap and without a duplicate
            become(appliance, volume=4)
            assert volumes(events, 1) == [4]


def test_nothing_is_missed_while_there_is_no_listener(appliance: ServedAppliance) -> None:
    with appliance.events(PATH) as events:
        last = settled(events).id
    for volume in (11, 12):
        become(appliance, volume=volume)
    with appliance.events(PATH, Last_Event_ID=last) as events:
        assert volumes(events, 2) == [11, 12]


@pytest.mark.parametrize("after", ["00000000-1", "nonsense", "", "-1", "²-²"])
def test_an_id_of_another_process_gets_everything(appliance: ServedAppliance, after: str) -> None:
    with appliance.events(PATH) as events:
        first_state(events)
    with appliance.events(PATH, Last_Event_ID=after.encode().decode("latin-1")) as events:
        assert events.next_event().name == "hello"
        assert events.next_event().name == "state"


def test_a_client_away_for_too_long_gets_everything(appliance: ServedAppliance) -> None:
    with appliance.events(PATH) as events:
        last = settled(events).id
        for _ in range(501):
            become(appliance, volume=9)
            events.wait_for_event("player")
    with appliance.events(PATH, Last_Event_ID=last) as events:
        assert events.next_event().name == "hello"
        state = events.next_event()
        assert (state.name, state.data["player"]["volume"]) == ("state", 9)
        epoch, _, number = state.id.partition("-")
        assert last.startswith(f"{epoch}-")
        assert int(number) > 501


def test_two_listeners_get_the_same_bytes(appliance: ServedAppliance) -> None:
    with appliance.events(PATH) as one, appliance.events(PATH) as two:
        settled(one)
        first_state(two)
        become(appliance, volume=12)
        assert one.wait_for_event("player") == two.wait_for_event("player")


def test_a_slow_client_delays_no_other_and_skips_to_the_newest(appliance: ServedAppliance) -> None:
    with socket.create_connection(("127.0.0.1", appliance.service.port)) as asleep:
        asleep.settimeout(10)
        asleep.sendall(f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        asleep.recv(100)
        for volume in range(1000):
            become(appliance, volume=volume % 40, error="x" * 20_000)
            appliance.call_in_loop(lambda: None)  # each is a separate event
        become(appliance, volume=42, error="")
        with appliance.events(PATH) as awake:
            assert first_state(awake).data["player"]["volume"] == 42
        read, tail, states = 0, b"", 0
        while b'"volume":42' not in tail:
            got = asleep.recv(65_536)
            states += (tail[-11:] + got).count(b"event: state")
            read, tail = read + len(got), tail[-1000:] + got
        assert states == 2  # the first, and the one that it skipped to
        assert read < 1000 * 20_000 / 2  # the waiting events were not all changes


def test_many_phones_are_served_while_the_page_works(appliance: ServedAppliance) -> None:
    with contextlib.ExitStack() as stack:
        phones = [stack.enter_context(appliance.events(PATH)) for _ in range(150)]
        for each in phones:
            first_state(each)
        assert appliance.request("/health").status == 200
        become(appliance, volume=17)
        assert [volumes(each, 1) for each in phones] == [[17]] * 150


def test_a_missing_capability_does_not_stop_the_stream(appliance: ServedAppliance) -> None:
    with appliance.events(PATH) as events:
        settled(events)
        appliance.player.can.discard(Capability.OUTPUTS)
        appliance.call_in_loop(lambda: appliance.player.changed("output"))
        assert events.wait_for_event("output").data == {}
        become(appliance, volume=3)
        assert volumes(events, 1) == [3]


def test_the_event_buffer_is_bounded_and_drops_the_oldest() -> None:
    ring = ReplayBuffer(max_events=50)
    start = ring.position_of(ring.id)
    assert start == 0
    for number in range(50):
        ring.add("n", {"n": number})
    buffer, place = b"", start
    while place < ring.number:
        result = ring.events_after(place)
        assert result is not None
        body, place = result
        assert body.count(b"event:") <= 20
        buffer += body
    assert [f'{{"n":{number}}}'.encode() in buffer for number in range(50)] == [True] * 50
    ring.add("n", {})
    assert ring.events_after(0) is None
    assert ring.events_after(1) is not None
    assert ring.events_after(52) is None
