"""Fixtures of the music tests."""

from collections.abc import Iterator

import pytest

from tests.fakes.driven_time import DrivenTime
from tests.fakes.soft_player import registered_soft_kind
from tests.music.mpd.mpd_fixtures import full_library, server, three
from tests.web.conftest import appliance

__all__ = ["appliance", "full_library", "server", "three"]


@pytest.fixture
def driven() -> DrivenTime:
    return DrivenTime()


@pytest.fixture
def soft_players() -> Iterator[None]:
    """Register the player kind `soft`."""
    with registered_soft_kind():
        yield
