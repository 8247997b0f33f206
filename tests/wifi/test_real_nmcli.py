"""The commands of the appliance to nmcli, with the real NetworkManager on its own bus and in its own network."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.wifi.network_manager import NO_DEVICE, STOPPED, NetworkManager, NmcliError, Security, split_fields
from tests.fakes.nmcli import escape
from tests.installation import wait_until

PROGRAMS = ("nmcli", "NetworkManager", "dbus-daemon", "unshare")
SSID = r"--ask Café: \o/"
BUS = """<busconfig><type>system</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<allow user="*"/></policy></busconfig>"""
SETTINGS = "[main]\nplugins=keyfile\nauth-polkit=false\nno-auto-default=*\n[keyfile]\npath={}\n"
START = (
    "mount -t tmpfs none /run && mkdir -p /var/lib/NetworkManager && mount -t tmpfs none /var/lib/NetworkManager && "
)
SEARCH = f"{os.environ['PATH']}:/usr/sbin"

needs_network_manager = pytest.mark.skipif(
    os.geteuid() != 0 or not all(shutil.which(each, path=SEARCH) for each in PROGRAMS),
    reason="needs root and NetworkManager: apt-get install network-manager",
)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[NetworkManager]:
    """Return the real one, which stores its profiles in `tmp_path`."""
    (tmp_path / "bus.conf").write_text(BUS.format(tmp_path / "bus"))
    (tmp_path / "nm.conf").write_text(SETTINGS.format(tmp_path / "profiles"))
    environment = {**os.environ, "PATH": SEARCH, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={tmp_path}/bus"}
    bus = subprocess.Popen(["dbus-daemon", f"--config-file={tmp_path}/bus.conf", "--nofork"], env=environment)
    wait_until((tmp_path / "bus").exists)
    nowhere = [f"--{each}={tmp_path}/none" for each in ("config-dir", "system-config-dir", "intern-config")]
    start = f"{START} exec NetworkManager --no-daemon --config={tmp_path}/nm.conf --pid-file={tmp_path}/pid "
    words = ["unshare", "-n", "-m", "sh", "-c", start + " ".join(nowhere)]
    daemon = subprocess.Popen(words, env=environment)
    try:
        ask = ["nmcli", "general"]
        wait_until(lambda: subprocess.run(ask, env=environment, capture_output=True, check=False).returncode == 0)
        yield NetworkManager(environment)
    finally:
        for process in (daemon, bus):
            process.terminate()
            process.wait(60)


@pytest.mark.contract
@needs_network_manager
def test_the_real_network_manager_understands_each_command(manager: NetworkManager, tmp_path: Path) -> None:
    async def ask() -> None:
        with pytest.raises(Refused, match=NO_DEVICE.partition(";")[0]):
            await manager.find_device()
        assert await manager.list_uplinks() == []
        assert await manager.list_profiles() == []
        for security in (Security.OPEN, Security.OWE, Security.PASSWORD, Security.WPA3):
            identity = await manager.add_profile(SSID, security, hidden=security is Security.WPA3)
            (profile,) = await manager.list_profiles()
            assert (profile.uuid, profile.ssid, profile.is_active) == (identity, SSID, False)
            with pytest.raises(NmcliError, match="No suitable device found"):
                await manager.connect(identity, r"a b\c")
            await manager.keep_profile(identity)
            (file,) = (tmp_path / "profiles").iterdir()
            assert "autoconnect=false" not in file.read_text()
            await manager.delete_profile(identity)
        await manager.add_hotspot(identity, SSID, "10.42.0.1")
        assert await manager.list_profiles() == [], "it is none to join"
        assert list((tmp_path / "profiles").iterdir()) == [], "it is not stored"
        await manager.delete_profile(identity)
        with pytest.raises(NmcliError, match="unknown connection"):
            await manager.delete_profile(identity)

    asyncio.run(ask())


@needs_network_manager
def test_the_real_nmcli_says_that_network_manager_does_not_run(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": SEARCH, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={tmp_path}/none"}
    with pytest.raises(Unavailable, match=STOPPED.partition(";")[0]):
        asyncio.run(NetworkManager(environment).find_device())


def test_a_row_is_split_at_the_colons_that_are_not_escaped() -> None:
    for fields in (["*", "72", "", SSID], [":", "\\", "\\:", ":\\"], ["", "", ""]):
        assert split_fields(":".join(map(escape, fields))) == fields
    assert split_fields(r"6f2b:no:Caf\\é\:1") == ["6f2b", "no", r"Caf\é:1"], "as nmcli 1.42.4 prints it"
