"""The web service: where it listens, when it refuses to, and how it ends."""

import asyncio
import contextlib
import http.client
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pi_appliance.app import WebService
from pi_appliance.errors import Refused
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock
from tests.installation import wait_until
from tests.web.served_appliance import ServedAppliance, configuration, serving, set_password


def test_it_reports_its_address_and_answers_there(appliance: ServedAppliance) -> None:
    assert appliance.message == f"page: http://127.0.0.1:{appliance.service.port}"
    assert appliance.request("/").status == 200


def test_health_is_public_and_shows_nothing_else(locked: ServedAppliance) -> None:
    answer = locked.request("/health")
    assert (answer.status, answer.json) == (200, {"ok": True})


def test_with_a_short_password_only_this_machine_is_accepted(tmp_path: Path) -> None:
    config = configuration(tmp_path, web="host: 0.0.0.0, port: 0")
    set_password(config, "sesame7")
    with (
        pytest.raises(Refused, match=r"at least 8 characters: write WEB_PASSWORD=… into .*") as error,
        serving(config),
    ):
        pass
    assert "\n" not in str(error.value)
    assert "sesame7" not in str(error.value)
    with serving(configuration(tmp_path)) as appliance:
        assert appliance.request("/").status == 303


@pytest.mark.parametrize("password", ["open sesame", "sesame78"])
def test_with_a_password_the_network_is_accepted(tmp_path: Path, password: str) -> None:
    config = configuration(tmp_path, web="host: 0.0.0.0, port: 0")
    set_password(config, password)
    with serving(config) as appliance:
        assert appliance.message == f"page: http://{socket.gethostname()}.local:{appliance.service.port}"
        assert appliance.request("/").status == 303


@pytest.mark.parametrize(
    "data", [b"", b"GET / HTTP/1.1\r\nHost: loc", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nG"]
)
def test_silent_or_incomplete_requests_are_closed(tmp_path: Path, data: bytes) -> None:
    with serving(configuration(tmp_path), idle_timeout=0.3) as appliance, appliance.events() as events:
        events.next_state()
        with socket.create_connection(("127.0.0.1", appliance.service.port), timeout=10) as line:
            line.sendall(data)
            while line.recv(65_536):
                pass
        appliance.call_in_loop(lambda: appliance.player.changed("mixer", volume=41))
        assert events.wait_for_state(lambda state: state["player"]["volume"] == 41), (
            "who listens may be silent for longer"
        )


def test_localhost_by_name_needs_no_password(tmp_path: Path) -> None:
    with serving(configuration(tmp_path, web="host: localhost, port: 0")) as appliance:
        assert appliance.request("/health").status == 200


def test_an_address_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        config = configuration(tmp_path, web=f"host: 127.0.0.1, port: {port}")
        with (
            pytest.raises(
                Refused, match=f"127.0.0.1:{port}: another program listens there; if that is .*`port` under `web:`"
            ),
            serving(config),
        ):
            pass


@pytest.mark.parametrize(
    ("host", "why"), [("192.0.2.1", "does not have that address"), ("no-such-host.invalid", "check `host` and `port`")]
)
def test_an_unavailable_address_is_reported(tmp_path: Path, host: str, why: str) -> None:
    config = configuration(tmp_path, web=f"host: {host}, port: 0")
    set_password(config, "open sesame")
    with pytest.raises(Refused, match=why), serving(config):
        pass


def test_signal_handlers_of_the_daemon_stay(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with serving(configuration(tmp_path)):
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_it_ends_at_once_with_open_event_streams(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        appliance = stack.enter_context(serving(configuration(tmp_path)))
        streams = [stack.enter_context(appliance.events()) for _ in range(3)]
        for each in streams:
            each.next_state()
        begun = time.monotonic()
        appliance.call_in_loop(appliance.stop_event.set)
        for each in streams:
            with pytest.raises(EOFError):
                each.wait_for_state(lambda _: False)
        assert time.monotonic() - begun < 1


def test_an_unfinished_request_does_not_delay_the_end(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        appliance = stack.enter_context(serving(configuration(tmp_path)))
        line = stack.enter_context(socket.create_connection(("127.0.0.1", appliance.service.port)))
        line.sendall(b"POST /player/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx")
        assert appliance.request("/health").status == 200  # so the other one has been read as well
        begun = time.monotonic()
        appliance.call_in_loop(appliance.stop_event.set)
        appliance.thread.join(10)
        assert time.monotonic() - begun < 2


@contextlib.contextmanager
def restarted(appliance: ServedAppliance) -> Iterator[None]:
    """Replace the page by another one during the block, like a change of the configuration."""
    service = WebService(monotonic=appliance.ticks, environment={})

    async def restart() -> str:
        await appliance.service.stop()
        return await service.start(appliance.daemon)

    assert asyncio.run_coroutine_threadsafe(restart(), appliance.loop).result(10) == appliance.message
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(service.stop(), appliance.loop).result(10)


def test_a_request_under_way_is_answered_while_the_page_restarts(tmp_path: Path) -> None:

    def finish(store: Store) -> None:
        (request,), now = store.requests.pending(), clock.now()
        run, _ = store.start_run(job=request.job, kind="music", trigger=Trigger.MANUAL, due=request.slot_name, now=now)
        store.finish_run(run, Outcome.SUCCEEDED, "it was heard", now=now)

    jobs = "  announce: {kind: music, with: {action: announce}}\n"
    with serving(configuration(tmp_path, jobs=jobs)) as appliance, ThreadPoolExecutor(1) as others:
        store = appliance.daemon.appliance.store
        answer = others.submit(appliance.request, "/api/v1/announce", {"source": "chime", "wait": 9})
        wait_until(store.requests.pending)
        with restarted(appliance):
            assert appliance.request("/health").status == 200
            assert not answer.done()
            appliance.call_in_loop(lambda: finish(store))
            assert answer.result(10).json["summary"] == "it was heard"


def test_an_idle_connection_may_send_one_more_request_after_the_page_has_restarted(tmp_path: Path) -> None:
    with serving(configuration(tmp_path)) as appliance:
        line = http.client.HTTPConnection("127.0.0.1", appliance.service.port, timeout=10)
        with contextlib.closing(line):
            line.request("GET", "/health")
            assert line.getresponse().read()
            with restarted(appliance):
                line.request("GET", "/health")
                answer = line.getresponse()
                assert (answer.status, answer.headers["Connection"]) == (200, "close")


def test_without_listeners_the_page_does_no_work(appliance: ServedAppliance) -> None:
    with appliance.events() as events:
        events.next_state()
        wait_until(lambda: appliance.daemon.hub.watchers)  # the first event may be there before the watcher is
    appliance.call_in_loop(lambda: None)
    assert appliance.wait_until(lambda: not appliance.daemon.hub.watchers)
