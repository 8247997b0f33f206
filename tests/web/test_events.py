"""The live page: an event for every change from any source."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Trigger
from pi_appliance.system import clock, files
from tests.web.served_appliance import Events, ServedAppliance, configuration, served


def test_the_first_event_is_the_whole_state(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        number, state = events.next()
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9]+", number)
        assert state == appliance.ask("/api/v1/state").json


def test_a_change_of_the_player_arrives(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        first, _ = events.next()
        appliance.in_loop(lambda: appliance.player.become(volume=77))
        assert events.until(lambda state: state["player"]["volume"] == 77)
        number, state = first, None
        appliance.in_loop(lambda: appliance.player.become(volume=78))
        while state is None or state["player"]["volume"] != 78:
            number, state = events.next()
        epoch, _, one = first.partition("-")
        assert number.startswith(f"{epoch}-")
        assert int(number.partition("-")[2]) > int(one)


def test_a_lost_player_is_reported(appliance: ServedAppliance) -> None:
    def lose() -> None:
        hub = appliance.daemon.hub
        hub.list_player, hub.error = None, "MPD does not answer"
        hub.tell()

    with appliance.events() as events:
        events.next()
        appliance.in_loop(lose)
        state = events.until(lambda state: state["player"] is None)
        assert state["error"] == "MPD does not answer"


def test_a_run_by_another_process_is_reported_from_start_to_end(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    with served(config) as appliance, appliance.events() as events:
        assert events.next()[1]["jobs"][0]["last"] is None
        command = [sys.executable, "-m", "pi_appliance", "jobs", "run", "hello", "--config", str(config)]
        subprocess.run(command, check=True, capture_output=True)
        state = events.until(lambda state: state["jobs"][0]["last"] and state["jobs"][0]["last"]["outcome"])
        assert state["jobs"][0]["last"]["outcome"] == "succeeded"


def until_progress(events: Events, done: float) -> Any:
    """Return the active run once it has that progress."""
    state = events.until(lambda state: (state["jobs"][0]["last"] or {}).get("progress") == done)
    return state["jobs"][0]["last"]


def test_the_progress_of_a_run_is_reported(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    with served(config) as appliance, appliance.events() as events, Appliance.open(config) as other:
        with files.acquire_lock(other.lock_path("hello")) as lock:
            assert lock is not None
            run, _ = other.store.start_run(job="hello", kind="command", trigger=Trigger.CRON, due=None, now=clock.now())
            for done in (0.25, 0.5):
                lock.write_status(run, done, "counting")
                assert until_progress(events, done)["status_text"] == "counting"
        # Its process is gone without a word: the next look says so.
        assert events.until(lambda state: state["jobs"][0]["last"]["outcome"] == "abandoned")


def test_two_listeners_get_the_same_events(appliance: ServedAppliance) -> None:
    with appliance.events() as one, appliance.events() as two:
        appliance.in_loop(lambda: appliance.player.become(volume=12))
        for each in (one, two):
            assert each.until(lambda state: state["player"]["volume"] == 12)


def test_after_a_time_without_listeners_events_are_live_again(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        events.next()
    appliance.eventually(lambda: not appliance.daemon.hub.watchers)
    with appliance.events() as events:
        events.next()
        appliance.in_loop(lambda: appliance.player.become(volume=3))
        assert events.until(lambda state: state["player"]["volume"] == 3)


def test_the_stream_is_not_buffered_by_proxies(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        assert events.answer.headers["content-type"].startswith("text/event-stream")
        assert events.answer.headers["cache-control"] == "no-store"
    assert appliance.ask("/events", method="HEAD").status == 200
