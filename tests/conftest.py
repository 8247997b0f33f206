"""Fixtures that every test may use, and which worker runs what when several do."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.house import House
from tests.nobody import abroad, anywhere

__all__ = ["abroad", "anywhere", "house"]

# Machines are noisy: how long one example takes says nothing.
settings.register_profile("appliance", deadline=None)
settings.load_profile("appliance")


LONG = {"faults", "test_year.py"}  # the folder and the file whose tests take longest


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_xdist_auto_num_workers() -> int:
    """Have two workers a processor: most tests wait most of their time, for a daemon, a player or a clock."""
    return 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let one worker run what changes the machine itself: there is one crontab. Several begin with what takes long."""
    for item in items:
        if "system" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("machine"))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: LONG.isdisjoint(item.path.parts))


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Return a whole appliance in a folder whose name has a space in it."""
    folder = tmp_path / "my house"
    folder.mkdir()
    return House(folder)
