"""Fixtures of the page: a service with a player and a job that says hello."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.served_appliance import ServedAppliance, configuration, serving, set_password


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(configuration(tmp_path)) as result:
        yield result


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[ServedAppliance]:
    """Like `appliance`, with the password "open sesame"."""
    config = configuration(tmp_path)
    set_password(config, "open sesame")
    with serving(config) as result:
        yield result
