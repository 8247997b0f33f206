"""The sensors of the machine, over files like those of a Pi's kernel."""

import os
from pathlib import Path

import pytest

from pi_appliance.system.machine import Power, Sensors, free_space


class Files:
    """Temporary /sys and /proc folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sensors = Sensors(folder / "sys", folder / "proc")

    def put(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "ascii")
        return path

    def zone(self, number: int, text: str) -> Path:
        return self.put(f"sys/class/thermal/thermal_zone{number}/temp", text)

    def alarm(self, text: str, name: str = "rpi_volt") -> None:
        self.put("sys/class/hwmon/hwmon1/name", f"{name}\n")
        self.put("sys/class/hwmon/hwmon1/in0_lcrit_alarm", text)

    def throttled(self, text: str) -> None:
        self.put("sys/devices/platform/soc/soc:firmware/get_throttled", text)

    def routes(self, *rows: str) -> None:
        head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT"
        self.put("proc/net/route", "\n".join([head, *rows]) + "\n")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_machine_without_sensors_yields_nothing_and_is_offline(files: Files) -> None:
    assert (files.sensors.temperature(), files.sensors.power(), files.sensors.online()) == (None, Power(), False)


def test_the_hottest_zone_counts(files: Files) -> None:
    files.zone(0, "47236\n")
    files.zone(1, "51540\n")
    files.zone(2, "-3000\n")
    assert files.sensors.temperature() == 51.54


@pytest.mark.parametrize("nonsense", ["", "unknown\n", "-274000\n", "2147483647\n"])
def test_an_invalid_zone_is_ignored(files: Files, nonsense: str) -> None:
    files.zone(0, nonsense)
    assert files.sensors.temperature() is None
    files.zone(1, "40000\n")
    assert files.sensors.temperature() == 40.0


def test_an_unreadable_zone_is_ignored(files: Files) -> None:
    (files.zone(0, "1").parent / "temp").unlink()
    (files.folder / "sys/class/thermal/thermal_zone0/temp").mkdir()
    assert files.sensors.temperature() is None


@pytest.mark.parametrize(("text", "alarm"), [("0\n", False), ("1\n", True)])
def test_the_alarm_of_the_voltage_driver_is_read(files: Files, text: str, alarm: bool) -> None:
    files.alarm(text)
    assert files.sensors.power() == Power(under_voltage=alarm, throttled=alarm, was_throttled=None)


def test_the_alarm_of_another_driver_is_ignored(files: Files) -> None:
    files.alarm("1\n", name="cpu_thermal")
    assert files.sensors.power() == Power()


@pytest.mark.parametrize(
    ("bits", "power"),
    [
        ("0\n", Power(under_voltage=False, throttled=False, was_throttled=False)),
        ("0x0\n", Power(under_voltage=False, throttled=False, was_throttled=False)),
        ("50005\n", Power(under_voltage=True, throttled=True, was_throttled=True)),
        ("50000\n", Power(under_voltage=False, throttled=False, was_throttled=True)),
        ("4\n", Power(under_voltage=False, throttled=True, was_throttled=True)),
        ("8\n", Power(under_voltage=False, throttled=True, was_throttled=True)),
        ("80000\n", Power(under_voltage=False, throttled=False, was_throttled=True)),
    ],
)
def test_the_bits_of_the_firmware_are_read(files: Files, bits: str, power: Power) -> None:
    files.throttled(bits)
    assert files.sensors.power() == power


def test_the_alarm_and_the_bits_are_combined(files: Files) -> None:
    files.alarm("1\n")
    files.throttled("0\n")
    assert files.sensors.power() == Power(under_voltage=True, throttled=True, was_throttled=True)


@pytest.mark.parametrize("nonsense", ["", "?\n"])
def test_invalid_firmware_output_leaves_the_alarm(files: Files, nonsense: str) -> None:
    files.alarm("0\n")
    files.throttled(nonsense)
    assert files.sensors.power() == Power(under_voltage=False, throttled=False, was_throttled=None)


DEFAULT = "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0"
LOCAL = "wlan0\t0001A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0"


@pytest.mark.parametrize(
    ("rows", "online"),
    [
        ([], False),
        ([LOCAL], False),
        ([LOCAL, DEFAULT], True),
        ([DEFAULT.replace("0003", "0002")], False),  # down
        ([DEFAULT.replace("wlan0", "*").replace("0003", "0201")], False),  # "unreachable default"
        (["", "wlan0\t00000000"], False),
        ([DEFAULT.replace("0003", "what")], False),
    ],
)
def test_a_default_route_by_ipv4_is_online(files: Files, rows: list[str], online: bool) -> None:
    files.routes(*rows)
    assert files.sensors.online() is online


NOWHERE = "0" * 32
ROUTER = "fe80" + "0" * 27 + "1"


@pytest.mark.parametrize(
    ("row", "online"),
    [
        (f"{NOWHERE} 00 {NOWHERE} 00 {ROUTER} 00000400 00000001 00000000 00450003    wlan0", True),
        (f"{NOWHERE} 00 {NOWHERE} 00 {NOWHERE} ffffffff 00000001 00000000 00200200       lo", False),
        (f"{NOWHERE} 00 {NOWHERE} 00 {NOWHERE} ffffffff 00000001 00000000 00200200     eth0", False),
        (f"{ROUTER} 80 {NOWHERE} 00 {NOWHERE} 00000100 00000001 00000000 00000001    wlan0", False),
        ("cut off", False),
    ],
)
def test_a_default_route_by_ipv6_is_online(files: Files, row: str, online: bool) -> None:
    files.put("proc/net/ipv6_route", f"{row}\n")
    assert files.sensors.online() is online


def test_free_space_is_that_of_an_ordinary_user(tmp_path: Path) -> None:
    result = os.statvfs(tmp_path)
    assert abs(free_space(tmp_path) - result.f_bavail * result.f_frsize) < 50_000_000  # others write here too
