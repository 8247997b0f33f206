"""The command nmcli 1.42.4 for a machine with one Wi-Fi device. Its state is in a file.

`World` writes the file, and a program that runs this module. A test runs it dozens of times, so it imports almost
nothing: no json, no pathlib, no typing. The syntax, the escapes, the messages
and the exit statuses are those of the real nmcli with the real NetworkManager; those of WPA3 and of a
network without addresses are not. A command that the appliance does not use is an error.
"""

from __future__ import annotations

import marshal
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

PROGRAM = """#!{python} -IS
import sys
sys.path.append({folder!r})
import nmcli  # it is compiled once
nmcli.main(sys.argv[1:])
"""
AUTHENTICATION = ("connecting (configuring)", "connecting (need authentication)", "connecting (prepare)")
HOME = {"ssid": "Home", "signal": 72, "security": "WPA2", "password": "correct horse"}
OTHER_DEVICES = (
    ["p2p-dev-wlan0", "wifi-p2p", "disconnected"],
    ["docker0", "bridge", "connected (externally)"],
    ["lo", "loopback", "connected (externally)"],
)
WIRED = ("5a221e2b-abca-486d-8268-1cf88b11814d", "802-3-ethernet")


class World:
    """The networks, the device and the profiles, in `folder`, which is first in the search path."""

    def __init__(self, folder: Path, **values: Any) -> None:
        self.file = folder / "world"
        folder.mkdir(exist_ok=True)
        program = folder / "nmcli"
        program.write_text(PROGRAM.format(python=sys.executable, folder=__file__.rpartition("/")[0]))
        program.chmod(0o755)
        start: dict[str, Any] = {"device": "disconnected", "radio": "enabled", "networks": [HOME], "profiles": {}}
        start |= {"calls": [], "states": [], "failure": None}
        write(self.file, {**start, "active": "", "connecting": "", "fading": "", **values})

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which `nmcli` is this one."""
        return {"PATH": f"{self.file.parent}:/usr/bin:/bin", "NMCLI_WORLD": str(self.file)}

    def __getitem__(self, name: str) -> Any:
        return read(self.file)[name]

    def change(self, **values: Any) -> None:
        """Change the world."""
        write(self.file, {**read(self.file), **values})

    def connect(self, ssid: str, **more: Any) -> None:
        """Store a profile of `ssid`, and connect it."""
        identity = f"00000000-0000-4000-8000-{len(self['profiles']):012}"
        profile = {"ssid": ssid, "mode": "infrastructure", "autoconnect": "yes", "psk": "correct horse", **more}
        self.change(profiles={**self["profiles"], identity: profile}, active=identity, device="connected")

    @property
    def active_ssid(self) -> str:
        """The name of the connected network or of the open hot spot, or ""."""
        return str(self["profiles"].get(self["active"], {}).get("ssid", ""))


def read(path: Path | str) -> Any:
    """Return the world."""
    with open(path, "rb") as file:  # noqa: PTH123
        return marshal.load(file)  # noqa: S302 - written below


def write(path: Path | str, world: Any) -> None:
    """Write the world in one step."""
    draft = f"{path}.{os.getpid()}"
    with open(draft, "wb") as file:  # noqa: PTH123
        marshal.dump(world, file)
    os.replace(draft, path)  # noqa: PTH105


def escape(value: object) -> str:
    """Return a field of a terse row."""
    return str(value).replace("\\", "\\\\").replace(":", "\\:")


def fail(status: int, message: str) -> None:
    """End like nmcli."""
    sys.stderr.write(f"Error: {message}\n")
    sys.exit(status)


def read_password(content: str) -> str:
    """Return the key of a passwd-file: white space around it is dropped, and a backslash escapes."""
    import re  # noqa: PLC0415 - few commands have a password

    value = content.rstrip("\r\n").removeprefix("802-11-wireless-security.psk:").lstrip()
    value = re.sub(r"(?<!\\)\s+$", "", value)
    return re.sub(r"\\(.)", r"\1", value)


def rows(world: Any, fields: str, words: list[str]) -> list[list[object]]:
    """Return the table of a command that prints one."""
    profiles, active = world["profiles"], world["active"]
    match fields, words:
        case "DEVICE,TYPE,STATE", ["device", "status"]:
            wifi = [["wlan0", "wifi", world["device"]]] if world["device"] else []
            return [*wifi, *world.get("modems", []), *OTHER_DEVICES]
        case "WIFI", ["radio"]:
            return [[world["radio"]]]
        case "IN-USE,SIGNAL,SECURITY,SSID", ["device", "wifi", "list", "ifname", "wlan0", "--rescan", rescan]:
            used = profiles.get(active, {}).get("ssid")
            found = [each for each in world["networks"] if rescan == "yes" or not each.get("is_new")]
            return [["*" if n["ssid"] == used else " ", n["signal"], n["security"], n["ssid"]] for n in found]
        case "UUID,TYPE,ACTIVE", ["connection", "show"]:
            fading = [world["fading"]] if world["fading"] else []
            world["fading"] = ""
            write(os.environ["NMCLI_WORLD"], world)
            wifi = [[uuid, "802-11-wireless", "yes" if uuid == active else "no"] for uuid in (*profiles, *fading)]
            return [[*WIRED, "no"], *wifi]
    raise ValueError(fields, words)


def connect(world: Any, profile: Any, *, is_given: bool) -> None:
    """Fail like NetworkManager if `profile` cannot be connected; its password may be one that nmcli `is_given`."""
    found: Any = next((each for each in world["networks"] if each["ssid"] == profile["ssid"]), {})
    if profile["mode"] == "ap":
        assert len(profile["psk"]) >= 8, "NetworkManager checks that, too"
        if not world.get("has_dnsmasq", True):
            fail(4, "Connection activation failed: Shared connection service failed to start")
    elif not found:
        fail(4, "Connection activation failed: The Wi-Fi network could not be found")
    elif found.get("is_slow"):
        fail(3, "Timeout expired (30 seconds)")
    elif found.get("password", "") not in ("", profile["psk"]):
        if is_given:  # NetworkManager requests another one, and nmcli repeats the same
            for _ in range(100):
                report(world, *AUTHENTICATION)
                time.sleep(0.3)
            fail(3, "Timeout expired (30 seconds)")
        fail(4, "Connection activation failed: Secrets were required, but not provided")
    elif found.get("is_mute"):
        fail(4, "Connection activation failed: IP configuration could not be reserved (no available address)")


def report(world: Any, *states: str) -> None:
    """Set the states of the device one after the other. A monitor prints them."""
    world["states"] += states
    write(os.environ["NMCLI_WORLD"], world)


def monitor() -> None:
    """Print the states of the device, until it is ended."""
    seen = len(read(os.environ["NMCLI_WORLD"])["states"])
    while True:
        states = read(os.environ["NMCLI_WORLD"])["states"]
        for state in states[seen:]:
            print(f"wlan0: {state}", flush=True)  # noqa: T201
        seen = len(states)
        time.sleep(0.02)


def connect_known(world: Any) -> None:
    """Connect a stored network that is in reach, as NetworkManager does by itself."""
    reached = {each["ssid"] for each in world["networks"]}
    known = [
        uuid for uuid, each in world["profiles"].items() if each["ssid"] in reached and each["autoconnect"] == "yes"
    ]
    world["active"] = known[0] if known else ""
    world["device"] = "connected" if known else "disconnected"


def act(world: Any, words: list[str]) -> None:
    """Change the world."""
    profiles = world["profiles"]
    match words:
        case ["connection", "add", "save", saved, *pairs]:
            values = dict(zip(pairs[::2], pairs[1::2], strict=True))
            profiles[values["connection.uuid"]] = {
                "ssid": values["ssid"],
                "mode": values.get("wifi.mode", "infrastructure"),
                "autoconnect": values["connection.autoconnect"],
                "saved": saved,
                "psk": "",
                "values": values,
            }
        case ["--wait", "30", "connection", "up", "uuid", uuid, *more]:
            if more:
                assert more == ["passwd-file", "/dev/stdin"]
                profiles[uuid]["psk"] = read_password(sys.stdin.read())
            world["active"], world["device"], world["connecting"] = "", "disconnected", uuid
            report(world, *(AUTHENTICATION if more else ()))
            connect(world, profiles[uuid], is_given=bool(more))
            world["active"], world["device"], world["connecting"] = uuid, "connected", ""
        case ["connection", "modify", "uuid", uuid, "connection.autoconnect", value]:
            profiles[uuid]["autoconnect"] = value
        case ["connection", "delete", "uuid", uuid]:
            if uuid not in profiles:
                fail(10, f"unknown connection '{uuid}'.")
            del profiles[uuid]
            if uuid in (world["active"], world["connecting"]):
                world["fading"] = uuid
                connect_known(world)
        case _:
            raise ValueError(words)
    write(os.environ["NMCLI_WORLD"], world)


def main(words: list[str]) -> None:
    """Do one command."""
    file = os.environ["NMCLI_WORLD"]
    world = read(file)
    if words == ["device", "monitor"]:
        monitor()
    world["calls"].append(words)
    write(file, world)
    if world["failure"]:
        fail(*world["failure"])
    match words:
        case ["-t", "-e", "yes", "-f", fields, *rest]:
            for row in rows(world, fields, rest):
                sys.stdout.write(":".join(map(escape, row)) + "\n")
        case ["-t", "-f", "connection.uuid,802-11-wireless.ssid,802-11-wireless.mode", "connection", "show", *named]:
            for uuid in named[1::2]:
                if uuid not in world["profiles"]:
                    fail(10, f"{uuid} - no such connection profile.")
                profile = world["profiles"][uuid]
                sys.stdout.write(f"connection.uuid:{uuid}\n802-11-wireless.ssid:{profile['ssid']}\n")
                sys.stdout.write(f"802-11-wireless.mode:{profile['mode']}\n\n")
        case _:
            act(world, words)
