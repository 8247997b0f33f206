"""The permissions of the roles, checked for every operation, page and stream."""

import contextlib
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from pi_appliance.music.player import NO_PLAYER
from pi_appliance.operations import Operation, all_operations
from pi_appliance.roles import Role
from pi_appliance.web.security import least_role
from tests.access.conftest import invite, join, sign_in
from tests.web.list_player import ListMusic
from tests.web.served_appliance import ServedAppliance, configuration, job, serving, set_password

STATIONS = "- {name: FIP, url: 'http://radio.example/fip'}\n"
JOBS = (
    job("hello", "print('good morning')")
    + "  wake: {kind: music, schedule: '@daily', with: {action: alarm, play: FIP}}\n"
    + "  nap: {kind: music, with: {action: sleep}}\n"
)
PAGES = {  # every page that not only the owner may open
    "GET /": Role.LISTEN,
    "GET /events": Role.LISTEN,
    "GET /music/cover": Role.LISTEN,
    "POST /sign-out": Role.LISTEN,
    "GET /puzzles/today": Role.LISTEN,
    "GET /puzzles/today/{puzzle}": Role.LISTEN,
    "POST /puzzles/today/{puzzle}": Role.LISTEN,  # a check or a hint, which changes nothing
    "GET /puzzles/boards/{puzzle}": Role.LISTEN,
    "GET /more": Role.GUEST,
    "GET /music": Role.GUEST,
    "GET /music/library": Role.GUEST,
    "GET /music/playlists": Role.GUEST,
    "GET /music/queue": Role.GUEST,
    "GET /music/radio": Role.GUEST,
    "GET /parts/queue": Role.GUEST,
    "GET /music/alarms": Role.CONTROL,
    "GET /music/alarms/new": Role.CONTROL,
    "GET /music/alarms/{job}": Role.CONTROL,
    "GET /music/sound": Role.CONTROL,
    "GET /parts/banner": Role.CONTROL,
    "GET /parts/sleep": Role.CONTROL,
}
PUBLIC = ("/hooks/", "/health", "/sign-in", "/static/", "/join/", "/cluster/join")
LISTENERS = {"GET /player", "GET /player/art", *(f"GET /puzzles/{name}" for name in ("today", "hint", "check"))}
GUESTS = {
    *(f"GET /player/{name}" for name in ("queue", "browse", "artists", "albums", "genres", "tracks", "search")),
    *(f"GET /player/{name}" for name in ("favourites", "stats", "update", "picture", "playlists", "playlists/{name}")),
    *("GET /player/capabilities", "GET /player/ratings", "GET /stations", "POST /player/queue/add"),
}
CONTROLLED = ("/player", "/alarms", "/sleep", "/announce", "/sound/cards", "/stations", "/usb")
OTHERS = (Role.LISTEN, Role.GUEST, Role.CONTROL)


@contextlib.contextmanager
def appliance_with_roles(folder: Path) -> Iterator[tuple[ServedAppliance, dict[Role, str]]]:
    """Serve a page with a signed-in device of each role, and yield their cookies."""
    config = configuration(folder, jobs=JOBS, stations=STATIONS)
    set_password(config, "open sesame")
    with serving(config) as appliance:
        owner = sign_in(appliance)
        others = {role: join(appliance, invite(appliance, f"a {role}", role)) for role in OTHERS}
        yield appliance, {Role.OWNER: owner, **others}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedAppliance, dict[Role, str]]]:
    with appliance_with_roles(tmp_path_factory.mktemp("roles")) as both:
        yield both


@pytest.fixture
def home(shared: tuple[ServedAppliance, dict[Role, str]]) -> ServedAppliance:
    return shared[0]


@pytest.fixture
def cookies(shared: tuple[ServedAppliance, dict[Role, str]]) -> dict[Role, str]:
    return shared[1]


def needed_role(route: Route, method: str) -> Role:
    """Return the role that the tables above and the operations name for a route."""
    name = f"{method} {route.path}"
    if route.path.startswith(("/api/v1/", "/do/")):
        path = route.path.removeprefix("/do").removeprefix("/api/v1")
        among = [each for each in all_operations() if each.path == path]
        if route.path.startswith("/do/"):
            return max((each.role for each in among if each.method != "GET"), key=list(Role).index)
        named = [each.role for each in among if each.method == method]
        return named[0] if named else Role.LISTEN if path == "/player/art" else Role.OWNER
    return PAGES.get(name, Role.OWNER)


@pytest.mark.slow_variants
@pytest.mark.parametrize("role", OTHERS)
def test_each_role_is_refused_exactly_what_it_may_not_do(tmp_path: Path, role: Role) -> None:
    with appliance_with_roles(tmp_path) as (home, cookies):  # of its own: what is allowed is done
        home.cookie = cookies[role]
        check_every_route(home, role)


def check_every_route(home: ServedAppliance, role: Role) -> None:
    wrong, refused = [], 0
    for route in home.service.routes:
        assert isinstance(route, Route)
        for method in sorted((route.methods or set()) - {"HEAD"}):
            if route.path.startswith(PUBLIC) or route.path in ("/events", "/sign-out"):
                continue  # no role, a stream, the end of this session
            path = re.sub(r"{\w+:run}", "1", re.sub(r"{\w+}", "x", route.path))
            body = None if method == "GET" else ""
            answer = home.request(path, body, method=method)
            should_pass = role.includes(needed_role(route, method))
            refused += answer.status == 403
            if (answer.status != 403) != should_pass:
                wrong.append(f"{method} {route.path}: {answer.status}")
            if str(home.daemon.appliance.config.path.parent) in answer.text:
                wrong.append(f"{method} {route.path} names a folder of the machine")
            if answer.status == 403:
                assert "this device may only " in answer.text.lower(), path
    assert wrong == []
    assert refused > 60


def test_only_thought_of_operations_are_open_to_others() -> None:
    def named(role: Role) -> set[str]:
        return {f"{each.method} {each.path}" for each in all_operations() if each.role is role}

    assert named(Role.LISTEN) == LISTENERS - {"GET /player/art"}
    assert named(Role.GUEST) == GUESTS
    assert [each for each in named(Role.CONTROL) if not each.partition(" ")[2].startswith(CONTROLLED)] == []


def test_a_new_operation_or_page_is_for_the_owner() -> None:
    assert Operation(path="/new", summary="", handler="").role is Role.OWNER
    new = Route("/new", lambda _: None)
    assert least_role([new], {"type": "http", "method": "GET", "path": "/new", "root_path": ""}) is Role.OWNER


def test_a_guest_adds_to_the_end_of_the_queue_and_nowhere_else(home: ServedAppliance, cookies: dict[Role, str]) -> None:
    home.cookie = cookies[Role.GUEST]
    uri = home.player.tracks[0].uri
    before = [each.uri for each in home.player.tracks]
    playing = home.player.now.track
    for refused in ({"where": "next"}, {"where": "replace"}, {"play": True}):
        answer = home.request("/api/v1/player/queue/add", {"uri": uri, **refused})
        assert (answer.status, "cannot be chosen" in answer.json["error"]) == (403, True)
    assert home.request("/do/player/queue/add?play=true", f"uri={uri}").status == 403
    assert [each.uri for each in home.player.tracks] == before
    assert home.request("/do/player/queue/add", f"uri={uri}&where=end").status == 303
    assert [each.uri for each in home.player.tracks] == [*before, uri]
    assert home.player.now.track == playing


@pytest.mark.parametrize("role", OTHERS)
def test_a_stream_has_nothing_of_the_owner(home: ServedAppliance, cookies: dict[Role, str], role: Role) -> None:
    home.cookie = cookies[role]
    with home.events() as events:
        _, state = events.next_state()
    assert state["player"]["track"]["label"]
    jobs = [each["job"] for each in state.get("jobs", ())]
    assert jobs == (["wake", "nap"] if role is Role.CONTROL else [])
    assert ("scheduler" in state) == (role is Role.CONTROL)
    assert "hello" not in str(state)


def test_a_stream_of_the_owner_has_all_jobs(home: ServedAppliance, cookies: dict[Role, str]) -> None:
    home.cookie = cookies[Role.OWNER]
    with home.events() as events:
        assert "hello" in [each["job"] for each in events.next_state()[1]["jobs"]]


@pytest.mark.parametrize("role", OTHERS)
def test_pages_show_only_what_the_role_may_do(home: ServedAppliance, cookies: dict[Role, str], role: Role) -> None:
    home.cookie = cookies[role]
    visited, waiting, controls = set[str](), ["/", "/more", "/music/queue", "/music/alarms"], set[str]()
    waiting = [path for path in waiting if home.request(path).status == 200]
    while waiting:
        path = waiting.pop()
        visited.add(path)
        answer = home.request(path)
        assert answer.status in (200, 204, 303), f"{path} is linked"
        if answer.headers.get("content-type", "").startswith("image/"):
            continue
        text = unescape(answer.text)
        links = {link.partition("#")[0] for link in re.findall(r'(?:href|src)="(/[^"]*)"', text)}
        waiting += [
            each for each in links if each not in visited and each not in waiting and not each.startswith("/static")
        ]
        controls |= set(re.findall(r'(?:form)?action="(/do[^"?]*)', text))
        for word in ("hello", "/settings", "/reports", str(home.daemon.appliance.config.path.parent)):
            assert word not in text, path
    for address in controls:
        scope: dict[str, Any] = {"type": "http", "method": "POST", "path": address, "root_path": ""}
        needed = least_role(home.service.routes, scope)
        assert needed is not None, address
        assert role.includes(needed), address
    assert bool(controls) == (role is not Role.LISTEN)
    assert ("/do/player/toggle" in controls) == (role is Role.CONTROL)


def test_an_error_names_no_file_or_server_to_others(home: ServedAppliance, cookies: dict[Role, str]) -> None:
    path = home.daemon.appliance.config.path
    text = path.read_text()
    hub = home.daemon.hub
    former_error, hub.error = hub.error, "MPD at /run/mpd/socket is not reached"
    try:
        for role, told in ((Role.OWNER, True), (Role.CONTROL, False), (Role.LISTEN, False)):
            home.cookie = cookies[role]
            assert ("/run/mpd" in home.request("/api/v1/player").text) == told
            assert ("/run/mpd" in home.request("/").text) == told
            with home.events() as events:
                error = events.next_state()[1]["error"]
                if told and not error:  # the state that a stream of another test has read just before
                    error = events.next_state()[1]["error"]
                assert ("/run/mpd" in error) == told
    finally:
        hub.error = former_error
    path.write_text("time-zone: [\n")
    try:
        home.cookie = cookies[Role.CONTROL]
        answer = home.request("/api/v1/alarms", {"time": "06:45", "days": ["mon-fri"], "play": ["FIP"]})
        assert answer.status == 422
        assert str(path.parent) not in answer.text
    finally:
        path.write_text(text)


def test_without_a_player_a_guest_reaches_the_first_page(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    set_password(config, "open sesame")
    with serving(config, ListMusic(None, NO_PLAYER)) as home:
        sign_in(home)
        home.cookie = join(home, invite(home, "Anna", "guest"))
        answer = home.request("/")
        assert (answer.status, "The player is not reached." in answer.text) == (200, True)


def test_programs_with_the_password_are_the_owner(home: ServedAppliance) -> None:
    home.cookie = ""
    assert home.request("/api/v1/config", Authorization="Bearer open sesame").status == 200
    assert (
        Path(home.daemon.appliance.config.path).name
        in home.request("/api/v1/status", Authorization="Bearer open sesame").text
    )
