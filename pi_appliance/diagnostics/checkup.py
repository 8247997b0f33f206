"""The doctor's checklist: every check in turn, whatever becomes of the one before."""

from collections.abc import Callable, Iterator, Sequence

from pi_appliance.diagnostics import feature_checks, job_checks, machine_checks, service_checks
from pi_appliance.diagnostics.context import DiagnosticContext
from pi_appliance.diagnostics.result import CheckResult, Status, warn

_TELL = "tell the makers of it: pi-appliance doctor --bundle doctor.tar.gz"
CHECKS: tuple[tuple[str, Callable[[DiagnosticContext], Iterator[CheckResult]]], ...] = (
    ("configuration", feature_checks.configuration),
    ("secrets", feature_checks.keys),
    ("networks", feature_checks.networks),
    ("clock", machine_checks.clock),
    ("time zone", machine_checks.time_zone),
    ("cron", job_checks.check_cron),
    ("crontab", job_checks.table),
    ("daemon", service_checks.daemon),
    ("unit", service_checks.unit),
    ("failed units", service_checks.failed),
    ("state folder", service_checks.folder),
    ("state is kept", service_checks.memory),
    ("space", service_checks.space),
    ("history", service_checks.history),
    ("card", machine_checks.card),
    ("temperature", machine_checks.temperature),
    ("power", machine_checks.power),
    ("player", feature_checks.player),
    ("jobs", job_checks.jobs),
    ("posts", feature_checks.posts),
    ("puzzles", feature_checks.kernels),
)


def run(patient: DiagnosticContext) -> Iterator[CheckResult]:
    """Yield what each check found, as it is found. A check that falls over is a line like any other."""
    for name, check in CHECKS:
        try:
            yield from check(patient)
        except Exception as error:  # noqa: BLE001 - the edge: who looks for a fault must not be stopped by one
            what = " ".join(f"{type(error).__name__}: {error}".split())
            yield warn(name, f"could not look: {what}", _TELL)


def fails(found: list[CheckResult]) -> bool:
    """Say whether something does not work."""
    return any(finding.status is Status.FAIL for finding in found)


_WORDS = {Status.OK: "ok", Status.WARN: "warn", Status.FAIL: "FAIL", Status.SKIPPED: "-"}
_WIDTH = 15  # of the names of most checks


def line(finding: CheckResult) -> str:
    """Return FINDING in one line, and in a second one what mends it."""
    text = f"{_WORDS[finding.status]:<4}  {finding.check:<{_WIDTH}}  {finding.summary}"
    return f"{text}\n      {'':<{_WIDTH}}  mend: {finding.fix}" if finding.fix else text


def summary(found: Sequence[CheckResult]) -> str:
    """Return the last line of the checklist."""
    fails, warns = (sum(each.status is kind for each in found) for kind in (Status.FAIL, Status.WARN))
    if not fails and not warns:
        return "all well"
    return (
        f"{fails or 'nothing'} {'fails' if fails < 2 else 'fail'}, {warns or 'no'} warning{'' if warns == 1 else 's'}"
    )


def values(finding: CheckResult) -> dict[str, str]:
    """Return FINDING as plain values."""
    return {"check": finding.check, "state": finding.status, "found": finding.summary, "mend": finding.fix}
