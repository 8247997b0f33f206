"""Fixtures that every test may use."""

from pathlib import Path

import pytest
from hypothesis import settings

from tests.house import House
from tests.nobody import abroad, anywhere

__all__ = ["abroad", "anywhere", "house"]

# Machines are noisy: how long one example takes says nothing.
settings.register_profile("appliance", deadline=None)
settings.load_profile("appliance")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run what changes the machine itself: there is one crontab."""
    for item in items:
        if "system" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("machine"))


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Return a whole appliance in a folder whose name has a space in it."""
    folder = tmp_path / "my house"
    folder.mkdir()
    return House(folder)
