"""Monitoring: /metrics as parsed by Prometheus, and /health."""

import base64
import math
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from pi_appliance import __version__
from pi_appliance.diagnostics.metrics import MetricValues, render_metrics
from pi_appliance.storage.history import Total
from pi_appliance.storage.model import Outcome
from tests.web.served_appliance import Response, ServedAppliance, configuration, job, serving
from tests.web.test_sign_in import sign_in

Key = tuple[str, frozenset[tuple[str, str]]]


def parsed(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def samples(text: str) -> dict[Key, float]:
    """Return every sample by its name without prefix and its labels."""
    return {
        (each.name.removeprefix("pi_appliance_"), frozenset(each.labels.items())): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def key(name: str, **labels: str) -> Key:
    return name, frozenset(labels.items())


# --- the text ---------------------------------------------------------------------------------------------------------

FULL = MetricValues(
    version='0.1 "beta"\\\n',
    totals=[
        Total("greet", Outcome.SUCCEEDED, 3, 1.5, 0.25),
        Total("greet", Outcome.FAILED, 1, 0.5, 0.25),
        Total("greet", Outcome.SKIPPED, 7, 0.0, 0.0),
    ],
    ended={("greet", Outcome.SUCCEEDED): 1_700_000_000.25, ("greet", Outcome.FAILED): 1_600_000_000.0},
    next_slots={"greet": 1_800_000_000.0},
    failing={"greet": False, "post": True},
    paused={"greet": True, "post": False},
    active=2,
    waiting=1,
    pending_notifications=4,
    clock_state="stepped",
    clock_steps=5,
    temperature=51.54,
    throttled=False,
    under_voltage=True,
    written=123_456_789_012,
    memory=30_000_000,
    free=math.inf,
    started=1_750_000_000.5,
)


def test_prometheus_parses_each_value() -> None:
    result = samples(render_metrics(FULL))
    assert result == {
        key("info", version='0.1 "beta"\\\n'): 1,
        key("runs_total", job="greet", outcome="succeeded"): 3,
        key("runs_total", job="greet", outcome="failed"): 1,
        key("runs_total", job="greet", outcome="skipped"): 7,
        key("run_seconds_sum", job="greet"): 2.0,
        key("run_seconds_count", job="greet"): 4,
        key("late_seconds_sum", job="greet"): 0.5,
        key("late_seconds_count", job="greet"): 4,
        key("last_run_timestamp_seconds", job="greet", outcome="succeeded"): 1_700_000_000.25,
        key("last_run_timestamp_seconds", job="greet", outcome="failed"): 1_600_000_000.0,
        key("last_success_timestamp_seconds", job="greet"): 1_700_000_000.25,
        key("next_slot_timestamp_seconds", job="greet"): 1_800_000_000.0,
        key("job_failing", job="greet"): 0,
        key("job_failing", job="post"): 1,
        key("job_paused", job="greet"): 1,
        key("job_paused", job="post"): 0,
        key("runs_active"): 2,
        key("slots_waiting"): 1,
        key("notifications_pending"): 4,
        key("clock_trusted"): 1,
        key("clock_state", state="untrusted"): 0,
        key("clock_state", state="trusted"): 0,
        key("clock_state", state="stepped"): 1,
        key("clock_steps_total"): 5,
        key("temperature_celsius"): 51.54,
        key("throttled"): 0,
        key("under_voltage"): 1,
        key("written_bytes_total"): 123_456_789_012,
        key("resident_memory_bytes"): 30_000_000,
        key("state_free_bytes"): math.inf,
        key("start_time_seconds"): 1_750_000_000.5,
    }


def test_each_family_has_a_type_and_a_help_text() -> None:
    families = parsed(render_metrics(FULL))
    kinds = {name.removeprefix("pi_appliance_"): family.type for name, family in families.items()}
    assert {name for name, kind in kinds.items() if kind == "counter"} == {"runs", "clock_steps", "written_bytes"}
    assert {name for name, kind in kinds.items() if kind == "summary"} == {"run_seconds", "late_seconds"}
    assert set(kinds.values()) == {"counter", "summary", "gauge"}
    assert all(family.documentation for family in families.values())


def test_unknown_values_are_omitted() -> None:
    names = {name for name, _ in samples(render_metrics(MetricValues(version="1")))}
    assert not names & {"temperature_celsius", "throttled", "under_voltage", "written_bytes_total", "runs_total"}
    assert samples(render_metrics(MetricValues(version="1", clock_state="untrusted")))[key("clock_trusted")] == 0


# --- over the line ----------------------------------------------------------------------------------------------------


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[ServedAppliance]:
    until_there = (
        f"import pathlib, time\nwhile not pathlib.Path({str(tmp_path / 'enough')!r}).exists(): time.sleep(0.02)"
    )
    jobs = (
        job("good", "pass", "    schedule: '0 6 * * *'\n")
        + job("bad", "raise SystemExit(3)")
        + job("slow", until_there, "    schedule: every 10m\n")
    )
    with serving(configuration(tmp_path, jobs=jobs)) as appliance:
        yield appliance


def run_to_the_end(appliance: ServedAppliance, name: str) -> None:
    assert appliance.request(f"/api/v1/jobs/{name}/run", {}).status == 202
    appliance.wait_until(lambda: [run for run in appliance.request(f"/api/v1/runs?job={name}").json if run["outcome"]])


def test_runs_are_counted_and_failing_jobs_shown(busy: ServedAppliance) -> None:
    begun = time.time()
    run_to_the_end(busy, "good")
    run_to_the_end(busy, "bad")
    answer = busy.request("/metrics")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    result = samples(answer.text)
    assert result[key("info", version=__version__)] == 1
    assert result[key("runs_total", job="good", outcome="succeeded")] == 1
    assert result[key("runs_total", job="bad", outcome="failed")] == 1
    assert (result[key("job_failing", job="good")], result[key("job_failing", job="bad")]) == (0, 1)
    assert 0 < result[key("run_seconds_sum", job="good")] < 60
    assert begun - 1 <= result[key("last_success_timestamp_seconds", job="good")] <= time.time()
    assert key("last_success_timestamp_seconds", job="bad") not in result
    assert result[key("next_slot_timestamp_seconds", job="good")] % 3600 == 0
    assert result[key("next_slot_timestamp_seconds", job="slow")] % 600 == 0
    assert key("next_slot_timestamp_seconds", job="bad") not in result
    assert result[key("state_free_bytes")] > 0
    assert 1_000_000 < result[key("resident_memory_bytes")] < 2_000_000_000
    assert result[key("written_bytes_total")] >= 0
    assert begun - 86_400 < result[key("start_time_seconds")] <= time.time() + 2


def test_running_paused_and_waiting_jobs_are_shown(busy: ServedAppliance, tmp_path: Path) -> None:
    before = samples(busy.request("/metrics").text)
    assert [before[key(name)] for name in ("runs_active", "slots_waiting", "notifications_pending")] == [0, 0, 0]
    assert busy.request("/api/v1/jobs/slow/run", {}).status == 202
    busy.wait_until(lambda: samples(busy.request("/metrics").text)[key("runs_active")] == 1)
    history = busy.daemon.appliance.config.state_dir / "history.db"
    with sqlite3.connect(history) as db:
        db.execute("INSERT INTO job_pauses (job, since) VALUES ('slow', '2026-01-01T00:00:00.000Z')")
        db.execute(
            "INSERT INTO outbox (job, run, notifier, event, title, body, created_at, next_attempt_at) VALUES"
            " ('bad', 1, 'mail', 'failure', '', '', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')"
        )
    db.close()
    rounds = busy.daemon.scheduler
    rounds.waiting, rounds.clock_state, rounds.steps = 2, "untrusted", 3
    result = samples(busy.request("/metrics").text)
    assert (result[key("job_paused", job="slow")], result[key("job_paused", job="good")]) == (1, 0)
    assert (result[key("slots_waiting")], result[key("notifications_pending")]) == (2, 1)
    assert (result[key("clock_trusted")], result[key("clock_state", state="untrusted")]) == (0, 1)
    assert result[key("clock_steps_total")] == 3
    (tmp_path / "enough").touch()
    busy.wait_until(lambda: samples(busy.request("/metrics").text)[key("runs_active")] == 0)


def basic(password: str, user: str = "prometheus") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_an_anonymous_request_is_refused_with_instructions(locked: ServedAppliance) -> None:
    answer = locked.request("/metrics")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="pi-appliance", charset="UTF-8"')
    assert "pi_appliance_" not in answer.text


@pytest.mark.parametrize("user", ["prometheus", "", "anybody"])
def test_the_password_is_accepted_with_any_user_name(locked: ServedAppliance, user: str) -> None:
    assert locked.request("/metrics", Authorization=basic("open sesame", user)).status == 200


def test_a_bearer_token_and_a_session_are_accepted(locked: ServedAppliance) -> None:
    assert locked.request("/metrics", Authorization="Bearer open sesame").status == 200
    sign_in(locked, "open sesame")
    assert locked.request("/metrics").status == 200


@pytest.mark.parametrize("path", ["/", "/api/v1/state", "/events"])
def test_http_basic_opens_no_other_page(locked: ServedAppliance, path: str) -> None:
    assert locked.request(path, Authorization=basic("open sesame")).status in (303, 401)


@pytest.mark.parametrize("header", ["Basic", "Basic !!!", "Basic b3BlbiBzZXNhbWU=", "Basic /w==", basic("")])
def test_a_malformed_password_is_a_wrong_password(locked: ServedAppliance, header: str) -> None:
    assert locked.request("/metrics", Authorization=header).status == 401


def test_wrong_passwords_of_scrapers_are_delayed_too(locked: ServedAppliance) -> None:
    def ask(password: str) -> Response:
        return locked.request("/metrics", Authorization=basic(password))

    assert [ask("guess").status for _ in range(3)] == [401, 401, 401]
    assert ask("open sesame").status == 429
    assert locked.request("/api/v1/state", Authorization="Bearer open sesame").status == 429
    locked.ticks.now += 2
    assert ask("open sesame").status == 200


def test_metrics_are_read_only(appliance: ServedAppliance) -> None:
    assert appliance.request("/metrics", {}).status == 405


# --- health -----------------------------------------------------------------------------------------------------------


def test_health_is_ok_while_the_scheduler_works(locked: ServedAppliance) -> None:
    locked.ticks.now = locked.daemon.scheduler.last_tick + 179
    answer = locked.request("/health")
    assert (answer.status, answer.json) == (200, {"ok": True})


def test_health_fails_if_the_scheduler_is_silent_for_three_minutes(locked: ServedAppliance) -> None:
    locked.ticks.now = locked.daemon.scheduler.last_tick + 180
    answer = locked.request("/health")
    assert answer.status == 503
    assert answer.json == {"ok": False, "why": "the scheduler has not looked at the clock for 180 seconds"}


def test_health_fails_without_naming_a_path_if_the_history_is_unreadable(appliance: ServedAppliance) -> None:
    appliance.call_in_loop(appliance.daemon.appliance.store._db.close)
    answer = appliance.request("/health")
    assert (answer.status, answer.json["ok"]) == (503, False)
    assert "the history cannot be read" in answer.json["why"]
    assert str(appliance.daemon.appliance.config.state_dir) not in answer.text


def test_a_head_request_is_answered_too(appliance: ServedAppliance) -> None:
    assert appliance.request("/health", method="HEAD").status == 200
    assert appliance.request("/metrics", method="HEAD").body == b""
