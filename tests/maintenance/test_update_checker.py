"""The daemon checks for a newer release. Root installs it."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from pi_appliance.config.options import Config, Updates
from pi_appliance.errors import Refused
from pi_appliance.maintenance.releases import Installation
from pi_appliance.maintenance.update_check import UpdateChecker, UpdatePlaces
from tests.fakes.release_server import ReleaseServer, release_server

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[ReleaseServer]:
    with release_server("0.2.0", b"an archive") as started:
        yield started


@pytest.fixture
def places(tmp_path: Path, server: ReleaseServer) -> UpdatePlaces:
    home = tmp_path / "opt"
    home.mkdir()
    source = tmp_path / "update.conf"
    source.write_text(f"address={server.address}/releases\n")
    source.chmod(0o644)
    return UpdatePlaces(Installation(home), source, tmp_path / "update", home / "releases/0.1.0-here")


@dataclass
class Watch:
    """A checker with a clock that the test sets."""

    places: UpdatePlaces
    updates: Updates
    now: datetime = NOW
    checker: UpdateChecker = field(init=False)

    def __post_init__(self) -> None:
        config = Config(state_dir=self.places.request_file.parent, updates=self.updates)
        self.checker = UpdateChecker(lambda: config, lambda: self.now, self.places)

    def tick(self, **later: float) -> bool:
        """Advance the clock and tick; return whether an update was requested."""
        self.now += timedelta(**later)
        asyncio.run(self.checker.tick())
        return self.places.request_file.exists()

    def newest(self) -> str | None:
        return self.checker.newest.version if self.checker.newest else None


def write_progress(places: UpdatePlaces, **values: str) -> None:
    content = {"state": "failed", "version": "", "message": "", "steps": [], **values}
    places.installation.progress_file.write_text(json.dumps(content))


def test_it_looks_minutes_after_the_start_and_then_daily(server: ReleaseServer, places: UpdatePlaces) -> None:
    watch = Watch(places, Updates())
    watch.tick(minutes=1)
    assert watch.checker.checked_at is None
    assert not watch.tick(minutes=10), "the owner decides"
    assert watch.newest() == "0.2.0"
    server.offer("0.1.0", b"the present one")
    watch.tick(hours=23)
    assert watch.newest() == "0.2.0"
    watch.tick(hours=2)
    assert watch.newest() is None
    places.address_file.write_text("address=http://127.0.0.1:9/\n")
    watch.tick(days=1)
    assert "could not be reached" in watch.checker.error


def test_an_automatic_update_is_requested_once_at_its_time(server: ReleaseServer, places: UpdatePlaces) -> None:
    watch = Watch(places, Updates(check=False, automatic=time(4, 0)))
    assert not watch.tick(hours=15), "at 03:00"
    assert watch.tick(hours=1, minutes=10)
    places.request_file.unlink()
    assert not watch.tick(minutes=15)
    write_progress(places, version="0.2.0")
    assert not watch.tick(days=1), "what failed is not tried again every night"
    server.offer("0.3.0", b"another")
    assert watch.tick(days=1)


def test_what_the_owner_went_back_from_is_not_installed_again_by_itself(places: UpdatePlaces) -> None:
    write_progress(places, state="done", version="0.1.0", left="0.2.0")
    watch = Watch(places, Updates(automatic=time(4, 0)))
    assert not watch.tick(hours=17)
    assert watch.newest() == "0.2.0", "the page still offers it"


def test_without_an_address_nothing_is_asked(places: UpdatePlaces) -> None:
    places.address_file.unlink()
    watch = Watch(places, Updates())
    watch.tick(days=2)
    assert watch.checker.checked_at is None
    assert "write address=https://" in watch.checker.obstacle
    with pytest.raises(Refused, match="no newer release"):
        watch.checker.request()


def test_an_update_that_ended_in_a_power_loss_does_not_block_the_next(places: UpdatePlaces) -> None:
    write_progress(places, state="running", version="0.2.0")
    progress = places.installation.read_progress()
    assert (progress["state"], "interrupted" in progress["message"]) == ("failed", True)
    watch = Watch(places, Updates())
    watch.tick(days=1)
    watch.checker.request()
    assert places.request_file.exists()


def test_the_page_says_starting_until_root_has_begun(places: UpdatePlaces) -> None:
    write_progress(places, state="done", version="0.1.0")
    watch = Watch(places, Updates())
    watch.tick(days=1)
    watch.checker.request()
    assert (watch.checker.read_progress()["state"], watch.checker.read_progress()["version"]) == ("running", "0.2.0")
    watch.now += timedelta(minutes=3)
    assert "type on it: sudo pi-appliance update" in watch.checker.read_progress()["message"]
    write_progress(places, state="done", version="0.2.0")
    assert watch.checker.read_progress()["state"] == "done"


def test_a_second_request_during_an_update_is_refused(places: UpdatePlaces) -> None:
    watch = Watch(places, Updates())
    watch.tick(days=1)
    write_progress(places, state="running", version="0.2.0")
    with places.installation.lock(), pytest.raises(Refused, match="running already"):
        watch.checker.request()
