"""The pages of the sign-in."""

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.access.authenticator import Authenticator, cookie
from pi_appliance.operations import Role
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form
from pi_appliance.web.security import COOKIE, address_of, local_target
from pi_appliance.web.visitor import RoleRoute

_BROWSERS = (  # in this order: each also names those below it
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


class AccessPages:
    """The endpoints of the sign-in."""

    def __init__(self, authenticator: Authenticator, pages: Pages) -> None:
        self._authenticator, self._pages = authenticator, pages

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/sign-in", self.show_sign_in),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            RoleRoute("/sign-out", self.sign_out, Role.LISTEN, ["POST"]),
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
        return self.signed_in(request, fields.get("name", ""), Role.OWNER, target)

    def signed_in(self, request: Request, name: str, role: Role, target: str) -> Response:
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


def browser_name(user_agent: str) -> str:
    """Return the browser and the system in a User-Agent header, such as "Firefox on Android"."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or re.split(r"[/ ]", user_agent)[0] or "a device"
