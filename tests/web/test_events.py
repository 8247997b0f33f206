"""The live page: an event for every change from any source."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock, files
from tests.web.served_appliance import Events, ServedAppliance, configuration, job, serving
from tests.web.test_pages import record


def test_the_first_event_is_the_whole_state(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        number, state = events.next_state()
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9]+", number)
        assert state == appliance.request("/api/v1/state").json


def test_a_change_of_the_player_arrives(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        first, _ = events.next_state()
        appliance.call_in_loop(lambda: appliance.player.set_state(volume=77))
        assert events.wait_for_state(lambda state: state["player"]["volume"] == 77)
        number, state = first, None
        appliance.call_in_loop(lambda: appliance.player.set_state(volume=78))
        while state is None or state["player"]["volume"] != 78:
            number, state = events.next_state()
        epoch, _, one = first.partition("-")
        assert number.startswith(f"{epoch}-")
        assert int(number.partition("-")[2]) > int(one)


def test_a_lost_player_is_reported(appliance: ServedAppliance) -> None:
    def lose() -> None:
        hub = appliance.daemon.hub
        hub.list_player, hub.error = None, "MPD does not answer"
        hub.notify()

    with appliance.events() as events:
        events.next_state()
        appliance.call_in_loop(lose)
        state = events.wait_for_state(lambda state: state["player"] is None)
        assert state["error"] == "MPD does not answer"


def test_a_run_by_another_process_is_reported_from_start_to_end(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    with serving(config) as appliance, appliance.events() as events:
        assert events.next_state()[1]["jobs"][0]["last"] is None
        command = [sys.executable, "-m", "pi_appliance", "jobs", "run", "hello", "--config", str(config)]
        subprocess.run(command, check=True, capture_output=True)
        state = events.wait_for_state(lambda state: state["jobs"][0]["last"] and state["jobs"][0]["last"]["outcome"])
        assert state["jobs"][0]["last"]["outcome"] == "succeeded"


def until_progress(events: Events, done: float) -> Any:
    """Return the active run once it has that progress."""
    state = events.wait_for_state(lambda state: (state["jobs"][0]["last"] or {}).get("progress") == done)
    return state["jobs"][0]["last"]


def test_the_progress_of_a_run_is_reported(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    with serving(config) as appliance, appliance.events() as events, Appliance.open(config) as other:
        with files.acquire_lock(other.lock_path("hello")) as lock:
            assert lock is not None
            run, _ = other.store.start_run(job="hello", kind="command", trigger=Trigger.CRON, due=None, now=clock.now())
            for done in (0.25, 0.5):
                lock.write_status(run, done, "counting")
                assert until_progress(events, done)["status_text"] == "counting"
        # Its process disappeared: the next check reports it.
        assert events.wait_for_state(lambda state: state["jobs"][0]["last"]["outcome"] == "abandoned")


def test_two_listeners_get_the_same_events(appliance: ServedAppliance) -> None:
    with appliance.events() as one, appliance.events() as two:
        appliance.call_in_loop(lambda: appliance.player.set_state(volume=12))
        for each in (one, two):
            assert each.wait_for_state(lambda state: state["player"]["volume"] == 12)


def test_after_a_time_without_listeners_events_are_live_again(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        events.next_state()
    appliance.wait_until(lambda: not appliance.daemon.hub.watchers)
    with appliance.events() as events:
        events.next_state()
        appliance.call_in_loop(lambda: appliance.player.set_state(volume=3))
        assert events.wait_for_state(lambda state: state["player"]["volume"] == 3)


def test_the_stream_is_not_buffered_by_proxies(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        assert events.answer.headers["content-type"].startswith("text/event-stream")
        assert events.answer.headers["cache-control"] == "no-store"
    assert appliance.request("/events", method="HEAD").status == 200


def test_a_page_gets_the_jobs_that_it_shows(tmp_path: Path) -> None:
    alarm = "  wake: {kind: music, schedule: '45 6 * * *', with: {action: alarm, play: [Groove]}}\n"
    with serving(configuration(tmp_path, jobs="".join(job(f"job-{n}", "") for n in range(55)) + alarm)) as appliance:
        for number in range(55):
            record(appliance, f"job-{number}", Outcome.SUCCEEDED, "good")
        record(appliance, "job-50", Outcome.FAILED, "bad")
        whole = appliance.request("/api/v1/state").json["jobs"]
        shown = "&".join(f"job=job-{number}" for number in range(24))
        sizes = {}
        for query, names in {
            "page=none": [],
            "page=none&job=job-7&job=no-such-job": ["job-7"],
            "page=music": ["job-50", "wake"],
            f"page=jobs&{shown}": [*(f"job-{number}" for number in range(24)), "job-50", "wake"],
        }.items():
            with appliance.events(f"/events?{query}") as events:
                jobs = events.next_state()[1]["jobs"]
            assert [each["job"] for each in jobs if "kind" in each] == names
            by_name = {each["job"]: each for each in whole}
            assert all(each.items() <= by_name[each["job"]].items() for each in [without_parts(each) for each in jobs])
            sizes[query[:9]] = len(json.dumps(jobs))
        assert [each["job"] for each in jobs] == [each["job"] for each in whole]  # as on the page
        assert sizes["page=musi"] < 1000
        assert sizes["page=jobs"] < 10_000
        assert len(json.dumps(whole)) > 25_000
        with appliance.events("/events?page=posts") as events:
            newest = {each["job"]: each["last"] for each in events.next_state()[1]["jobs"]}
            assert newest["job-50"] == {"id": 56, "outcome": "failed"}
            record(appliance, "job-3", Outcome.SUCCEEDED, "again")
            assert events.wait_for_state(lambda state: state["jobs"][3]["last"]["id"] == 57)


def without_parts(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ("last", "next")}
