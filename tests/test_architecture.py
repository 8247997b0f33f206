"""The import table of docs/architecture.md: which package may import which, the pure modules, one file per library."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pi_appliance"
FILES = sorted(PACKAGE.rglob("*.py"))

PLATFORM = {"errors", "plugins", "roles", "operations", "json_schema", "system"}
FEATURES = {"posting", "music", "puzzles", "notify", "settings", "triggers", "wifi"}
SURFACES = {"api", "pages", "cli", "page", "text", "webhooks"}
MAY_IMPORT = {
    "errors": set[str](),
    "plugins": {"errors"},
    "roles": set[str](),
    "operations": {"errors", "roles"},
    "json_schema": set[str](),
    "system": {"errors"},
    "config": PLATFORM,
    "storage": PLATFORM | {"config"},
    "scheduling": PLATFORM | {"config", "storage"},
    "jobs": PLATFORM | {"config", "storage", "scheduling"},
    "cluster": PLATFORM | {"config", "storage", "scheduling", "jobs"},
    **{feature: PLATFORM | {"config", "storage", "scheduling", "jobs", "cluster"} for feature in FEATURES},
    "diagnostics": PLATFORM | {"config", "storage", "scheduling", "jobs", "cluster"} | FEATURES,
    "maintenance": PLATFORM | {"config", "storage", "scheduling", "jobs", "diagnostics"},
    "web": PLATFORM | {"config", "storage", "scheduling"},
    "cli": PLATFORM | {"config", "storage", "scheduling"},
    "access": PLATFORM | {"config", "storage", "scheduling", "web"},
}
"""What wires everything may import all: app, daemon and the other modules at the top of the package."""

# The schedule's grammar is needed to read the configuration, and imports nothing but itself.
GRAMMAR = {"scheduling.chance", "scheduling.schedule", "scheduling.slot_times", "scheduling.explanation"}

PURE = {
    "config.units",
    "music.alarms.fade",
    "music.model",
    "posting.graphemes",
    "posting.lines",
    "posting.x_text",
    "scheduling.chance",
    "scheduling.slot_times",
    "scheduling.missed_slots",
    "scheduling.schedule",
}
"""Modules of rules: no clock, disk, network or thread."""
IMPURE = {"asyncio", "http", "os", "shutil", "socket", "sqlite3", "subprocess", "threading", "time", "urllib"}


def name_of(path: Path) -> str:
    """Return the dotted name of a module below the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path) for path in FILES}


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return every module that the file imports, at any level."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name.removeprefix("pi_appliance.") in MODULES else str(node.module)


def may_import(module: str, target: str) -> bool:
    """Return whether the import table lets `module` import `target`, both below the package."""
    package, other = module.partition(".")[0], target.partition(".")[0]
    if package == other or package not in MAY_IMPORT or other in MAY_IMPORT[package]:
        return True
    is_surface = not SURFACES.isdisjoint(part.partition("_")[0] for part in module.split(".")[1:])
    if other in {"web", "cli"} and is_surface:
        return True
    return package == "config" and target in GRAMMAR


def forbidden_imports(path: Path) -> Iterator[str]:
    """Return the forbidden imports of a file."""
    module = name_of(path)
    for name in imports(path):
        top, _, target = name.partition(".")
        if top == "pi_appliance" and target in MODULES:
            if not may_import(module, target):
                yield f"{module} must not import {target}"
            folder, _, file = target.rpartition(".")
            if file.startswith("_") and folder and not module.startswith(folder):
                yield f"{module} must not import {target}, which is private to its package"
        if module in PURE and top in IMPURE and not name.startswith("urllib.parse"):
            yield f"{module} is pure: no {top}"


def test_each_module_keeps_to_the_import_table() -> None:
    assert [problem for path in FILES for problem in forbidden_imports(path)] == []


PUZZLE_APPLICATION = {"api", "boards", "cli", "cli_options", "operations", "pages", "picture", "puzzle_job"}
"""Modules of puzzles/ that belong to the appliance; the others are a library."""


def test_the_puzzle_library_imports_only_itself() -> None:
    allowed = ("pi_appliance.puzzles", "pi_appliance.errors")
    assert [
        f"{name_of(path)} imports {name}"
        for path in FILES
        if name_of(path).startswith("puzzles") and PUZZLE_APPLICATION.isdisjoint(name_of(path).split(".")[1:2])
        for name in imports(path)
        if name.startswith("pi_appliance") and not name.startswith(allowed)
    ] == []


LIBRARIES = {
    "PIL": {"music.covers", "puzzles.picture", "puzzles.raster"},
    "aiomqtt": {"triggers.mqtt"},
    "apprise": {"notify.notifiers.apprise"},
    "cattrs": {"config.binding"},
    "cronsim": {"scheduling.schedule"},
    "crontab": {"scheduling.crontab"},
    "cryptography": {"cluster.certificates", "storage.backup_archive"},
    "distributed": {"cluster.member", "cluster.client"},
    "gpiozero": {"triggers.buttons"},
    "h11": {"music.volumio.client"},
    "httpx": {"system.http"},
    "mastodon": {"posting.networks._mastodon_client"},
    "mpd": {"music.mpd.connection"},
    "prometheus_client": set(),  # tests only: it would cost the idle daemon 13 MB
    "pysat": {"puzzles.sudoku.sat"},
    "segno": {"web.qr_code"},
    "sqlite3": {"storage.damage_recovery", "storage.database"},
    "tweepy": {"posting.networks._x_client"},
    "wcwidth": {"posting.graphemes"},
    "yaml": {"config.editing", "config.yaml_tree"},
    "zeroconf": {"cluster.tasks", "discovery"},
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_known_to_its_modules_only(library: str) -> None:
    users = {name_of(path) for path in FILES if library in {name.partition(".")[0] for name in imports(path)}}
    assert users <= LIBRARIES[library]


def test_nothing_else_is_at_the_top() -> None:
    known = {"pi_appliance", "config", "systemd", "deploy", "tests", "docs", "build", "dist", "pi_appliance.egg-info"}
    top = PACKAGE.parent
    assert {item.name for item in top.iterdir() if item.is_dir() and not item.name.startswith((".", "__"))} <= known


def test_every_package_is_listed() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    packages = {".".join(path.parent.relative_to(PACKAGE.parent).parts) for path in PACKAGE.rglob("__init__.py")}
    assert listed == packages | {"pi_appliance.starter_config", "pi_appliance.units"}, (
        "add it to `packages` in pyproject.toml"
    )
