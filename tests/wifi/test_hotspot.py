"""The hot spot: when it opens and closes, with a fake nmcli and simulated kernel state."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.config.loader import load_config
from pi_appliance.system.network import AddressWatcher
from pi_appliance.wifi.hotspot import ADDRESS, Surroundings, Timing
from pi_appliance.wifi.joining import WifiService
from pi_appliance.wifi.network_manager import NetworkManager
from tests.fakes.nmcli import HOME, World

PASSWORD = "of the hot spot"
AT_ONCE = Timing(patience=0.02, interval=0.1, settle=0.3, probe=0.01)
LATER = Timing(patience=0.02, interval=60.0, settle=60.0, probe=0.01)


class Machine:
    """A machine with one Wi-Fi device."""

    def __init__(self, folder: Path, hotspot: str = "hotspot: {name: Kitchen}", **world: Any) -> None:
        self.world = World(folder / "bin", **world)
        self.file = folder / "appliance.yaml"
        self.write(hotspot)
        secrets = folder / "secrets.env"
        secrets.write_text(f"HOTSPOT_PASSWORD={PASSWORD}\n")
        secrets.chmod(0o600)
        self.neighbours: Sequence[str] = ()
        self.has_link = True
        self.messages: list[str] = []
        self.report_change: Callable[[], None] = lambda: None

    def write(self, hotspot: str) -> None:
        self.file.write_text(f"state-dir: state\nweb: {{host: 0.0.0.0}}\n{hotspot}\njobs: {{}}\n")

    @property
    def is_open(self) -> bool:
        active = self.world["active"]  # read once: nmcli may change it meanwhile
        return self.world["profiles"].get(active, {}).get("mode") == "ap"

    @contextlib.asynccontextmanager
    async def running(self, timing: Timing = AT_ONCE) -> AsyncIterator[WifiService]:
        around = Surroundings(
            lambda: ["192.0.2.7", ADDRESS] if self.is_open else [],
            lambda: bool(self.world["active"]) and not self.is_open and self.has_link,
            lambda: self.neighbours,
            lambda _: self.has_link,
            self._watch,
        )
        manager = NetworkManager(self.world.environment)
        service = WifiService(lambda: load_config(self.file), self.messages.append, manager, around, timing)
        task = asyncio.create_task(service.run())
        try:
            yield service
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _watch(self, on_change: Callable[[], None]) -> AddressWatcher:
        self.report_change = on_change
        return AddressWatcher(on_change, with_links=True)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until `holds` returns a true value."""
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0.02)


async def settle() -> None:
    """Run the immediate tasks of the service."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("hotspot", "is_online"), [("", False), ("hotspot: {}", True)], ids=["not wanted", "online"])
def test_it_starts_no_program_while_it_is_not_needed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, hotspot: str, is_online: bool
) -> None:
    machine = Machine(tmp_path, hotspot)
    (tmp_path / "bin/nmcli").unlink()  # to start it would be an error
    if is_online:
        machine.world.connect("Home")

    async def live() -> None:
        async with machine.running(Timing(patience=0.0)) as service:
            await settle()
            service.hotspot.wake()
            await settle()

    asyncio.run(live())
    assert caplog.messages == []


def test_without_a_network_it_opens_with_its_password(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    async def live() -> None:
        async with machine.running(LATER) as service:
            await machine.until(lambda: machine.is_open)
            assert [each.ssid for each in await service.list_networks()] == ["Home"], "as they were before"

    asyncio.run(live())
    (profile,) = machine.world["profiles"].values()
    assert (profile["ssid"], profile["psk"], profile["saved"], profile["autoconnect"]) == (
        "Kitchen",
        PASSWORD,
        "no",
        "no",
    )
    assert (
        profile["values"].items()
        >= {
            "wifi.mode": "ap",
            "ipv4.method": "shared",
            "ipv4.addresses": f"{ADDRESS}/24",
            "wifi-sec.key-mgmt": "wpa-psk",
        }.items()
    )
    assert PASSWORD not in json.dumps(machine.world["calls"])
    assert machine.messages == [f"there is no network, so the hot spot Kitchen is open: http://{ADDRESS}:8080"]


def test_it_closes_when_a_known_network_is_back(tmp_path: Path) -> None:
    machine = Machine(tmp_path, networks=[])
    machine.world.connect("Home")
    machine.world.change(active="", device="disconnected")

    async def live() -> None:
        async with machine.running():
            await machine.until(lambda: machine.is_open)
            await machine.until(lambda: len(machine.messages) >= 3)  # it searched, and opened again
            machine.world.change(networks=[HOME])
            await machine.until(lambda: machine.world.active_ssid == "Home")
            await machine.until(lambda: machine.messages[-1] == "the hot spot Kitchen is closed")

    asyncio.run(live())
    assert [each["ssid"] for each in machine.world["profiles"].values()] == ["Home"]


def test_it_opens_although_network_manager_does_not_see_that_the_access_point_has_gone(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.world.connect("Home")
    machine.has_link = False

    async def live() -> None:
        async with machine.running(LATER):
            await machine.until(lambda: machine.is_open)

    asyncio.run(live())


def test_it_does_not_open_beside_the_modem_of_a_phone(tmp_path: Path) -> None:
    machine = Machine(tmp_path, modems=[["AA:BB:CC:00:11:22", "bt", "connected"]])
    machine.has_link = False  # the kernel knows no device of that name

    async def live() -> None:
        async with machine.running(LATER) as service:
            await machine.until(lambda: machine.world["calls"])
            await machine.until(lambda: not service.hotspot.lock.locked())

    asyncio.run(live())
    assert machine.world["profiles"] == {}


def test_it_stays_open_while_a_phone_is_connected(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.world.connect("Home")
    machine.world.change(active="", device="disconnected")
    machine.neighbours = ["10.42.0.57"]

    async def live() -> None:
        async with machine.running():
            await machine.until(lambda: machine.is_open)
            looks = len(machine.world["calls"])
            await machine.until(lambda: len(machine.world["calls"]) >= looks + 4)
            assert machine.is_open
            machine.neighbours = ["192.168.1.1"]  # of another network
            await machine.until(lambda: machine.world.active_ssid == "Home")

    asyncio.run(live())


def test_it_does_not_close_because_its_own_address_appears(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.world.connect("Home")
    machine.world.change(active="", device="disconnected")

    async def live() -> None:
        async with machine.running(LATER) as service:
            await machine.until(lambda: machine.messages)
            calls = machine.world["calls"]
            service.hotspot.wake()
            await settle()
            async with service.hotspot.lock:  # a check would hold it
                assert machine.world["calls"] == calls
            assert machine.is_open

    asyncio.run(live())


def test_it_never_opens_without_a_good_password(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(tmp_path)
    secrets = tmp_path / "secrets.env"
    secrets.write_text("HOTSPOT_PASSWORD=short\n")

    async def live() -> None:
        async with machine.running():
            await machine.until(lambda: caplog.messages)
            assert machine.world["profiles"] == {}
            secrets.write_text("")
            await machine.until(lambda: machine.is_open)

    with caplog.at_level(logging.WARNING):
        asyncio.run(live())
    assert caplog.messages == [
        "the hot spot cannot be used: write HOTSPOT_PASSWORD=… into secrets.env;"
        " it has 8 to 63 characters: letters, digits and signs"
    ]
    made_up = secrets.read_text().strip().removeprefix("HOTSPOT_PASSWORD=")
    assert len(made_up) == 14
    assert machine.world["profiles"][machine.world["active"]]["psk"] == made_up


def test_it_does_not_open_for_a_page_that_no_phone_reaches(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(tmp_path)
    machine.file.write_text("state-dir: state\nhotspot: {}\njobs: {}\n")

    async def live() -> None:
        async with machine.running():
            await machine.until(lambda: caplog.messages)

    asyncio.run(live())
    assert "the page listens on 127.0.0.1, so no phone reaches it" in caplog.text
    assert machine.world["profiles"] == {}


def test_it_names_the_package_that_a_hot_spot_needs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(tmp_path, has_dnsmasq=False)

    async def live() -> None:
        async with machine.running(LATER) as service:
            await machine.until(lambda: caplog.messages)
            machine.report_change()  # a failed attempt may change a link
            await settle()
            assert not service.hotspot.lock.locked(), "it tries again later"
            machine.world.change(has_dnsmasq=True)
            service.hotspot.wake()  # as after a change by the owner
            await machine.until(lambda: machine.is_open)

    asyncio.run(live())
    assert "sudo apt install dnsmasq-base" in caplog.text


def test_the_owner_joins_a_network_over_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    async def live() -> None:
        async with machine.running(LATER) as service:
            await machine.until(lambda: machine.is_open)
            await (await service.start_joining("Home", "wrong and long", hidden=False))
            assert service.last is not None
            assert service.last.message.endswith("; the hot spot is open again")
            assert machine.is_open
            await (await service.start_joining("Home", "correct horse", hidden=False))
            assert service.last.message == "Home is joined"
            await settle()

    asyncio.run(live())
    assert machine.world.active_ssid == "Home"


def test_it_closes_when_the_owner_does_without_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    async def live() -> None:
        async with machine.running(LATER) as service:
            await machine.until(lambda: machine.is_open)
            machine.write("")
            service.hotspot.wake()
            await machine.until(lambda: not machine.is_open)

    asyncio.run(live())
