"""The floors of the house: a file imports its own folder and lower floors; one file per foreign library."""

import ast
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pi_appliance"
FLOORS = [
    {"errors", "model"},
    {"ports_player", "ports_work"},
    {"core", "puzzles", "ports", "registry"},
    {"config"},
    {"jobs", "networks", "notices", "players", "store", "reports", "system"},
    {"engine"},
    {"web", "bridge"},
    {"cli"},
    {"__main__"},
]
HEIGHTS = {name: height for height, names in enumerate(FLOORS) for name in names}
PURE = {"errors", "model", "core", "puzzles", "ports", "ports_player", "ports_work"}
# What a clock, a disk, a network or a thread is reached through.
IMPURE = {"asyncio", "http", "os", "shutil", "socket", "sqlite3", "subprocess", "threading", "time", "urllib"}
PLUGINS = {"jobs", "networks", "notices", "players", "cli"}
ONE_HOME = {
    "PIL": {"music/thumbnails.py", "puzzles/picture.py"},
    "apprise": {"notify/notifiers/apprise.py"},
    "mastodon": {"posting/networks/_mastodon_client.py"},
    "tweepy": {"posting/networks/x.py"},
    "mpd": {"music/mpd/connection.py"},
    "h11": {"music/volumio/client.py", "music/volumio/push.py"},  # a line to Volumio, and what it calls back on
    "crontab": {"scheduling/crontab.py"},
    "yaml": {"config/yaml_source.py"},
    "cattrs": {"config/binding.py"},
    "cronsim": {"scheduling/cron.py"},
    "wcwidth": {"posting/x_text.py"},
    "pysat": {"puzzles/sudoku/sat.py"},
    "segno": {"qr_code.py"},
    "zeroconf": {"mdns.py"},
    "sqlite3": {"storage/database.py", "storage/recovery.py", "scheduling/fast_skip.py"},
    "prometheus_client": set(),  # the tests alone: it would cost the idle daemon 13 MB
}
FILES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> list[str]:
    """Return the modules that the file PATH imports, wherever in it, with the names taken from our own packages."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_keeps_to_its_floor(path: Path) -> None:
    place = path.relative_to(PACKAGE)
    here = place.parts[0].removesuffix(".py")
    for top, *rest in (name.split(".") for name in imports(path)):
        if top in ONE_HOME:
            assert str(place) in ONE_HOME[top], f"{top} has its home in {ONE_HOME[top]}"
        if top != "pi_appliance":
            takes_apart = (top, *rest[:1]) == ("urllib", "parse")  # an address, and asks nobody
            assert not (here in PURE and top in IMPURE) or takes_apart, f"{here} is pure: no {top}"
        elif here == "__init__" or rest[0] == "__version__":
            continue
        elif rest[0] != here:
            assert HEIGHTS.get(rest[0], -1) < HEIGHTS[here] or rest[0] in {"registry"}, (
                f"{here} must not know {rest[0]}"
            )
        elif here in PLUGINS and len(place.parts) == 2:
            assert rest[1].startswith("_"), f"plug-in {place} must not know plug-in {rest[1]}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_says_what_it_is_for_and_stays_short(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith('"""'), "the first line says which subject the file has"
    assert len(text.splitlines()) <= 340, "one subject a file: split it"


def test_every_folder_has_a_floor() -> None:
    tops = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES}
    assert tops <= set(HEIGHTS) | {"__init__"}


def test_nothing_else_lies_at_the_top() -> None:
    known = {"pi_appliance", "config", "systemd", "deploy", "tests", "docs"}
    top = PACKAGE.parent
    folders = {item.name for item in top.iterdir() if item.is_dir() and not item.name.startswith(".")}
    assert folders - {"build", "dist", "pi_appliance.egg-info", "__pycache__"} <= known


def test_every_folder_with_code_travels_in_the_package() -> None:
    listed = set(
        tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    )
    there = {".".join(path.parent.relative_to(PACKAGE.parent).parts) for path in PACKAGE.rglob("__init__.py")}
    assert listed == there | {"pi_appliance.starter", "pi_appliance.units"}, (
        "add the folder to `packages` in pyproject.toml"
    )
