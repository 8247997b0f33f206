"""The doctor's checklist: every check in turn, whatever becomes of the one before."""

from collections.abc import Callable, Iterator

from pi_appliance.engine.checks import clocks, cron, jobs, machine, music, posts, puzzles, service, settings, state
from pi_appliance.engine.checks.patient import Patient
from pi_appliance.model.finding import Finding, Verdict, warn

_TELL = "tell the makers of it: pi-appliance doctor --bundle doctor.tar.gz"
CHECKS: tuple[tuple[str, Callable[[Patient], Iterator[Finding]]], ...] = (
    ("configuration", settings.configuration),
    ("secrets", settings.keys),
    ("networks", settings.networks),
    ("clock", clocks.clock),
    ("time zone", clocks.time_zone),
    ("cron", cron.cron),
    ("crontab", cron.table),
    ("daemon", service.daemon),
    ("unit", service.unit),
    ("failed units", service.failed),
    ("state folder", state.folder),
    ("state is kept", state.memory),
    ("space", state.space),
    ("history", state.history),
    ("card", machine.card),
    ("temperature", machine.temperature),
    ("power", machine.power),
    ("player", music.player),
    ("jobs", jobs.jobs),
    ("posts", posts.posts),
    ("puzzles", puzzles.kernels),
)


def run(patient: Patient) -> Iterator[Finding]:
    """Yield what each check found, as it is found. A check that falls over is a line like any other."""
    for name, check in CHECKS:
        try:
            yield from check(patient)
        except Exception as error:  # noqa: BLE001 - the edge: who looks for a fault must not be stopped by one
            what = " ".join(f"{type(error).__name__}: {error}".split())
            yield warn(name, f"could not look: {what}", _TELL)


def fails(found: list[Finding]) -> bool:
    """Say whether something does not work."""
    return any(finding.verdict is Verdict.FAIL for finding in found)
