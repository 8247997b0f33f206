"""Handlers of the operations on devices, invitations and the password."""

import asyncio
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, TypedDict

from starlette.exceptions import HTTPException

from pi_appliance.access.authenticator import AccessDaemon
from pi_appliance.access.devices import Device, Invitation
from pi_appliance.access.password import store_password
from pi_appliance.config import page_address, units
from pi_appliance.config.options import Web
from pi_appliance.errors import ApplianceError, InvalidOption, Refused, UnknownName
from pi_appliance.json_schema import Instant, Keyword
from pi_appliance.operations import Values
from pi_appliance.roles import Role
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.model import iso_time
from pi_appliance.web.security import VISITOR

_MAX_LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class AccessServices(Services):
    """Everything that the handler of an operation on devices may use."""

    daemon: AccessDaemon


class DeviceJson(TypedDict):
    """A signed-in device, or an open invitation."""

    id: str
    name: str
    role: Role
    signed_in_at: Annotated[Instant | None, "null for an invitation"]
    last_seen: Annotated[str, Keyword("format", "date")] | None
    this_device: bool
    invited_until: Annotated[Instant | None, "when an invitation expires; null for a device"]


async def list_devices(services: AccessServices, _: Values) -> list[DeviceJson]:
    """Return the devices, the newest first, and the open invitations."""
    authenticator = services.daemon.authenticator
    devices: list[DeviceJson] = [
        {
            "id": each.id,
            "name": each.name,
            "role": each.role,
            "signed_in_at": iso_time(each.signed_in_at),
            "last_seen": each.last_seen.isoformat(),
            "this_device": each.id == VISITOR.get().device,
            "invited_until": None,
        }
        for each in authenticator.devices.all()
    ]
    invitations: list[DeviceJson] = [
        {
            "id": each.id,
            "name": each.name,
            "role": each.role,
            "signed_in_at": None,
            "last_seen": None,
            "this_device": False,
            "invited_until": iso_time(end_of(services, each)),
        }
        for each in authenticator.invitations.all()
    ]
    return [*devices, *invitations]


async def revoke_device(services: AccessServices, values: Values) -> list[DeviceJson]:
    """Sign out a device, or cancel an invitation."""
    authenticator = services.daemon.authenticator
    wanted = values["device"]
    known: list[Device | Invitation] = [*authenticator.devices.all(), *authenticator.invitations.all()]
    named = [each for each in known if each.id == wanted] or [each for each in known if each.name == wanted]
    if not named:
        raise UnknownName("device", wanted, [each.name for each in known])
    if len(named) > 1:
        raise InvalidOption(f"{len(named)} devices are called {wanted!r}; give one of {', '.join(e.id for e in named)}")
    if isinstance(named[0], Invitation):
        authenticator.invitations.cancel(named[0])
    else:
        authenticator.devices.remove(named[0])
    return await list_devices(services, {})


async def revoke_other_devices(services: AccessServices, _: Values) -> list[DeviceJson]:
    """Sign out all devices except the one that sent this request, and cancel all invitations."""
    authenticator = services.daemon.authenticator
    authenticator.invitations.cancel_all()
    authenticator.devices.remove(*(each for each in authenticator.devices.all() if each.id != VISITOR.get().device))
    return await list_devices(services, {})


class InvitationJson(TypedDict):
    """A new invitation, with the addresses that the invited person opens."""

    id: str
    name: str
    role: Role
    addresses: Annotated[list[str], "that use it, the most reliable first"]
    expires_at: Instant


async def invite_device(services: AccessServices, values: Values) -> InvitationJson:
    """Create an invitation. Raises Refused without a password: then everyone is the owner."""
    authenticator = services.daemon.authenticator
    if not authenticator.has_password:
        raise Refused("without a password everyone who reaches the page is its owner; set one first")
    lifetime = units.parse_duration(values["for"])
    if not timedelta() < lifetime <= _MAX_LIFETIME:
        raise InvalidOption("'for' must be at most 7d and not zero")
    addresses = page_addresses(services.appliance.config.web)
    invitation = authenticator.invitations.create(values["name"], Role(values["role"]), lifetime.total_seconds())
    return {
        "id": invitation.id,
        "name": invitation.name,
        "role": invitation.role,
        "addresses": join_addresses(addresses, invitation),
        "expires_at": iso_time(end_of(services, invitation)),
    }


async def change_password(services: AccessServices, values: Values) -> list[DeviceJson]:
    """Store the new password and use it at once. Only the device that asks stays signed in.

    A request that was sent with the password, or over the unix socket, needs no current password.
    """
    authenticator, visitor = services.daemon.authenticator, VISITOR.get()
    if authenticator.has_password and visitor.device:
        try:
            authenticator.check(values["current"] or "", visitor.address)
        except HTTPException as error:
            if error.status_code != 401:  # 429: too many attempts
                raise
            raise Refused("that is not the current password, so nothing was changed") from None
    await asyncio.to_thread(store_password, services.appliance.config.path, values["new"], os.environ)
    authenticator.use_password(values["new"], keep=visitor.device)
    return await list_devices(services, {})


def end_of(services: Services, invitation: Invitation) -> datetime:
    """Return when `invitation` expires."""
    daemon: Any = services.daemon
    return services.now() + timedelta(seconds=daemon.authenticator.invitations.seconds_left(invitation))


def page_addresses(web: Web) -> list[str]:
    """Return the addresses of the page for other devices, the most reliable first.

    A page that listens on this machine only may be behind a proxy. Then the result is the address
    that the sender of the request uses.

    Raises:
        ApplianceError: There is none.
    """
    try:
        return page_address.addresses(web)
    except ApplianceError:
        host = VISITOR.get().host
        if not host or host.startswith(("localhost", "127.", "[::1]")):
            raise
        return [f"http://{host}/"]


def join_addresses(addresses: list[str], invitation: Invitation) -> list[str]:
    """Return the addresses that use `invitation`."""
    return [f"{address}join/{invitation.code}" for address in addresses]
