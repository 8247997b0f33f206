"""Simulated radios of an emulated computer: the appliance has one, and its neighbourhood has the others.

The neighbourhood is a network namespace, so that nothing but the radio leads from it to the appliance.
"""

import re
import time

from tests.vm.emulator import Emulator

PACKAGES = "network-manager,wpasupplicant,wireless-regdb,hostapd,iw,dnsmasq-base,curl"
"""What the computer needs. `ipconfig` of klibc, which every initrd of Debian has, asks for addresses."""
_NAMESPACE = "street"
_WITHIN = ("ip", "netns", "exec", _NAMESPACE)
_PHONE = "wlan3"
_DRIVER = "interface={device}\ndriver=nl80211\nhw_mode=g\nchannel={channel}\nssid2={ssid}\nutf8_ssid=1\n"
_WPA2 = "wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase={password}\n"
_LEASES = ("--port=0", "--no-resolv", "--no-hosts", "--no-ping", "--conf-file=/dev/null", "--bind-interfaces")


class Street:
    """Two access points and a phone in reach of the appliance `emulator`."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        emulator.run("modprobe", "mac80211_hwsim", "radios=4")
        emulator.run("ip", "netns", "add", _NAMESPACE)
        for device in ("wlan1", "wlan2", _PHONE):
            phy = emulator.read(f"/sys/class/net/{device}/phy80211/name")
            emulator.run("iw", "phy", phy, "set", "netns", "name", _NAMESPACE)

    def open(self, number: int, ssid: str, password: str = "") -> str:
        """Open an access point that gives addresses, with the radio `number`; return its own address."""
        device, net = f"wlan{number}", f"192.168.{70 + number}"
        settings = _DRIVER.format(device=device, channel=5 * number - 4, ssid=ssid.encode().hex())
        settings += _WPA2.format(password=password) if password else ""
        self._emulator.write(f"/run/{device}.conf", settings)
        self._within("ip", "address", "replace", f"{net}.1/24", "dev", device)
        self._start(f"radio-{number}", "hostapd", f"/run/{device}.conf")
        leases = f"--dhcp-leasefile=/run/{device}.leases"
        pool = f"--dhcp-range={net}.50,{net}.99,1h"
        self._start(
            f"leases-{number}", "dnsmasq", "--keep-in-foreground", *_LEASES, f"--interface={device}", leases, pool
        )
        return f"{net}.1"

    def close(self, number: int) -> None:
        """End the access point with the radio `number`."""
        self._emulator.run("systemctl", "stop", f"leases-{number}", f"radio-{number}")

    def find_address(self, number: int) -> str:
        """Return the address that the access point `number` gave to the appliance."""
        return self._emulator.read(f"/run/wlan{number}.leases").split()[2]

    def scan(self) -> str:
        """Return the networks that the phone finds now. A scan may miss a network."""
        self._within("ip", "link", "set", _PHONE, "up")
        start = time.monotonic()
        while True:  # a radio that was busy a moment ago refuses a scan, or never ends it
            scan = ("timeout", "30", "iw", "dev", _PHONE, "scan", "flush")
            status, networks = self._emulator.run(*_WITHIN, *scan, check=False)
            if status == 0:
                return networks
            assert time.monotonic() - start < self._emulator.patience, networks
            time.sleep(1)

    def find(self, ssid: str) -> str:
        """Return the scan result of one network. It scans until it finds it."""
        start = time.monotonic()
        while True:
            for each in re.split(r"^BSS ", networks := self.scan(), flags=re.MULTILINE):
                if f"SSID: {ssid}\n" in each:
                    return each
            assert time.monotonic() - start < self._emulator.patience, networks

    def join(self, ssid: str, password: str) -> str:
        """Join a network with the phone, and return its address there."""
        text = f'network={{\nssid={ssid.encode().hex()}\npsk="{password}"\n}}\n'
        self._emulator.write("/run/phone.conf", text)
        self._start("phone", "wpa_supplicant", f"-i{_PHONE}", "-Dnl80211", "-c/run/phone.conf")
        start = time.monotonic()
        while "Connected to" not in self._within("iw", "dev", _PHONE, "link"):
            assert time.monotonic() - start < self._emulator.patience, self._emulator.run("journalctl", "--unit=phone")[
                1
            ]
            time.sleep(1)
        self._within("/usr/lib/klibc/bin/ipconfig", "-t", "120", "-c", "dhcp", "-d", _PHONE)
        return self._within("ip", "-4", "-brief", "address", "show", "dev", _PHONE).split()[2].partition("/")[0]

    def leave(self) -> None:
        """Disconnect the phone from its network."""
        self._emulator.run("systemctl", "stop", "phone")
        self._within("ip", "address", "flush", "dev", _PHONE)

    def request(self, url: str, *words: str) -> str:
        """Return the answer of a page, as the phone or a computer at an access point gets it."""
        return self._within("curl", "--silent", "--show-error", "--max-time", "120", *words, url)

    def _start(self, unit: str, *words: str) -> None:
        self._emulator.run("systemd-run", "--quiet", "--collect", f"--unit={unit}", *_WITHIN, *words)

    def _within(self, *words: str) -> str:
        return self._emulator.run(*_WITHIN, *words)[1]
