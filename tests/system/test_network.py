"""Addresses of this machine and the watcher of their changes, with the real kernel."""

import asyncio
import ipaddress
import os
import shutil
import subprocess
import sys
import uuid

import pytest

from pi_appliance.system import network
from tests.fakes.usb_drive import needs_loop
from tests.installation import ROOT


def _can_make_links() -> bool:
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "mount"))):
        return False
    return subprocess.run(("unshare", "--net", "--mount", "true"), capture_output=True, check=False).returncode == 0


needs_links = pytest.mark.skipif(not _can_make_links(), reason="no network of its own can be made here")


def test_loopback_addresses_are_not_listed() -> None:
    result = network.local_addresses()
    assert len(result) == len(set(result))
    assert not any(ipaddress.ip_address(each).is_loopback for each in result)
    assert network.host_name()
    assert "." not in network.host_name()


@pytest.mark.parametrize(
    ("host", "reached", "only_here"),
    [
        ("0.0.0.0", ["10.0.0.7", "10.1.0.7"], False),  # noqa: S104 - nothing listens
        ("::", ["10.0.0.7", "10.1.0.7"], False),
        ("10.1.0.7", ["10.1.0.7"], False),
        ("10.9.9.9", [], False),
        ("127.0.0.1", [], True),
        ("::1", [], True),
        ("localhost", [], True),
    ],
)
def test_a_listener_is_reachable_at_its_addresses(host: str, reached: list[str], only_here: bool) -> None:
    assert network.public_addresses(host, lambda: ["10.0.0.7", "10.1.0.7"]) == reached
    assert network.is_loopback_only(host) == only_here


@needs_loop
def test_a_change_of_addresses_is_signalled() -> None:
    address = f"127.{uuid.uuid4().int % 200 + 20}.7.7/32"

    async def scenario() -> None:
        rung = asyncio.Event()
        alarm = network.AddressWatcher(rung.set)
        try:
            for verb in ("add", "del"):
                done = await asyncio.to_thread(
                    subprocess.run, ["ip", "address", verb, address, "dev", "lo"], check=False
                )
                if done.returncode:
                    pytest.skip("addresses cannot be changed here")
                async with asyncio.timeout(5):
                    await rung.wait()
                rung.clear()
        finally:
            alarm.close()
            alarm.close()

    asyncio.run(scenario())


@needs_links
def test_a_route_over_a_device_without_a_link_leads_nowhere() -> None:
    """One end of a virtual cable in its own network namespace. The other end is switched off and on."""
    program = f"""
import asyncio, subprocess, sys
sys.path.insert(0, {str(ROOT)!r})
from pi_appliance.system import network

def ip(line):
    subprocess.run(["ip", *line.split()], check=True)

async def main():
    changed = asyncio.Event()
    watcher = network.AddressWatcher(changed.set, with_links=True)
    for state in ("up", "down", "up"):
        ip(f"link set there {{state}}")
        links = None
        async with asyncio.timeout(20):
            while links != {{state == "up"}}:
                await changed.wait()
                changed.clear()
                links = {{network.has_link("here"), network.has_link("there")}}
        print(network.has_route())
    ip("link set here alias kitchen")  # the kernel reports it like a link, as it does each scan for Wi-Fi networks
    for _ in range(5):  # rounds in which the watcher reads the report
        await asyncio.sleep(0)
    print(changed.is_set())
    watcher.close()

ip("link add here type veth peer name there")
ip("link set here up")
ip("address add 10.9.0.1/24 dev here")
print(network.has_route(), network.has_link("none"))
ip("route add default via 10.9.0.2")
asyncio.run(main())
"""
    start = ("unshare", "--net", "--mount", "sh", "-c", 'mount -t sysfs none /sys && exec "$@"', "sh")
    done = subprocess.run(
        [*start, sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["False", "False", "True", "False", "True", "False"], done.stderr
