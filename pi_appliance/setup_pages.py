"""The pages of the set-up: password, name, time zone and music, in this order.

Each step is saved at once. Before there is a password, only the one-time code opens the first step.
After it, only the owner can open these pages, also later.
"""

import asyncio
import contextlib
import os
import shutil
import zoneinfo
from collections.abc import Callable, Collection

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.access.authenticator import Authenticator, cookie
from pi_appliance.access.pages import browser_name
from pi_appliance.access.password import SetupFile, store_password
from pi_appliance.config import editing, units
from pi_appliance.config.yaml_tree import parse_yaml
from pi_appliance.errors import ApplianceError, ConfigError, InvalidOption
from pi_appliance.music import sound_cards
from pi_appliance.music.alarms import api as alarms_api
from pi_appliance.music.alarms.announce import CHIME
from pi_appliance.music.player_hub import MusicServices
from pi_appliance.music.volume_limits import max_volume
from pi_appliance.roles import Role
from pi_appliance.system import network
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form
from pi_appliance.web.security import SETUP, address_of

_NAME, _ZONE, _MUSIC, _DONE = (f"{SETUP}/{step}" for step in ("name", "time-zone", "music", "done"))
_FIRST_VOLUME = 30  # highest volume of the test sound: nobody knows yet how loud that is
_SOUND_TIME = 6  # seconds after which a sound card that does not open has failed; the chime takes 7
_PLAYER_TIMEOUT = 3.0  # seconds to wait for the player


class SetupPages:
    """The endpoints of the set-up."""

    def __init__(self, services: MusicServices, authenticator: Authenticator, pages: Pages) -> None:
        self._services, self._authenticator, self._pages = services, authenticator, pages
        self._setting_password = asyncio.Lock()

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route(SETUP, self.start),
            Route(f"{SETUP}/password", self.set_password, methods=["POST"]),
            Route(_NAME, self.show_name),
            Route(_NAME, self.set_name, methods=["POST"]),
            Route(_ZONE, self.show_zone),
            Route(_ZONE, self.set_zone, methods=["POST"]),
            Route(_MUSIC, self.show_music),
            Route(_MUSIC, self.set_music, methods=["POST"]),
            Route(f"{SETUP}/sound", self.play_sound, methods=["POST"]),
            Route(_DONE, self.show_done),
            Route(_DONE, self.finish, methods=["POST"]),
        ]

    @property
    def _setup_file(self) -> SetupFile:
        return SetupFile(self._services.appliance.config.state_dir)

    async def start(self, request: Request) -> Response:
        """Return the form for the code, or with the code that for the password.

        Later, lead to the next step. Reading the page does not use up the code, so a preview of
        the link in a messenger does no harm.
        """
        if not self._authenticator.setup_code:
            return RedirectResponse(self._setup_file.next_step() or _NAME, 303)
        code = request.query_params.get("code", "")
        if not code:
            return self._pages.page("setup/code.html")
        try:
            self._authenticator.check_code(code, address_of(request))
        except HTTPException as error:
            return self._refuse_code(error)
        return self._pages.page("setup/password.html", code=code)

    async def set_password(self, request: Request) -> Response:
        """Store the first password, and sign in the device that sent it."""
        fields = await form(request)
        async with self._setting_password:
            if not self._authenticator.setup_code:
                return RedirectResponse(_NAME, 303)
            code, password = fields.get("code", ""), fields.get("password", "")
            try:
                self._authenticator.check_code(code, address_of(request))
                if password != fields.get("again", ""):
                    raise InvalidOption("the two passwords differ; type the same one twice")
                await asyncio.to_thread(store_password, self._services.appliance.config.path, password, os.environ)
                self._setup_file.note_password()
            except HTTPException as error:
                return self._refuse_code(error)
            except ApplianceError as error:
                return self._pages.page("setup/password.html", 422, code=code, error=str(error))
            self._authenticator.use_password(password)
            device = browser_name(request.headers.get("user-agent", ""))
            token = self._authenticator.devices.add(device, Role.OWNER)
        return RedirectResponse(_NAME, 303, {"Set-Cookie": cookie(token)})

    def _refuse_code(self, error: HTTPException) -> Response:
        return self._pages.page("setup/code.html", error.status_code, dict(error.headers or {}), error=error.detail)

    async def show_name(self, _: Request) -> Response:
        """Show the form for the name of the appliance."""
        return self._name_page(self._services.appliance.config.name or network.host_name())

    async def set_name(self, request: Request) -> Response:
        """Save the name of the appliance."""
        name = (await form(request)).get("name", "").strip()
        try:
            if name != (self._services.appliance.config.name or network.host_name()):
                await self._change(lambda data: _with(data, "name", name))
        except ApplianceError as error:
            return self._name_page(name, _sentence(error))
        return self._go_on(_ZONE)

    def _name_page(self, value: str, error: str = "") -> Response:
        return self._pages.page("setup/name.html", 422 if error else 200, value=value, error=error)

    async def show_zone(self, _: Request) -> Response:
        """Show the form for the time zone."""
        return self._zone_page(self._services.appliance.config.time_zone.key)

    async def set_zone(self, request: Request) -> Response:
        """Save the time zone, even if the machine has the same one.

        The machine's may change later.
        """
        zone = _find_zone((await form(request)).get("zone", "").strip())
        try:
            await self._change(lambda data: _with(data, "time-zone", zone))
        except ApplianceError as error:
            return self._zone_page(zone, _sentence(error))
        return self._go_on(_MUSIC)

    def _go_on(self, step: str) -> Response:
        """Redirect to the next step, and remember it for an owner who continues later."""
        self._setup_file.note_step(step)
        return RedirectResponse(step, 303)

    def _zone_page(self, value: str, error: str = "") -> Response:
        return self._pages.page(
            "setup/time_zone.html",
            422 if error else 200,
            value=value,
            error=error,
            zones=sorted(zoneinfo.available_timezones()),
            is_chosen="time-zone" in _keys(self._services),
            now=self._services.now(),
        )

    async def show_music(self, request: Request) -> Response:
        """Return whether the player is reached, and the test sound."""
        await self._wait_for_player()
        return self._music_page(_volume(request.query_params.get("played", "")))

    async def _wait_for_player(self) -> None:
        """Wait briefly for the player, because the previous step may have restarted it."""
        hub = self._services.daemon.hub
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PLAYER_TIMEOUT if self._services.appliance.config.player else 0):
                async for _ in hub.watch_changes():
                    if hub.state is not None:
                        break

    async def set_music(self, request: Request) -> Response:
        """Add the player to the configuration, or remove it."""
        wanted = (await form(request)).get("music") == "yes"
        has_player = self._services.appliance.config.player is not None
        try:
            if wanted != has_player:
                await self._change(lambda data: _with(data, "player", {"kind": "mpd"} if wanted else None))
        except ApplianceError as error:
            return self._music_page(error=_sentence(error))
        return RedirectResponse(_MUSIC if wanted else _DONE, 303)

    async def play_sound(self, request: Request) -> Response:
        """Set the volume, and play the chime of the alarms over the music."""
        volume = _volume((await form(request)).get("volume", ""))
        try:
            if volume is None:
                raise InvalidOption("the volume is a number from 0 to 100")
            await self._wait_for_player()
            await (await self._services.daemon.hub.player()).set_volume(volume)
            sound = {"text": None, "source": CHIME, "volume": None, "wait": _SOUND_TIME}
            await alarms_api.announce(self._services, sound)
        except ApplianceError as error:
            return self._music_page(error=_sentence(error))
        return RedirectResponse(f"{_MUSIC}?played={volume}", 303)

    def _music_page(self, played: int | None = None, error: str = "") -> Response:
        hub, config = self._services.daemon.hub, self._services.appliance.config
        now = self._services.now().astimezone(config.time_zone)
        limit = max_volume(config.volume, now)
        return self._pages.page(
            "setup/music.html",
            422 if error else 200,
            player=config.player,
            is_reached=hub.state is not None and not hub.uses_fallback,
            reason=hub.error,
            sound_cards=sound_cards.describe_for_page(),
            mpd_is_missing=shutil.which("mpd") is None,
            volume=min(_FIRST_VOLUME if played is None else played, limit),
            limit=limit,
            played=played is not None,
            error=error,
        )

    async def show_done(self, _: Request) -> Response:
        """Show the last page of the set-up."""
        return self._pages.page("setup/done.html", hotspot_is_open=self._services.daemon.wifi.hotspot.is_open)

    async def finish(self, _: Request) -> Response:
        """End the set-up, and go to the first page."""
        self._setup_file.finish()
        return RedirectResponse("/", 303)

    async def _change(self, change: Callable[[object], object]) -> None:
        done = await asyncio.to_thread(self._services.config_file.edit, change)
        if done.before != done.after:
            await self._services.daemon.apply_configuration()


def _find_zone(text: str) -> str:
    """Return the time zone of the name or city `text`; without exactly one, return `text`."""
    wanted = text.replace(" ", "_").casefold()
    zones = zoneinfo.available_timezones()
    named = [zone for zone in zones if zone.casefold() == wanted]
    in_city = [zone for zone in zones if zone.rpartition("/")[2].casefold() == wanted]
    return next((found[0] for found in (named, in_city) if len(found) == 1), text)


def _volume(text: str) -> int | None:
    """Return the volume in `text`; None if it is not a number from 0 to 100."""
    return int(text) if text.isdecimal() and len(text) <= 3 and int(text) <= 100 else None


def _sentence(error: ApplianceError) -> str:
    """Return `error` without its place in the file, because the owner does not see the file."""
    if isinstance(error, ConfigError) and error.problems:
        first = error.problems[0]
        return units.join_clauses(first.message, first.hint)
    return str(error)


def _with(data: object, key: str, value: object) -> object:
    """Return the settings `data` with `value` at `key`; None removes it."""
    return editing.remove_value(data, (key,)) if value is None else editing.set_value(data, (key,), value)


def _keys(services: MusicServices) -> Collection[str]:
    data = parse_yaml(services.appliance.config.text, "").data
    return data if isinstance(data, dict) else ()
