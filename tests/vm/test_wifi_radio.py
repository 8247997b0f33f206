"""Wi-Fi by radio: the real NetworkManager, wpa_supplicant and kernel, and simulated radios, on an emulated computer.

`pytest -rA` shows how long each step took.
"""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm import life
from tests.vm.container import Container, do
from tests.vm.emulator import Emulator, new_system, why_not, write_disk
from tests.vm.radios import PACKAGES, Street
from tests.vm.releases import timed, write_release

HOME, PASSWORD = "Home", r"a b\c: 'd'$"
CAFE = r"Café: \o/ & <b>"
HOTSPOT, HOTSPOT_PASSWORD = "Kitchen set-up", "of the hot spot"
CONFIGURATION = """\
name: Kitchen
state-dir: /var/lib/pi-appliance
clock: {max-wait-for-sync: 0s}
web: {host: 0.0.0.0, port: 8080}
jobs: {}
"""
OWNER = {"Authorization": "Bearer open sesame"}
SIGNED_IN = ("--header", "Authorization: Bearer open sesame")
# The test reaches the computer over a cable, which must not count as a network of the appliance.
CABLE = "[keyfile]\nunmanaged-devices=interface-name:en*\n"
# An emulated processor on a busy machine can take minutes for seconds of a Raspberry Pi.
SLOW = "[Service]\nTimeoutStartSec=15min\n"
_OTHER_NETWORKS = ("NetworkManager", "wpa_supplicant")


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Emulator]:
    """Yield an emulated computer that is switched off, with NetworkManager and the installed package of this clone."""
    if why := why_not():
        pytest.skip(f"no emulated computer: {why}")
    source = tmp_path / "source"
    source.mkdir()
    write_release(source, "0.1.0")
    root = new_system("bookworm", tmp_path / "root", PACKAGES)
    # A container is ten times as fast. It has the network and the ports of this machine, so nothing is started in it.
    do("systemctl", f"--root={root}", "mask", *_OTHER_NETWORKS)
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    builder = Container(root, source)
    try:
        with timed("build and installation of the package"):
            builder.boot()
            builder.run("tar", "xzf", "/srv/pi-appliance-0.1.0.tar.gz", "-C", "/root")
            builder.run("sh", "/root/pi-appliance-0.1.0/deploy/deb.sh")
            install = "apt-get -qq install -y --no-install-recommends /root/pi-appliance-0.1.0/dist/*.deb"
            builder.run("sh", "-c", install)
            builder.write(life.YAML, CONFIGURATION)
            builder.write(life.SECRETS, "WEB_PASSWORD=open sesame\n")
            builder.shut_down()
        policy.unlink()
        do("systemctl", f"--root={root}", "unmask", *_OTHER_NETWORKS)
        (root / "etc/NetworkManager/conf.d/cable.conf").write_text(CABLE)
        slow = root / "etc/systemd/system/pi-appliance.service.d/slow.conf"
        slow.parent.mkdir()
        slow.write_text(SLOW)
        emulator = Emulator(write_disk(root, tmp_path / "disk"), tmp_path / "emulator")
    finally:
        builder.remove()
    yield emulator
    emulator.remove()


@pytest.mark.slow
@pytest.mark.timeout(7200)  # about half an hour, on a machine that does little else
def test_the_owner_finds_a_network_by_radio_and_over_the_hot_spot(emulator: Emulator) -> None:
    with timed("first boot of Debian"):
        emulator.boot()
    emulator.run("sh", "-c", "ip route del default || true")
    emulator.wait_for_page()
    street = Street(emulator)
    street.open(1, HOME, PASSWORD)
    street.open(2, CAFE)
    _see(emulator)
    _join(emulator, street)
    _open_hotspot(emulator, street)
    _join_over_hotspot(emulator, street)
    _come_back(emulator, street)


def _get(emulator: Emulator, path: str) -> str:
    """Return a page as the owner gets it over the cable."""
    request = urllib.request.Request(f"http://127.0.0.1:{emulator.port}{path}", headers=OWNER)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return str(answer.read(), "utf-8")


def _wifi(emulator: Emulator) -> Any:
    return json.loads(_get(emulator, "/api/v1/system/wifi"))


def _known(emulator: Emulator) -> set[str]:
    return {each["ssid"] for each in _wifi(emulator)["networks"] if each["known"]}


def _see(emulator: Emulator) -> None:
    """See both networks, in the terminal and on the page."""
    with timed("two access points are switched on, until both are listed"):
        _wait(emulator, lambda: len(json.loads(_get(emulator, "/api/v1/system/wifi?scan=true"))["networks"]) == 2)
    networks = {each["ssid"]: each for each in _wifi(emulator)["networks"]}
    assert {name: each["security"] for name, each in networks.items()} == {HOME: "password", CAFE: "open"}
    assert all(50 < each["signal"] <= 100 and not each["known"] for each in networks.values()), networks
    rows = emulator.appliance("system", "wifi", "list")[1].splitlines()
    assert sorted(row.partition("%  ")[2] for row in rows) == [f"{CAFE}  open", f"{HOME}  password"]
    page = _get(emulator, "/system/wifi")
    assert "Café: \\o/ &amp; &lt;b&gt;" in page
    assert page.count('aria-label="with a password"') == 1
    assert page.count('aria-label="signal ') == 2


def _join(emulator: Emulator, street: Street) -> None:
    """Join the open network; then the other one, with a wrong password and with the right one."""
    with timed("joining an open network"):
        assert emulator.appliance("system", "wifi", "join", CAFE)[1].endswith(f"{CAFE} is joined")
    assert '"ok":true' in street.request(f"http://{street.find_address(2)}:8080/health")
    with timed("a wrong password, until the network of before is back"):
        status, output = emulator.appliance("system", "wifi", "join", HOME, stdin="wrong and long\n", check=False)
    assert status == 1
    assert output.endswith(
        f"{HOME} did not accept the password; it is wrong, or the machine is too far away; {CAFE} is in use again"
    )
    assert _known(emulator) == {CAFE}
    assert '"ok":true' in street.request(f"http://{street.find_address(2)}:8080/health")
    with timed("joining a network with a password"):
        output = emulator.appliance("system", "wifi", "join", HOME, stdin=f"{PASSWORD}\n")[1]
    assert output.endswith(f"{HOME} is joined")
    assert '"ok":true' in street.request(f"http://{street.find_address(1)}:8080/health")
    assert emulator.run("nmcli", "-g", "IP4.ADDRESS", "device", "show", "wlan0")[1] == f"{street.find_address(1)}/24"
    emulator.appliance("system", "wifi", "forget", CAFE)
    assert _known(emulator) == {HOME}


def _open_hotspot(emulator: Emulator, street: Street) -> None:
    """Choose a hot spot on the page, and end the network: it opens."""
    page = f"http://{street.find_address(1)}:8080/do/system/wifi/hotspot"
    street.request(page, *SIGNED_IN, "--data", "on=true", "--data-urlencode", f"password={HOTSPOT_PASSWORD}")
    shown = emulator.run("pi-appliance", "qr")[1]
    assert f"Without a network, its Wi-Fi is {HOTSPOT} with the password {HOTSPOT_PASSWORD}; open" in shown
    assert not _wifi(emulator)["hotspot"]["open"]
    street.close(1)
    with timed("no network any more, until the hot spot is open"):
        _wait(emulator, lambda: _wifi(emulator)["hotspot"]["open"])
    assert "RSN:" in street.find(HOTSPOT), "it has a password"


def _join_over_hotspot(emulator: Emulator, street: Street) -> None:
    """Open the page at a phone in the hot spot, and choose the other network there."""
    with timed("a phone joins the hot spot"):
        assert street.join(HOTSPOT, HOTSPOT_PASSWORD).startswith("10.42.0.")
    page = "http://10.42.0.1:8080/system/wifi"
    assert "These are the networks that were in reach" in (text := street.request(page, *SIGNED_IN))
    assert "Café: \\o/ &amp; &lt;b&gt;" in text
    with timed("a network is joined from the phone, until the hot spot is closed"):
        answer = street.request(page, *SIGNED_IN, "--data-urlencode", f"ssid={CAFE}", "--write-out", "%{http_code}")
        assert answer.endswith("303")
        _wait(emulator, lambda: not (shown := _wifi(emulator))["hotspot"]["open"] and shown["last"]["state"] == "done")
    street.leave()
    address = street.find_address(2)
    assert '"ok":true' in street.request(f"http://{address}:8080/health")
    assert f"{CAFE} is joined" in _wifi(emulator)["last"]["message"]
    assert _known(emulator) == {HOME, CAFE}
    assert HOTSPOT not in street.scan()


def _come_back(emulator: Emulator, street: Street) -> None:
    """Lose the network: the hot spot opens, and closes when a known network is back."""
    street.close(2)
    with timed("no network any more, until the hot spot is open again"):
        _wait(emulator, lambda: _wifi(emulator)["hotspot"]["open"])
    street.open(1, HOME, PASSWORD)
    with timed("a known network is back, until it is joined again"):
        _wait(emulator, lambda: any(each["in_use"] for each in _wifi(emulator)["networks"]))
    assert not _wifi(emulator)["hotspot"]["open"]
    assert '"ok":true' in street.request(f"http://{street.find_address(1)}:8080/health")


def _wait(emulator: Emulator, holds: Callable[[], object]) -> None:
    start = time.monotonic()
    while not holds():
        assert time.monotonic() - start < emulator.patience, emulator.appliance("logs")[1]
        time.sleep(1)
