"""An appliance with something on each page, and the list of its pages, made of the routes of the service."""

import contextlib
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from playwright.sync_api import Page
from starlette.routing import BaseRoute, Route

from pi_appliance.music.model import Track
from pi_appliance.posting.model import PostState
from pi_appliance.puzzles.puzzle_job import Options, run
from pi_appliance.roles import Role
from pi_appliance.storage.daily_backups import back_up_daily
from pi_appliance.storage.model import Outcome
from pi_appliance.web.security import COOKIE
from tests.fakes.context import FakeContext
from tests.posting.test_pages import NETWORKS, add_post
from tests.web.list_player import LIBRARY, SONG, ListMusic, ListPlayer
from tests.web.served_appliance import ServedAppliance, configuration, job, serving, set_password
from tests.web.test_pages import STATIONS, record, report

LONG = "a long title of many words without an end " * 3
UNTAGGED = Track(uri=f"{'w' * 80}.ogg", title=LONG, artist="Ä" * 60, album=LONG, duration=61.0, position=1, id=2)
PEGS = ("cross", "full")
JOBS = (
    job("hello", "print('good morning')", "    schedule: 0 6 * * *\n    chance: 1/4\n")
    + job("pegs", "")
    + job("a-job-with-a-very-long-name-" + "x" * 30, "", "    schedule: {every: 15m}\n")
    + """  tweets:
    kind: tweet
    schedule: "@daily"
    chance: 1/4
    with: {lines: tweets.txt, network: [show, dear]}
  daily:
    kind: puzzle
    with: {puzzle: sudoku, generate: 1}
  other-daily:
    kind: puzzle
    with: {puzzle: peg-solitaire}
  weekdays:
    kind: music
    schedule: "45 6 * * mon-fri"
    with: {action: alarm, play: [Groove], duration: 1h}
"""
)
NOT_INVITED = "/join/no-such-code"
LINES = f"A first line.\n# a comment\n{LONG}\nNothing is as short as this.\n"
# Addresses for the routes with a parameter, and those of further states of a page.
EXAMPLES: Mapping[str, Sequence[str]] = {
    "/jobs/{name}": ("/jobs/hello", "/jobs/pegs"),
    "/jobs/{name}/edit": ("/jobs/hello/edit", "/jobs/weekdays/edit"),
    "/new-job": ("/new-job", "/new-job?kind=command", "/new-job?kind=tweet"),
    "/runs/{number:run}": ("/runs/1",),
    "/reports/{job}/{file}": (
        "/reports/hello/posts.txt",
        "/reports/hello/table.csv",
        "/reports/hello/board.svg",
        "/reports/pegs/result.html",
        "/reports/pegs/result.html?raw=1",
        "/reports/pegs/2027-03-01_0600",
    ),
    "/reports/{job}": ("/reports/pegs", "/reports/hello?year=2020"),
    "/reports/{job}/{date}/{file}": ("/reports/pegs/2027-03-01_0600/result.txt",),
    "/puzzles/today/{puzzle}": ("/puzzles/today/sudoku", "/puzzles/today/peg-solitaire"),
    "/posts": ("/posts", "/posts?state=uncertain"),
    "/music/library": (
        "/music/library",
        "/music/library?by=album",
        "/music/library?by=track",
        "/music/library?text=blue",
    ),
    "/music/playlists": ("/music/playlists", "/music/playlists?name=Evening"),
    "/music/alarms/{job}": ("/music/alarms/weekdays",),
    "/networks/{network}": ("/networks/bird", "/networks/dear", "/networks/show"),
    "/join/{code}": ("/join/{code}",),
    "/devices/invite/{id}": ("/devices/invite/{id}",),
    "/system/log": ("/system/log", "/system/log?problems=true"),
}
ERRORS = ("/no-such-page", "/runs/99999")
SETUP_CODE = "ABCDEFGH"
NOT_PAGES = (
    "/api/",
    "/parts/",
    "/static/",
    "/do/",
    "/health",
    "/metrics",
    "/events",
    "/music/cover",
    "/system/backup/",
    "/puzzles/boards/",
)


@contextlib.contextmanager
def served_with_everything(folder: Path) -> Iterator[ServedAppliance]:
    """Serve an appliance with jobs, runs, posts, reports, music, devices and long names."""
    path = configuration(folder, jobs=JOBS, stations=STATIONS)
    set_password(path, "open sesame")
    path.write_text(path.read_text("utf-8").replace("jobs:\n", f"{NETWORKS}jobs:\n"), "utf-8")
    (folder / "tweets.txt").write_text(LINES, "utf-8")
    music = ListMusic(ListPlayer([SONG, UNTAGGED]))
    assert music.list_player
    music.list_player.saved["Evening"] = list(LIBRARY)
    with serving(path, music) as appliance:
        _fill(appliance)
        yield appliance


def _fill(appliance: ServedAppliance) -> None:
    record(appliance, "hello", Outcome.SUCCEEDED, "good morning")
    record(appliance, "hello", Outcome.FAILED, f"could not {'w' * 90}")
    for outcome in Outcome:
        record(appliance, "pegs", outcome, LONG)
    report(appliance, "hello/posts.txt", f"{LONG}\n" * 20)
    report(appliance, "hello/table.csv", "a,b,c\n" + "1,2,3 " * 60)
    report(
        appliance, "hello/board.svg", "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9' width='9' height='9'/>"
    )
    options = Options(puzzle="peg-solitaire", boards=[Path(name) for name in PEGS])
    run(options, FakeContext(appliance.daemon.appliance.config.reports / "pegs", job="pegs"))
    reports = appliance.daemon.appliance.config.reports
    run(Options(puzzle="sudoku", generate=1), FakeContext(reports / "daily", job="daily"))
    run(options, FakeContext(reports / "other-daily", job="other-daily"))
    add_post(appliance, LONG, PostState.SENT, link="https://x.example/1", cost="0.2")
    add_post(appliance, "perhaps", PostState.UNCERTAIN, "no answer came")
    add_post(appliance, "not like this", PostState.REFUSED, "the text is too long")
    back_up_daily(appliance.daemon.appliance.store)
    authenticator = appliance.daemon.authenticator
    appliance.cookie = f"{COOKIE}={authenticator.devices.add('This browser', Role.OWNER)}"
    authenticator.devices.add("Kitchen tablet", Role.GUEST)
    authenticator.devices.add("w" * 60, Role.OWNER)
    authenticator.invitations.create("Guest phone", Role.GUEST, 86400.0)


def page_addresses(routes: Iterable[BaseRoute], invitation: str, code: str) -> list[str]:
    """Return the address of every page among `routes`.

    A new route is in it without a change here. One with parameters needs an example above.

    Args:
        routes: All routes of the service.
        invitation: The id of an open invitation.
        code: The code of that invitation.
    """
    result: list[str] = []
    for route in routes:
        assert isinstance(route, Route)
        if "GET" not in (route.methods or ()) or route.path.startswith(NOT_PAGES):
            continue
        assert route.path in EXAMPLES or "{" not in route.path, f"{route.path} needs an example in {__name__}"
        result += EXAMPLES.get(route.path, (route.path,))
    return [each.format(id=invitation, code=code) for each in result]


def open_every_page(page: Page, appliance: ServedAppliance) -> Iterator[str]:
    """Open every page, and yield its address: of the owner, of errors, before the sign-in, and of the set-up."""
    origin = appliance.origin.replace("127.0.0.1", socket.gethostname())  # an invitation is for other devices
    appliance.ticks.now += 4000.0  # the codes that were wrong in an earlier run are forgotten after an hour
    name, _, token = appliance.cookie.partition("=")
    page.context.add_cookies([{"name": name, "value": token, "url": origin}])
    invitation = appliance.daemon.authenticator.invitations.all()[0]
    yield from open_pages(page, origin, page_addresses(appliance.service.routes, invitation.id, invitation.code))
    yield _open(page, origin, NOT_INVITED, 404)
    yield _open(page, origin.replace(socket.gethostname(), "evil.example"), "/", 421)
    authenticator = appliance.daemon.authenticator
    page.context.add_cookies([{"name": name, "value": authenticator.devices.add("Guest", Role.GUEST), "url": origin}])
    yield _open(page, origin, "/settings", 403)
    page.context.clear_cookies()
    yield _open(page, origin, "/sign-in")
    authenticator.setup_code = SETUP_CODE
    try:
        for path in ("/setup", f"/setup?code={SETUP_CODE}"):
            yield _open(page, origin, path)
    finally:
        authenticator.setup_code = ""


def open_pages(page: Page, origin: str, paths: Iterable[str]) -> Iterator[str]:
    """Open `paths` and pages of errors, and yield each."""
    for path in (*paths, *ERRORS):
        yield _open(page, origin, path, 404 if path in ERRORS else 200)


def _open(page: Page, origin: str, path: str, status: int = 200) -> str:
    answer = page.goto(origin + path)
    assert answer
    assert answer.status == status, (path, answer.status, answer.text()[-500:])
    return path
