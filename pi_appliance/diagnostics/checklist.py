"""The doctor's checklist. A check that fails does not stop the others."""

from collections.abc import Callable, Iterator, Sequence

from pi_appliance.diagnostics import feature_checks, job_checks, machine_checks, service_checks
from pi_appliance.diagnostics.context import DiagnosticContext
from pi_appliance.diagnostics.result import CheckResult, Status, warn

_TELL = "tell the makers of it: pi-appliance doctor --bundle doctor.tar.gz"
CHECKS: tuple[tuple[str, Callable[[DiagnosticContext], Iterator[CheckResult]]], ...] = (
    ("configuration", feature_checks.check_configuration),
    ("secrets", feature_checks.check_secrets),
    ("networks", feature_checks.check_networks),
    ("clock", machine_checks.check_clock),
    ("time zone", machine_checks.check_time_zone),
    ("cron", job_checks.check_cron),
    ("crontab", job_checks.check_crontab),
    ("daemon", service_checks.check_daemon),
    ("unit", service_checks.check_units),
    ("failed units", service_checks.check_failed_units),
    ("state folder", service_checks.check_state_dir),
    ("state is kept", service_checks.check_state_is_kept),
    ("space", service_checks.check_space),
    ("history", service_checks.check_history),
    ("card", machine_checks.check_sd_card),
    ("temperature", machine_checks.check_temperature),
    ("power", machine_checks.check_power),
    ("player", feature_checks.check_player),
    ("jobs", job_checks.check_jobs),
    ("posts", feature_checks.check_posts),
    ("puzzles", feature_checks.check_kernels),
)


def run_checks(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Yield the results of all checks. An exception in a check becomes a warning."""
    for name, check in CHECKS:
        try:
            yield from check(context)
        except Exception as error:  # noqa: BLE001 - the edge: who looks for a fault must not be stopped by one
            what = " ".join(f"{type(error).__name__}: {error}".split())
            yield warn(name, f"could not look: {what}", _TELL)


def has_failures(found: list[CheckResult]) -> bool:
    """Say whether something does not work."""
    return any(finding.status is Status.FAIL for finding in found)


_WORDS = {Status.OK: "ok", Status.WARN: "warn", Status.FAIL: "FAIL", Status.SKIPPED: "-"}
_WIDTH = 15  # of the names of most checks


def format_result(finding: CheckResult) -> str:
    """Return `finding` as one line, followed by a line with the fix, if any."""
    text = f"{_WORDS[finding.status]:<4}  {finding.check:<{_WIDTH}}  {finding.summary}"
    return f"{text}\n      {'':<{_WIDTH}}  fix: {finding.fix}" if finding.fix else text


def summary(found: Sequence[CheckResult]) -> str:
    """Return the last line of the checklist."""
    fails, warns = (sum(each.status is kind for each in found) for kind in (Status.FAIL, Status.WARN))
    if not fails and not warns:
        return "all well"
    return (
        f"{fails or 'nothing'} {'fails' if fails < 2 else 'fail'}, {warns or 'no'} warning{'' if warns == 1 else 's'}"
    )


def result_values(finding: CheckResult) -> dict[str, str]:
    """Return FINDING as plain values."""
    return {"check": finding.check, "status": finding.status, "summary": finding.summary, "fix": finding.fix}
