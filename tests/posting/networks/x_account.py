"""An account on a fake X."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.config.options import NetworkDirs
from pi_appliance.posting.model import Network, Post
from pi_appliance.posting.networks import x
from tests.fakes.x_server import SECRETS, FakeX, fake_x

HELLO = Post("hello")


@pytest.fixture
def server() -> Iterator[FakeX]:
    with fake_x() as fake:
        yield fake


@pytest.fixture
def place(tmp_path: Path) -> NetworkDirs:
    return NetworkDirs(tmp_path / "private", tmp_path / "public")


def connected(
    server: FakeX | str, place: NetworkDirs | None = None, *, secrets: Mapping[str, str] = SECRETS, **options: Any
) -> Network:
    """Return the network; without a `place` it stores nothing."""
    address = server if isinstance(server, str) else server.address
    options = {"timeout": timedelta(seconds=5), **options}
    nowhere = NetworkDirs(Path("/dev/null/private"), Path("/dev/null/public"))
    return x.connect(x.Options(server=address, **options), secrets, place or nowhere)
