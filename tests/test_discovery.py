"""Discovery by multicast DNS over loopback, as a phone would over Wi-Fi."""

import asyncio
import contextlib
import gc
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from pi_appliance.config.options import Config, MpdProxy, Web
from pi_appliance.discovery import DiscoveryService, reachable_services

KINDS = ["_http._tcp.local.", "_mpd._tcp.local."]
LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - only over loopback


def config(host: str = EVERYWHERE, mpd_host: str = EVERYWHERE, *, discovery: bool = True) -> Any:
    return Config(
        state_dir=Path("/nowhere"),
        web=Web(host=host, port=8080),
        mpd_proxy=MpdProxy(host=mpd_host, port=6601),
        discovery=discovery,
    )


@dataclass
class Phone:
    """A browser for services."""

    zeroconf: AsyncZeroconf
    heard: list[tuple[ServiceStateChange, str]] = field(default_factory=list)

    def record_change(self, *, name: str, state_change: ServiceStateChange, **_: object) -> None:
        self.heard.append((state_change, name))

    async def until(self, change: ServiceStateChange, *names: str) -> None:
        async with asyncio.timeout(15):
            while not {(change, name) for name in names} <= set(self.heard):
                await asyncio.sleep(0.01)

    async def knows(self, kind: str, name: str) -> AsyncServiceInfo:
        info = await self.zeroconf.async_get_service_info(kind, f"{name}.{kind}", 5000)
        assert info is not None
        return info


@contextlib.asynccontextmanager
async def phone() -> AsyncIterator[Phone]:
    async with AsyncZeroconf(interfaces=[LOOPBACK], ip_version=IPVersion.V4Only) as zeroconf:
        result = Phone(zeroconf)
        browser = AsyncServiceBrowser(zeroconf.zeroconf, KINDS, handlers=[result.record_change])
        try:
            yield result
        finally:
            await browser.async_cancel()


@contextlib.asynccontextmanager
async def announced(
    name: str, settings: Config, own: Callable[[], list[str]] = lambda: [LOOPBACK]
) -> AsyncIterator[DiscoveryService]:
    service = DiscoveryService(own, name, settle=0)
    daemon: Any = SimpleNamespace(appliance=SimpleNamespace(config=settings))
    assert await service.start(daemon) == ""
    try:
        yield service
    finally:
        await service.stop()


@pytest.fixture
def name() -> str:
    """Return an unused service name."""
    return f"pi-{uuid.uuid4().hex[:8]}"


def test_a_phone_finds_the_page_and_the_mpd_proxy_and_their_end(name: str) -> None:
    async def scenario() -> None:
        async with phone() as result:
            both = [f"{name}.{kind}" for kind in KINDS]
            async with announced(name, config()):
                await result.until(ServiceStateChange.Added, *both)
                page, mpd = [await result.knows(kind, name) for kind in KINDS]
                assert (page.port, page.server, page.parsed_addresses()) == (
                    8080,
                    f"{name}-appliance.local.",
                    [LOOPBACK],
                )
                assert page.decoded_properties == {"path": "/"}
                assert (mpd.port, mpd.decoded_properties) == (6601, {})
            await result.until(ServiceStateChange.Removed, *both)

    asyncio.run(scenario())


def test_it_is_announced_under_the_name_of_the_file(name: str) -> None:
    async def scenario() -> None:
        async with phone() as result, announced(name, replace(config(), name=f"{name} 2.0")):
            await result.until(ServiceStateChange.Added, *(f"{name} 2 0.{kind}" for kind in KINDS))

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_name_in_use_gets_a_number(name: str) -> None:
    async def scenario() -> None:
        async with phone() as result, announced(name, config()) as first:
            await result.until(ServiceStateChange.Added, f"{name}.{KINDS[1]}")
            async with announced(name, config()) as second:
                await result.until(ServiceStateChange.Added, f"{name}-2.{KINDS[0]}", f"{name}-2.{KINDS[1]}")
                async with asyncio.timeout(15):
                    while not (first.known_as and second.known_as):
                        await asyncio.sleep(0.01)
                assert (first.known_as, second.known_as) == ([name] * 2, [f"{name}-2"] * 2)

    asyncio.run(scenario())


def test_loopback_services_are_not_announced(name: str) -> None:
    assert reachable_services(config(LOOPBACK, "::1"), lambda: ["10.0.0.7"]) == ((), {})
    assert reachable_services(config("10.0.0.7", LOOPBACK), lambda: ["10.0.0.7", "10.1.0.7"]) == (
        ("10.0.0.7",),
        {"_http._tcp": 8080},
    )
    assert reachable_services(config("::", LOOPBACK), lambda: ["10.0.0.7"]) == (("10.0.0.7",), {"_http._tcp": 8080})

    async def scenario() -> None:
        asked: list[int] = []
        for settings in (config(LOOPBACK, LOOPBACK), config(discovery=False)):
            async with announced(name, settings, lambda: asked.append(1) or []):
                await asyncio.sleep(0)
        assert asked == []

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_machine_without_a_network_is_announced_later(name: str) -> None:
    own: list[str] = []

    async def scenario() -> None:
        async with phone() as result, announced(name, config(mpd_host=LOOPBACK), lambda: list(own)) as service:
            service.check_addresses()
            own.append(LOOPBACK)
            service.check_addresses()
            await result.until(ServiceStateChange.Added, f"{name}.{KINDS[0]}")
            own.clear()
            service.check_addresses()
            await result.until(ServiceStateChange.Removed, f"{name}.{KINDS[0]}")
            own.append(LOOPBACK)
            result.heard.clear()
            service.check_addresses()
            await result.until(ServiceStateChange.Added, f"{name}.{KINDS[0]}")

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # zeroconf drops a socket then
def test_an_unusable_address_is_reported_once_and_ends_nothing(name: str, caplog: pytest.LogCaptureFixture) -> None:
    own = ["203.0.113.9"]

    async def scenario() -> None:
        async with phone() as result, announced(name, config(mpd_host=LOOPBACK), lambda: list(own)) as service:
            async with asyncio.timeout(15):
                while "could not be announced" not in caplog.text:
                    await asyncio.sleep(0.01)
            own[:] = [LOOPBACK]
            service.check_addresses()
            await result.until(ServiceStateChange.Added, f"{name}.{KINDS[0]}")

    asyncio.run(scenario())
    gc.collect()


def test_the_daemon_starts_without_zeroconf(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pi_appliance.discovery.find_spec", lambda _: None)

    async def scenario() -> None:
        async with announced(name, config()) as service:
            assert service.known_as == []

    asyncio.run(scenario())
