"""Fixtures for all tests, and the distribution of tests to the workers of pytest-xdist."""

import gc
import logging
import os
import re
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.installation import Installation
from tests.other_user import public_installation, public_python
from tests.warm_program import use_for_all_processes

__all__ = ["installation", "public_installation", "public_python"]

# The duration of one example depends on the load of the machine: no deadline.
settings.register_profile("daily", max_examples=10, deadline=None)
settings.register_profile("all", max_examples=100, deadline=None)  # with --hypothesis-profile=all
settings.load_profile("daily")

# A shell starts a program in the background with SIGINT ignored, which the programs of the tests would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Daemons of the tests listen in their own folder, so that no command reaches the appliance of the user.
_RUNTIME_DIR = TemporaryDirectory(prefix="pa-")
os.environ["XDG_RUNTIME_DIR"] = _RUNTIME_DIR.name

use_for_all_processes()

# Files and folders with the longest tests, which begin first.
LONG = {
    "test_daemon.py",
    "test_hub_kills.py",
    "test_kills.py",
    "test_night.py",
    "test_process_tree.py",
    "test_tweet_job.py",
    "test_year.py",
    "web",
}
# Files that test invariants, such as no double post: a failure counts even if the test then passes alone.
INVARIANTS = {
    "test_damage_recovery.py",
    "test_exactly_once.py",
    "test_full_disk.py",
    "test_hub_kills.py",
    "test_kills.py",
}
# Tests that one worker runs, because they ...
TOGETHER = {
    # change the crontab, the users or the mounts of the machine, or emulate one,
    "the machine": re.compile(r"/(usb/|vm/|test_(cli_crontab|crontab|cron_slot_ledger|deploy_scripts|limits))"),
    # build tables for seconds,
    "the cube": re.compile(r"/rubiks_cube/|\[rubiks"),
    # copy Python for another user, who cannot read ours.
    "another user": re.compile(r"/test_(cli_networks|doctor|full_disk)\.py"),
}
SHARED = re.compile(
    r"browser\.py|music/(cli|mpd)/|/test_music|test_job_on_mpd|alarms/test_pages|test_chance_statistics"
    r"|test_architecture|/test_(api_walls|daily|end_to_end|job_form|openapi|player_real|remote|roles)\.py"
)  # files whose tests share one browser, one MPD, one list of draws, one parsed package, ...
FEW_FILES = 20


class Sharing(LoadScopeScheduling):
    """Assign the next file to each free worker, because the tests of a file share players, solutions and tables.

    If there are only a few files, or the file is one of the longest, a worker gets single tests, unless
    setup is slow. Tests that change the machine all run in one worker, as there is one crontab.
    """

    has_many_files = False

    def schedule(self) -> None:
        """Count the files before the tests are distributed."""
        files = {nodeid.partition("::")[0] for tests in self.registered_collections.values() for nodeid in tests}
        self.has_many_files = len(files) > FEW_FILES
        self.config.option.loadscopereorder = False  # it would put the longest tests, which are single, last
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        for scope, pattern in TOGETHER.items():
            if pattern.search(nodeid):
                return scope
        is_long = file.rpartition("/")[2] in LONG
        return file if (self.has_many_files and not is_long) or SHARED.search(file) else nodeid

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget units without open tests: the scheduler would count those of all units after each test."""
        super().mark_test_complete(node, item_index, duration)
        units = self.assigned_work[node]
        for name in [name for name, tests in units.items() if all(tests.values())]:
            del units[name]


@pytest.hookimpl(optionalhook=True)  # there is none with -p no:xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    """Distribute the tests. The groups of xdist have no effect from pytest 9.2 on."""
    return Sharing(config, log)


@pytest.hookimpl(optionalhook=True)  # there is none with -p no:xdist
def pytest_xdist_auto_num_workers() -> int:
    """Use two workers per processor: most tests mostly wait for a daemon, a player or a clock."""
    return 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(tryfirst=True)  # before -m selects by the markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow variants, and start with the longest tests if there are several workers."""
    visited = set[str]()
    for item in items:
        function = item.nodeid.partition("[")[0]
        if function in visited and item.get_closest_marker("slow_variants"):
            item.add_marker("slow")
        visited.add(function)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: LONG.isdisjoint(item.path.parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave the hundred thousands of objects of the collected tests out of every garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before the fixtures
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a test of an invariant fail when deploy/test.sh repeats failed tests, as its failure may be rare and real."""
    if "PI_APPLIANCE_SECOND_TRY" in os.environ and (item.path.name in INVARIANTS or item.get_closest_marker("faults")):
        pytest.fail("it failed beside others, which counts: what it tests must not happen even once", pytrace=False)


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Return an installation in a folder with a space in its name."""
    folder = tmp_path / "my appliance"
    folder.mkdir()
    return Installation(folder)


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """Return a folder whose path is short enough for a unix socket."""
    with TemporaryDirectory(prefix="pa-") as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    """Undo what a command in this process changes for all later tests: it silences loggers of libraries."""
    loggers, disabled = logging.root.manager.loggerDict, logging.root.manager.disable
    before = {name: (each.level, each.propagate) for name, each in loggers.items() if isinstance(each, logging.Logger)}
    yield
    if logging.root.manager.disable != disabled:
        logging.disable(disabled)
    for name, logger in loggers.items():
        if isinstance(logger, logging.Logger):
            level, logger.propagate = before.get(name, (logging.NOTSET, True))
            if logger.level != level:  # to set it takes a millisecond, as the caches of all loggers are cleared
                logger.setLevel(level)
