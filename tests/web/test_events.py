"""The live page: an event for every change, from wherever it comes, and none for nothing."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Trigger
from pi_appliance.system import clock, locks
from tests.web.served_appliance import Events, World, configuration, served


def test_the_first_event_is_the_whole_state(world: World) -> None:
    with world.events() as events:
        number, state = events.next()
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9]+", number)
        assert state == world.ask("/api/v1/state").json


def test_a_change_of_the_player_arrives(world: World) -> None:
    with world.events() as events:
        first, _ = events.next()
        world.in_loop(lambda: world.player.become(volume=77))
        assert events.until(lambda state: state["player"]["volume"] == 77)
        number, state = first, None
        world.in_loop(lambda: world.player.become(volume=78))
        while state is None or state["player"]["volume"] != 78:
            number, state = events.next()
        epoch, _, one = first.partition("-")
        assert number.startswith(f"{epoch}-")
        assert int(number.partition("-")[2]) > int(one)


def test_a_player_that_is_lost_is_told(world: World) -> None:
    def lose() -> None:
        hub = world.daemon.hub
        hub.list_player, hub.error = None, "MPD does not answer"
        hub.tell()

    with world.events() as events:
        events.next()
        world.in_loop(lose)
        state = events.until(lambda state: state["player"] is None)
        assert state["error"] == "MPD does not answer"


def test_a_run_by_another_process_arrives_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    with served(config) as world, world.events() as events:
        assert events.next()[1]["jobs"][0]["last"] is None
        command = [sys.executable, "-m", "pi_appliance", "jobs", "run", "hello", "--config", str(config)]
        subprocess.run(command, check=True, capture_output=True)
        state = events.until(lambda state: state["jobs"][0]["last"] and state["jobs"][0]["last"]["outcome"])
        assert state["jobs"][0]["last"]["outcome"] == "succeeded"


def until_progress(events: Events, done: float) -> Any:
    """Return the run that goes on, as soon as it is told to be that far."""
    state = events.until(lambda state: (state["jobs"][0]["last"] or {}).get("progress") == done)
    return state["jobs"][0]["last"]


def test_how_far_a_run_is_arrives(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    with served(config) as world, world.events() as events, Appliance.open(config) as other:
        with locks.acquire(other.lock_path("hello")) as lock:
            assert lock is not None
            run, _ = other.store.start_run(job="hello", kind="command", trigger=Trigger.CRON, due=None, now=clock.now())
            for done in (0.25, 0.5):
                lock.write_status(run, done, "counting")
                assert until_progress(events, done)["status_text"] == "counting"
        # Its process is gone without a word: the next look says so.
        assert events.until(lambda state: state["jobs"][0]["last"]["outcome"] == "abandoned")


def test_two_listeners_hear_the_same(world: World) -> None:
    with world.events() as one, world.events() as two:
        world.in_loop(lambda: world.player.become(volume=12))
        for each in (one, two):
            assert each.until(lambda state: state["player"]["volume"] == 12)


def test_when_all_have_gone_and_one_comes_back_it_is_live_again(world: World) -> None:
    with world.events() as events:
        events.next()
    world.eventually(lambda: not world.daemon.hub.watchers)
    with world.events() as events:
        events.next()
        world.in_loop(lambda: world.player.become(volume=3))
        assert events.until(lambda state: state["player"]["volume"] == 3)


def test_the_stream_is_one_that_nothing_keeps_back(world: World) -> None:
    with world.events() as events:
        assert events.answer.headers["content-type"].startswith("text/event-stream")
        assert events.answer.headers["cache-control"] == "no-store"
    assert world.ask("/events", method="HEAD").status == 200
