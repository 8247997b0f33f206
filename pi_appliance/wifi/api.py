"""Handlers of the operations on the Wi-Fi."""

import asyncio
import os
from typing import Annotated, TypedDict

from pi_appliance.config import editing
from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.errors import ApplianceError, InvalidOption
from pi_appliance.operations import Values
from pi_appliance.scheduling.daemon_interface import Services
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
from pi_appliance.wifi.joining import Attempt, AttemptState, WifiService
from pi_appliance.wifi.network_manager import Security


class WifiNetworkJson(TypedDict):
    """A Wi-Fi network in reach, or a stored one."""

    ssid: str
    signal: Annotated[int | None, "percent; null if it is away"]
    security: Annotated[Security | None, "null if it is away"]
    in_use: bool
    known: Annotated[bool, "it is stored"]


class HotspotJson(TypedDict):
    """The hot spot for the set-up."""

    on: Annotated[bool, "it opens whenever there is no network"]
    open: Annotated[bool, "now"]
    name: str
    address: Annotated[str, "of the page"]


class WifiJson(TypedDict):
    """The Wi-Fi of the machine."""

    obstacle: Annotated[str, "why it cannot be used, or empty"]
    networks: list[WifiNetworkJson]
    last: Attempt | None
    hotspot: HotspotJson
    address: Annotated[str, "of the page in the network"]


async def show(services: Services, values: Values) -> WifiJson:
    """Return the networks, the hot spot, and how the newest attempt to join went."""
    wifi: WifiService = services.daemon.wifi
    is_joining = wifi.last is not None and wifi.last.state is AttemptState.RUNNING
    obstacle, rows = "", list[WifiNetworkJson]()
    try:
        found = [] if is_joining else await wifi.list_networks(rescan=values["scan"])
        stored = {each.ssid for each in ([] if is_joining else await wifi.list_profiles())}
        rows = [
            {
                "ssid": each.ssid,
                "signal": each.signal,
                "security": each.security,
                "in_use": each.in_use,
                "known": each.ssid in stored,
            }
            for each in found
        ]
        away = sorted(stored - {each.ssid for each in found})
        rows += [{"ssid": ssid, "signal": None, "security": None, "in_use": False, "known": True} for ssid in away]
    except ApplianceError as error:
        obstacle = str(error)
    config = services.appliance.config
    return {
        "obstacle": obstacle,
        "networks": rows,
        "last": wifi.last,
        "hotspot": {
            "on": wifi.hotspot.is_wanted,
            "open": wifi.hotspot.is_open,
            "name": wifi.hotspot.ssid,
            "address": page_address(config, ADDRESS),
        },
        "address": page_address(config, f"{network.host_name()}.local"),
    }


async def join(services: Services, values: Values) -> WifiJson:
    """Begin to join a network. A program on this machine waits for the end."""
    task = await services.daemon.wifi.start_joining(values["ssid"], values["password"], hidden=values["hidden"])
    if not VISITOR.get().address:
        await asyncio.shield(task)
    return await show(services, {"scan": False})


async def forget(services: Services, values: Values) -> WifiJson:
    """Delete a stored network."""
    await services.daemon.wifi.forget(values["ssid"])
    return await show(services, {"scan": False})


async def set_hotspot(services: Services, values: Values) -> WifiJson:
    """Write into the file whether the hot spot opens, and its password into the secrets."""
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
        file = services.config_file
        if values["on"] and config.hotspot is None:
            file.edit(lambda data: editing.set_value(data, ("hotspot",), {}))
        elif not values["on"] and config.hotspot is not None:
            file.edit(lambda data: editing.remove_value(data, ("hotspot",)))

    await asyncio.to_thread(change)
    await services.daemon.apply_configuration()
    return await show(services, {"scan": False})
