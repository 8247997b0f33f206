"""The real daemon with a real MPD: every page in three windows, light and dark, without a fault.

With PI_APPLIANCE_SCREENSHOTS=FOLDER each page is also saved as a picture.
"""

import os
import re
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Cookie, expect

from pi_appliance.puzzles.puzzle_job import Options, run
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock
from tests.fakes.context import FakeContext
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.installation import Installation
from tests.test_daemon import running_daemon
from tests.web.every_page import open_pages, page_addresses
from tests.web.served_appliance import configuration, serving, set_password
from tests.web.test_accessibility import violations
from tests.web.test_art import draw_picture
from tests.web.test_browser import WIDTHS, browser, pytestmark

pytestmark = [pytestmark, pytest.mark.slow, needs_mpd]
__all__ = ["browser"]
SCREENSHOTS = os.environ.get("PI_APPLIANCE_SCREENSHOTS", "")
SIZES = ((390, 844), (844, 390), (1280, 800))
JOBS = """
hello:
  kind: command
  schedule: "30 3 * * *"
  with: {run: ["echo", "good morning"]}
backup:
  kind: command
  schedule: {every: 6h}
  with: {run: ["false"]}
pegs:
  kind: puzzle
  schedule: "0 2 * * *"
  with: {puzzle: peg-solitaire, boards: [cross, full]}
daily:
  kind: puzzle
  with: {puzzle: sudoku, generate: 1}
tweets:
  kind: tweet
  schedule: "0 12 * * *"
  chance: 1/4
  with: {lines: tweets.txt, network: [show]}
weekdays:
  kind: music
  schedule: "45 6 * * mon-fri"
  with: {action: alarm, play: [Radio Swiss Jazz], duration: 1h, volume: 35}
weekend:
  kind: music
  schedule: "0 9 * * sat,sun"
  with: {action: alarm, play: [Groove], duration: 1h, volume: 30}
"""
REST = """name: Kitchen
web: {port: 0}
stations: stations.yaml
volume: {maximum: 60}
networks:
  bird: {kind: x, with: {monthly-cap: 5}}
  dear: {kind: mastodon, with: {server: "https://social.example"}}
  show: {kind: preview}
"""
STATIONS = """- {name: Radio Swiss Jazz, url: "http://radio.example/jazz", genre: Jazz}
- {name: Groove, url: "http://radio.example/groove", genre: Soul}
- {name: France Musique, url: "http://radio.example/france", genre: Classical}
"""
LINES = """A cube has 43 quintillion states. This one needs 17 turns.
Good morning! The kettle is on, and the night solved two boards of peg solitaire.
# not yet
Every board of peg solitaire has a parity. Most start in one that cannot be solved.
"""
ALBUMS = (
    ("Miles Davis", "Kind of Blue", "navy"),
    ("Nina Simone", "Pastel Blues", "teal"),
    ("Air", "Moon Safari", "gold"),
)
SQUARE = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9' width='90' height='90'><path d='M1 1h7v7h-7z'/></svg>"
)
TITLES = ("So What", "Freddie Freeloader", "A Very Long Title of a Track That Does Not Fit in One Line of a Phone")


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    music = {
        f"{artist}/{album}/{number}.wav": (
            title,
            artist,
            album,
            "",
            "Jazz",
            "1959",
            str(number),
            draw_picture("JPEG", (500, 500), colour=colour),
        )
        for artist, album, colour in ALBUMS
        for number, title in enumerate(TITLES, start=1)
    }
    with running_mpd(
        tmp_path_factory.mktemp("mpd"), music=music, databases=("playlists", "stickers"), outputs=("Kitchen", "Garden")
    ) as server:
        server.mpc("add", *sorted(music))
        server.mpc("save", "Evening")
        server.mpc("volume", "40")
        server.mpc("play")
        server.mpc("pause")
        yield server


@pytest.fixture(scope="module")
def page_address(tmp_path_factory: pytest.TempPathFactory, player: MpdServer) -> Iterator[str]:
    """Run the daemon, with a history, and yield the address of its page."""
    installation = Installation(tmp_path_factory.mktemp("appliance"))
    for name, text in (("stations.yaml", STATIONS), ("tweets.txt", LINES)):
        (installation.folder / name).write_text(text, "utf-8")
    installation.write(JOBS, f"{REST}player: {{kind: mpd, with: {{address: '{player.address}'}}}}")
    set_password(installation.config, "open sesame")
    with Appliance.open(installation.config) as appliance:
        add_history(appliance)
    with running_daemon(installation) as daemon:
        yield daemon.page.replace("127.0.0.1", socket.gethostname())  # an invitation is for other devices


def add_history(appliance: Appliance) -> None:
    """Record runs of a month, and the reports of one night."""
    for number in range(60):
        now = clock.now() - timedelta(hours=12 * (60 - number))
        for name, outcome, summary in (
            ("hello", Outcome.SUCCEEDED, "good morning"),
            ("backup", Outcome.FAILED if number % 20 > 17 else Outcome.SUCCEEDED, "exit status 1"),
            ("tweets", Outcome.SKIPPED if number % 4 else Outcome.SUCCEEDED, "not selected: the chance is 1/4"),
        ):
            job, _ = appliance.store.start_run(job=name, kind="command", trigger=Trigger.DAEMON, due=None, now=now)
            appliance.store.finish_run(job, outcome, summary, now=now + timedelta(seconds=number), attempts=1)
    options = Options(puzzle="peg-solitaire", boards=[Path("cross"), Path("full")])
    run(options, FakeContext(appliance.config.reports / "pegs", job="pegs"))
    for name, text in (("posts.txt", LINES), ("table.csv", "board,jumps\ncross,5\n"), ("board.svg", SQUARE)):
        (appliance.config.reports / "hello").mkdir(exist_ok=True)
        (appliance.config.reports / "hello" / name).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def addresses(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, page_address: str
) -> tuple[list[str], list[Cookie]]:
    """Sign in, invite a device, and return the addresses of all pages with the cookies of the owner."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{page_address}/devices/invite")
    page.get_by_label("Password").fill("open sesame")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Name").fill("Anna")
    page.get_by_label("1 day").check()
    page.get_by_role("button", name="Show the code").click()
    expect(page.locator(".qr")).to_be_visible()
    match = re.search(r"/join/(\S+)", page.locator("main").inner_text())
    assert match
    with serving(configuration(tmp_path_factory.mktemp("routes"))) as appliance:
        paths = page_addresses(appliance.service.routes, page.url.rpartition("/")[2], match[1])
    cookies = context.cookies()
    context.close()
    return paths, cookies


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=["portrait", "landscape", "desktop"])
def test_every_page_of_the_real_daemon_is_without_a_fault(
    browser: Browser,
    page_address: str,
    addresses: tuple[list[str], list[Cookie]],
    size: tuple[int, int],
    scheme: Literal["light", "dark"],
) -> None:
    paths, cookies = addresses
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True
    )
    context.add_cookies([{"name": each["name"], "value": each["value"], "url": page_address} for each in cookies])
    page = context.new_page()
    page.on("console", lambda message: messages.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: messages.append(str(error)))
    faults, messages = [], list[str]()
    for number, path in enumerate(open_pages(page, page_address, paths)):
        messages.clear()
        shown, window = page.evaluate(WIDTHS)
        wrong = [f"{shown} pixels wide"] if shown > window else []
        faults += [f"{path}: {each}" for each in (*wrong, *violations(page), *messages)]
        if SCREENSHOTS:
            name = f"{size[0]}-{scheme}-{number:02}{re.sub(r'[^a-z0-9]+', '-', path)[:40]}.png"
            page.screenshot(path=Path(SCREENSHOTS) / name, full_page=True)
    context.close()
    assert not faults, "\n".join(faults)
