"""The fake Volumio in virtual time, for its own tests and those of the player."""

from collections.abc import Iterator

import pytest

from tests.fakes.volumio_server import VolumioServer, running_volumio


class Clock:
    """Time that advances only on demand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[VolumioServer]:
    with running_volumio(clock=clock) as running:
        yield running
