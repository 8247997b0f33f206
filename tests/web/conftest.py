"""What the tests of the page share: one service with a player and a job that says hello."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.served_appliance import World, configuration, served, set_password


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with served(configuration(tmp_path)) as found:
        yield found


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[World]:
    """As `world`, with the password "open sesame"."""
    config = configuration(tmp_path)
    set_password(config, "open sesame")
    with served(config) as found:
        yield found
