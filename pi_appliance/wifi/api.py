"""Handlers of the operations on the Wi-Fi."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict

from pi_appliance.config import editing
from pi_appliance.config.config_file import ConfigFile
from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.errors import ApplianceError, InvalidOption
from pi_appliance.json_schema import TEXT, Schema, list_of, object_of
from pi_appliance.operations import Values
from pi_appliance.scheduling.interface import Services
from pi_appliance.system import network
from pi_appliance.web.security import VISITOR
from pi_appliance.wifi.hotspot import (
    ADDRESS,
    SECRET,
    ensure_password,
    find_password_problem,
    page_address,
    require_reachable_page,
)
from pi_appliance.wifi.network_manager import Security
from pi_appliance.wifi.service import AttemptState, WifiService


async def show(services: Services, values: Values) -> dict[str, object]:
    """Return the networks, the hot spot, and how the newest attempt to join went."""
    wifi: WifiService = services.daemon.wifi
    is_joining = wifi.last is not None and wifi.last.state is AttemptState.RUNNING
    obstacle, rows = "", list[dict[str, object]]()
    try:
        found = [] if is_joining else await wifi.list_networks(rescan=values["scan"])
        stored = {each.ssid for each in ([] if is_joining else await wifi.list_profiles())}
        rows = [{**asdict(each), "known": each.ssid in stored} for each in found]
        away = sorted(stored - {each.ssid for each in found})
        row: Mapping[str, object] = {"signal": None, "security": None, "in_use": False, "known": True}
        rows += [{"ssid": ssid, **row} for ssid in away]
    except ApplianceError as error:
        obstacle = str(error)
    config = services.appliance.config
    return {
        "obstacle": obstacle,
        "networks": rows,
        "last": asdict(wifi.last) if wifi.last else None,
        "hotspot": {
            "on": wifi.hotspot.is_wanted,
            "open": wifi.hotspot.is_open,
            "name": wifi.hotspot.ssid,
            "address": page_address(config, ADDRESS),
        },
        "address": page_address(config, f"{network.host_name()}.local"),
    }


async def join(services: Services, values: Values) -> dict[str, object]:
    """Begin to join a network. A program on this machine waits for the end."""
    task = await services.daemon.wifi.start_joining(values["ssid"], values["password"], hidden=values["hidden"])
    if not VISITOR.get().address:
        await asyncio.shield(task)
    return await show(services, {"scan": False})


async def forget(services: Services, values: Values) -> dict[str, object]:
    """Delete a stored network."""
    await services.daemon.wifi.forget(values["ssid"])
    return await show(services, {"scan": False})


async def set_hotspot(services: Services, values: Values) -> dict[str, object]:
    """Write to the file whether the hot spot opens, and its password to the secrets."""
    config, password = services.appliance.config, values["password"]
    if values["on"]:
        require_reachable_page(config)
    if password and (problem := find_password_problem(password)):
        raise InvalidOption(f"that cannot be the password of the hot spot: {problem}")

    def change() -> None:
        if password:
            store_own_secret(config.path, SECRET, password, os.environ)
        elif values["on"]:
            ensure_password(config)
        file = ConfigFile(config.path, config.state_dir, services.now)
        if values["on"] and config.hotspot is None:
            file.edit(lambda data: editing.set_value(data, ("hotspot",), {}))
        elif not values["on"] and config.hotspot is not None:
            file.edit(lambda data: editing.remove_value(data, ("hotspot",)))

    await asyncio.to_thread(change)
    await services.daemon.apply_configuration()
    return await show(services, {"scan": False})


_NETWORK = object_of(
    {
        "ssid": TEXT,
        "signal": {"type": ["integer", "null"], "minimum": 0, "maximum": 100},
        "security": {"enum": [*map(str, Security), None]},
        "in_use": {"type": "boolean"},
        "known": {"type": "boolean"},
    }
)
_ATTEMPT = object_of({"ssid": TEXT, "state": {"enum": [*map(str, AttemptState)]}, "message": TEXT})
SCHEMAS: Mapping[str, Schema] = {
    "Wifi": object_of(
        {
            "obstacle": TEXT,
            "networks": list_of(_NETWORK),
            "last": {"anyOf": [_ATTEMPT, {"type": "null"}]},
            "hotspot": object_of(
                {"on": {"type": "boolean"}, "open": {"type": "boolean"}, "name": TEXT, "address": TEXT}
            ),
            "address": TEXT,
        }
    )
}
