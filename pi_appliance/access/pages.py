"""The pages of the sign-in, the devices, the invitations and the password."""

import re

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.access import api
from pi_appliance.access.api import AccessServices
from pi_appliance.access.authenticator import cookie
from pi_appliance.access.devices import Invitation
from pi_appliance.access.operations import CHANGE_PASSWORD, INVITE
from pi_appliance.errors import ApplianceError, InvalidOption
from pi_appliance.roles import ROLE_TEXTS, Role
from pi_appliance.web import qr_code
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form
from pi_appliance.web.security import COOKIE, VISITOR, RoleRoute, address_of, local_target

_BROWSERS = (  # the order matters: a browser also names those below it
    ("Edg", "Edge"),
    ("SamsungBrowser", "Samsung Internet"),
    ("OPR/", "Opera"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("Chrom", "Chrome"),
    ("CriOS", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


_LIFETIMES = {"10m": "10 minutes", "1h": "1 hour", "1d": "1 day"}
_NOT_INVITED = "This invitation was used already, or it is too old. Ask for a new one."


class AccessPages:
    """The endpoints of the sign-in, the devices, the invitations and the password."""

    def __init__(self, services: AccessServices, pages: Pages) -> None:
        self._services, self._pages = services, pages
        self._authenticator = services.daemon.authenticator

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route("/sign-in", self.show_sign_in),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            RoleRoute("/sign-out", self.sign_out, Role.LISTEN, ["POST"]),
            Route("/join/{code}", self.show_invitation),
            Route("/join/{code}", self.accept_invitation, methods=["POST"]),
            Route("/devices", self.devices),
            Route("/devices/invite", self.show_invite_form),
            Route("/devices/invite", self.invite, methods=["POST"]),
            Route("/devices/invite/{id}", self.show_code),
            Route("/devices/password", self.change_password, methods=["POST"]),
        ]

    async def show_sign_in(self, request: Request) -> Response:
        """Return the form for the password."""
        target = local_target(request.query_params.get("to", "/"))
        if self._authenticator.identify(request):
            return RedirectResponse(target, 303)
        return self._pages.page("access/sign_in.html", error="", to=target)

    async def sign_in(self, request: Request) -> Response:
        """Check the password, and redirect to the requested page."""
        fields = await form(request)
        target = local_target(fields.get("to", "/"))
        if self._authenticator.has_password:
            try:
                self._authenticator.check(fields.get("password", ""), address_of(request))
            except HTTPException as error:
                headers = dict(error.headers or {})
                name = fields.get("name", "")
                return self._pages.page(
                    "access/sign_in.html", error.status_code, headers, error=error.detail, to=target, device_name=name
                )
        return self._sign_in_device(request, fields.get("name", ""), Role.OWNER, target)

    def _sign_in_device(self, request: Request, name: str, role: Role, target: str) -> Response:
        """Sign in the device that sent `request`, and redirect to `target`."""
        devices = self._authenticator.devices
        if previous := devices.find(request.cookies.get(COOKIE, "")):
            devices.remove(previous)
        token = devices.add(name.strip() or browser_name(request.headers.get("user-agent", "")), role)
        return RedirectResponse(target, 303, {"Set-Cookie": cookie(token)})

    async def sign_out(self, request: Request) -> Response:
        """Sign out this device."""
        if device := self._authenticator.devices.find(request.cookies.get(COOKIE, "")):
            self._authenticator.devices.remove(device)
        return RedirectResponse("/sign-in", 303, {"Set-Cookie": cookie("")})

    async def show_invitation(self, request: Request) -> Response:
        """Ask whether this device may be signed in. A preview of the link changes nothing."""
        invitation = self._find_invitation(request)
        current = self._authenticator.devices.find(request.cookies.get(COOKIE, ""))
        return self._pages.page(
            "access/join.html",
            200 if invitation else 404,
            invitation=invitation,
            role_text=ROLE_TEXTS[invitation.role] if invitation else "",
            current=current,
            error=_NOT_INVITED,
        )

    async def accept_invitation(self, request: Request) -> Response:
        """Sign in this device with the name and the role of the invitation."""
        invitation = self._find_invitation(request)
        if invitation is None:
            return self._pages.page("access/join.html", 404, error=_NOT_INVITED)
        self._authenticator.invitations.cancel(invitation)
        return self._sign_in_device(request, invitation.name, invitation.role, "/")

    def _find_invitation(self, request: Request) -> Invitation | None:
        address = address_of(request)
        self._authenticator.require_patience(address)
        invitation = self._authenticator.invitations.find(request.path_params["code"])
        if invitation is None:
            self._authenticator.note_failure(address)
        return invitation

    async def devices(self, request: Request) -> Response:
        """Show the devices and the form for the password."""
        return await self._devices_page(changed="changed" in request.query_params)

    async def _devices_page(self, status: int = 200, *, changed: bool = False, error: str = "") -> Response:
        return self._pages.page(
            "access/devices.html",
            status,
            devices=self._authenticator.devices.all(),
            invitations=[(each, api.end_of(self._services, each)) for each in self._authenticator.invitations.all()],
            has_password=self._authenticator.has_password,
            today=self._authenticator.devices.today(),
            changed=changed,
            error=error,
        )

    async def show_invite_form(self, request: Request) -> Response:
        """Show the form of an invitation, again with its fields after an error."""
        query = request.query_params
        return self._invite_form(query.get("name", ""), query.get("role", str(Role.GUEST)), query.get("for", "10m"))

    def _invite_form(self, name: str, role: str, lifetime: str, error: str = "") -> Response:
        return self._pages.page(
            "access/invite.html",
            422 if error else 200,
            device_name=name,
            role=role,
            roles=ROLE_TEXTS,
            lifetime=lifetime,
            lifetimes=_LIFETIMES,
            error=error,
        )

    async def invite(self, request: Request) -> Response:
        """Create an invitation, and show its code."""
        fields = await form(request)
        try:
            values = INVITE.parse(fields)
            result = await api.invite_device(self._services, values)
        except ApplianceError as error:
            return self._invite_form(fields.get("name", ""), fields.get("role", ""), fields.get("for", ""), str(error))
        return RedirectResponse(f"/devices/invite/{result['id']}", 303)

    async def show_code(self, request: Request) -> Response:
        """Show the code of an open invitation."""
        wanted = request.path_params["id"]
        for each in self._authenticator.invitations.all():
            if each.id == wanted:
                addresses = api.join_addresses(api.page_addresses(self._services.appliance.config.web), each)
                return self._pages.page(
                    "access/code.html",
                    invitation=each,
                    addresses=addresses,
                    code=Markup(qr_code.code_in_page(addresses[0])),  # noqa: S704 - made here, of an address
                    ends_at=api.end_of(self._services, each),
                    role_text=ROLE_TEXTS[each.role],
                )
        return RedirectResponse("/devices", 303)

    async def change_password(self, request: Request) -> Response:
        """Change the password. This device stays signed in, and all others are signed out."""
        fields = await form(request)
        new = fields.get("new", "")
        try:
            if new != fields.get("again", ""):
                raise InvalidOption("the two new passwords differ, so nothing was changed")
            await api.change_password(
                self._services, CHANGE_PASSWORD.parse({"new": new, "current": fields.get("current", "")})
            )
        except ApplianceError as error:
            return await self._devices_page(422, error=str(error))
        except HTTPException as error:
            return await self._devices_page(error.status_code, error=error.detail)
        if VISITOR.get().device:
            return RedirectResponse("/devices?changed", 303)
        return self._sign_in_device(request, "", Role.OWNER, "/devices?changed")


def browser_name(user_agent: str) -> str:
    """Return the browser and the system in a User-Agent header, such as "Firefox on Android"."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or re.split(r"[/ ]", user_agent)[0] or "a device"
