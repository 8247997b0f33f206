"""Slots that cron did not start are recorded once, with the next slot."""

from collections.abc import Iterator
from random import Random

import pytest

from pi_appliance.jobs import runner
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Outcome, Trigger
from tests.installation import Installation

JOB = "bot: {kind: command, started-by: cron, schedule: '@hourly', chance: 1/1000000, with: {run: ['true']}}"


@pytest.fixture
def appliance(installation: Installation) -> Iterator[Appliance]:
    installation.write(JOB, "retention: {max-age: 36500d}")
    with Appliance.open(installation.config) as opened:
        yield opened


def start(appliance: Appliance, *hours: int) -> None:
    """Start the slots of these hours as cron does."""
    for hour in hours:
        runner.run(appliance, "bot", Trigger.CRON, due=f"2026-05-01T{hour:02}:00:00Z", random=Random(1))


def test_slots_that_cron_missed_are_recorded_as_one(appliance: Appliance) -> None:
    start(appliance, 3, 4, 9, 10)
    missed = [run for run in appliance.store.history() if run.outcome is Outcome.MISFIRED]
    assert [(run.first_slot, run.scheduled_for, run.slot_count) for run in missed] == [
        ("2026-05-01T05:00:00Z", "2026-05-01T08:00:00Z", 4)
    ]


def test_a_slot_with_a_pruned_claim_is_not_missed(appliance: Appliance) -> None:
    start(appliance, 3, 4, 5)
    with appliance.store.writing() as db:  # as Store.prune does with those that are old
        db.execute("DELETE FROM claims")
    start(appliance, 6)
    assert [run.outcome for run in appliance.store.history()] == [Outcome.SKIPPED] * 4
