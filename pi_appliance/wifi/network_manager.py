"""NetworkManager, used by its command nmcli.

Every user of the machine can read the arguments of a process, so a password only goes through
standard input.
"""

import asyncio
import contextlib
import os
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pi_appliance.errors import Refused, Unavailable

JOIN_TIMEOUT = 30  # seconds to join a network
_TIMEOUT = 20.0  # seconds of a command without the time to connect; a scan takes up to 15
_TIMED_OUT, _FAILED, _NOT_RUNNING, _UNKNOWN = 3, 4, 8, 10  # exit statuses of nmcli
_WIFI_TYPES = ("wifi", "802-11-wireless")
_ASKS = "connecting (need authentication)"  # it asks for the password: the first time, and after a wrong one
# also if it is not given a second time
_REFUSED = "Connection activation failed: Secrets were required, but not provided"
_MODEM_TYPES = ("gsm", "bt")
_UPLINKS = (*_WIFI_TYPES, "ethernet", *_MODEM_TYPES)
NOT_INSTALLED = "NetworkManager is not installed; type on the machine: sudo apt install network-manager"
STOPPED = "NetworkManager does not run; type on the machine: sudo systemctl enable --now NetworkManager"
NO_DEVICE = (
    "this machine has no Wi-Fi that NetworkManager uses; plug in an adapter, or see on the machine: nmcli device"
)
BLOCKED = (
    "the Wi-Fi is switched off or blocked, on a Raspberry Pi until its country is set;"
    " type on the machine, with your country: sudo raspi-config nonint do_wifi_country GB;"
    " elsewhere: sudo rfkill unblock wifi"
)
NO_RIGHT = (
    "the appliance has no right to change the network (deploy/install.sh gives it, with polkit);"
    " type on the machine: sudo nmtui"
)


class NmcliError(Refused):
    """A failure of nmcli, with its exit status."""

    def __init__(self, status: int, text: str) -> None:
        self.is_timeout, self.is_unknown = status == _TIMED_OUT, status == _UNKNOWN
        lines = [line.removeprefix("Error: ") for line in text.splitlines() if line.startswith("Error: ")]
        reason = (lines or text.strip().splitlines() or [f"nmcli ended with status {status}"])[0].rstrip(".")
        super().__init__(f"NetworkManager refused it: {reason}")


class Security(StrEnum):
    """The security of a Wi-Fi network."""

    OPEN = "open"
    OWE = "owe"  # encrypted without a password
    PASSWORD = "password"  # noqa: S105 - the name of a kind
    WPA3 = "wpa3"  # a password, and no standard older than WPA3
    WEP = "wep"
    ENTERPRISE = "enterprise"

    @property
    def key_management(self) -> str:
        """The value of NetworkManager's `wifi-sec.key-mgmt`; "" without security."""
        return {"owe": "owe", "password": "wpa-psk", "wpa3": "sae"}.get(self, "")

    @property
    def has_password(self) -> bool:
        """Whether a single password is enough to join the network."""
        return self in (Security.PASSWORD, Security.WPA3)

    @classmethod
    def of(cls, column: str) -> "Security":
        """Return the security for the column `SECURITY` of nmcli, such as `WPA1 WPA2`."""
        words = set(column.split())
        if "802.1X" in words:
            return cls.ENTERPRISE
        if words & {"WPA1", "WPA2"}:
            return cls.PASSWORD
        names = {"WPA3": cls.WPA3, "OWE": cls.OWE, "WEP": cls.WEP}
        return next((names[word] for word in names if word in words), cls.OPEN)


@dataclass(frozen=True, slots=True)
class Network:
    """A network in reach: the strongest of the access points with its name."""

    ssid: str
    signal: int  # percent
    security: Security
    in_use: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """A stored Wi-Fi connection."""

    uuid: str
    ssid: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class Uplink:
    """A connected device that leads to other networks.

    The kernel may have another name for a modem.
    """

    device: str
    is_modem: bool


class NetworkManager:
    """Reads and changes NetworkManager.

    Every method raises Unavailable if NetworkManager does not answer, and Refused if it is not
    installed.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        # English messages, and names of networks in UTF-8.
        self._environment = {**environment, "LC_ALL": "C.UTF-8"}

    async def find_device(self) -> str:
        """Return the name of the Wi-Fi device.

        Raises Refused, with a remedy, if none can be used.
        """
        rows = await self._rows("DEVICE,TYPE,STATE", "device", "status")
        devices = {name: state for name, kind, state in rows if kind in _WIFI_TYPES and state != "unmanaged"}
        if not devices:
            raise Refused(NO_DEVICE)
        if set(devices.values()) == {"unavailable"} or ["disabled"] in await self._rows("WIFI", "radio"):
            raise Refused(BLOCKED)
        return min(devices, key=lambda name: devices[name] == "unavailable")

    async def list_uplinks(self) -> list[Uplink]:
        """Return the connected devices that lead to other networks."""
        rows = await self._rows("DEVICE,TYPE,STATE", "device", "status")
        connected = [(name, kind) for name, kind, state in rows if state.startswith("connected")]
        return [Uplink(name, is_modem=kind in _MODEM_TYPES) for name, kind in connected if kind in _UPLINKS]

    async def list_networks(self, device: str, *, rescan: bool) -> list[Network]:
        """Return the networks in reach, the one in use first, then the strongest."""
        found: dict[str, Network] = {}
        words = ("device", "wifi", "list", "ifname", device, "--rescan", "yes" if rescan else "no")
        for in_use, signal, security, ssid in await self._rows("IN-USE,SIGNAL,SECURITY,SSID", *words):
            percent = int(signal) if signal.isdecimal() else 0
            network = Network(ssid, percent, Security.of(security), in_use == "*")
            before = found.get(ssid, network)
            # A hidden network is listed as "", unless it was searched by its name.
            if ssid and (network.in_use, percent) >= (before.in_use, before.signal):
                found[ssid] = network
        return sorted(found.values(), key=lambda each: (not each.in_use, -each.signal, each.ssid))

    async def list_profiles(self) -> list[Profile]:
        """Return the stored connections to Wi-Fi networks, without hot spots."""
        try:
            return await self._read_profiles()
        except NmcliError as error:
            if not error.is_unknown:
                raise
        # Read again: a profile that was in use is still listed for a moment after it was deleted.
        return await self._read_profiles()

    async def _read_profiles(self) -> list[Profile]:
        rows = await self._rows("UUID,TYPE,ACTIVE", "connection", "show")
        active = {identity: is_active == "yes" for identity, kind, is_active in rows if kind in _WIFI_TYPES}
        if not active:
            return []
        words = [word for identity in active for word in ("uuid", identity)]
        fields = "connection.uuid,802-11-wireless.ssid,802-11-wireless.mode"
        # The output has one line for each field, in which nothing is escaped.
        text = await self._run("-t", "-f", fields, "connection", "show", *words)
        profiles = []
        for values in _blocks(text.splitlines()):
            identity, ssid = values.get("connection.uuid", ""), values.get("802-11-wireless.ssid", "")
            if values.get("802-11-wireless.mode") != "ap" and ssid:
                profiles.append(Profile(identity, ssid, active.get(identity, False)))
        return profiles

    async def add_profile(self, ssid: str, security: Security, *, hidden: bool) -> str:
        """Store a connection to `ssid` without its password, and return its UUID.

        NetworkManager does not use it by itself until `keep_profile` is called.
        """
        identity = str(uuid.uuid4())
        more = ["wifi.hidden", "yes"] if hidden else []
        more += ["wifi-sec.key-mgmt", security.key_management] if security.key_management else []
        await self._add(identity, ssid, "yes", *more)
        return identity

    async def add_hotspot(self, identity: str, ssid: str, address: str) -> None:
        """Create a hot spot that is not stored, and does not open by itself."""
        # Without protected management frames, because phones do not connect to a Pi that offers
        # them.
        words = ("wifi.mode", "ap", "wifi.band", "bg", "ipv4.method", "shared", "ipv4.addresses", f"{address}/24")
        security = ("key-mgmt", "wpa-psk", "proto", "rsn", "pairwise", "ccmp", "group", "ccmp", "pmf", "disable")
        named = [f"wifi-sec.{word}" if place % 2 == 0 else word for place, word in enumerate(security)]
        await self._add(identity, ssid, "no", *words, *named)

    async def _add(self, identity: str, ssid: str, saved: str, *more: str) -> None:
        words = ("type", "wifi", "ifname", "*", "con-name", ssid, "connection.uuid", identity, "ssid", ssid)
        await self._run("connection", "add", "save", saved, *words, "connection.autoconnect", "no", *more)

    async def connect(self, identity: str, password: str = "") -> None:
        """Connect the profile `identity`, and wait until it has an address."""
        up, timeout = ("--wait", str(JOIN_TIMEOUT), "connection", "up", "uuid", identity), JOIN_TIMEOUT + _TIMEOUT
        if not password:
            await self._run(*up, timeout=timeout)
            return
        escaped = re.sub(r"([\\ ])", r"\\\1", password)
        given = f"802-11-wireless-security.psk:{escaped}\n".encode()
        refusal = asyncio.create_task(self._wait_for_refusal())
        connection = asyncio.create_task(
            self._run(*up, "passwd-file", "/dev/stdin", standard_input=given, timeout=timeout)
        )
        try:
            await asyncio.wait((refusal, connection), return_when=asyncio.FIRST_COMPLETED)
            if not connection.done() and refusal.result():
                raise NmcliError(_FAILED, _REFUSED)
            await connection
        finally:
            refusal.cancel()
            connection.cancel()
            await asyncio.gather(refusal, connection, return_exceptions=True)

    async def _wait_for_refusal(self) -> bool:
        """Return True as soon as a device asks for its password again; False if nmcli cannot watch.

        The command that connects does not report that: it answers with the same password until its
        timeout.
        """
        asked = set[str]()
        with contextlib.suppress(OSError):
            async with self._started("device", "monitor") as process:
                assert process.stdout is not None
                async for line in process.stdout:
                    device, _, state = line.decode("utf-8", "replace").partition(": ")
                    if state.strip() == _ASKS and device in asked:
                        return True
                    if state.strip() == _ASKS:
                        asked.add(device)
        return False

    async def keep_profile(self, identity: str) -> None:
        """Let the profile `identity` connect by itself from now on."""
        await self._run("connection", "modify", "uuid", identity, "connection.autoconnect", "yes")

    async def delete_profile(self, identity: str) -> None:
        """Delete the profile `identity`, and disconnect it."""
        await self._run("connection", "delete", "uuid", identity)

    async def _rows(self, fields: str, *words: str) -> list[list[str]]:
        """Return the table that a command prints, without rows cut by a line break in a name."""
        text = await self._run("-t", "-e", "yes", "-f", fields, *words)
        rows = [split_fields(line) for line in text.splitlines()]
        return [row for row in rows if len(row) == fields.count(",") + 1]

    async def _run(self, *words: str, standard_input: bytes = b"", timeout: float = _TIMEOUT) -> str:
        """Return the output of nmcli. Raises Unavailable, Refused or NmcliError."""
        try:
            async with self._started(*words) as process, asyncio.timeout(timeout):
                output, errors = await process.communicate(standard_input)
        except TimeoutError:
            raise Unavailable("NetworkManager does not answer; restart the machine") from None
        except OSError:
            raise Refused(NOT_INSTALLED) from None
        if process.returncode == 0:
            return output.decode("utf-8", "replace")
        error = NmcliError(process.returncode or 0, errors.decode("utf-8", "replace"))
        if process.returncode == _NOT_RUNNING or "Could not create NMClient" in str(error):
            raise Unavailable(STOPPED)
        if re.search(r"not authorized|insufficient privileges", str(error), re.IGNORECASE):
            raise Refused(NO_RIGHT)
        raise error

    @contextlib.asynccontextmanager
    async def _started(self, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Start nmcli, and end it after the block. Raises OSError if nmcli is not installed."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "nmcli", *words, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def split_fields(line: str) -> list[str]:
    r"""Return the fields of a terse row, in which a backslash hides a colon or a backslash."""
    return re.sub(r"\\(.)|:", lambda match: match[1] or "\0", line).split("\0")


def _blocks(lines: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the `name:value` lines of each connection. Every block begins with its UUID."""
    block: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name == "connection.uuid" and block:
            yield block
            block = {}
        block[name] = value
    if block:
        yield block
