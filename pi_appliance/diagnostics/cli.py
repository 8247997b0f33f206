"""The command `pi-appliance doctor`: all checks."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from pi_appliance.cli.client import json_option, optional_config_option, visible
from pi_appliance.diagnostics import appliance_checks, machine_checks
from pi_appliance.diagnostics.context import Check, CheckResult, DiagnosticContext, Status, run_checks
from pi_appliance.diagnostics.support_bundle import write_bundle
from pi_appliance.errors import ConfigNotFound
from pi_appliance.operations import to_json

CHECKS: tuple[tuple[str, Check], ...] = (
    ("configuration", appliance_checks.check_configuration),
    ("secrets", appliance_checks.check_secrets),
    ("networks", appliance_checks.check_networks),
    ("clock", machine_checks.check_clock),
    ("time zone", machine_checks.check_time_zone),
    ("cron", appliance_checks.check_cron),
    ("crontab", appliance_checks.check_crontab),
    ("daemon", machine_checks.check_daemon),
    ("unit", machine_checks.check_units),
    ("failed units", machine_checks.check_failed_units),
    ("state folder", machine_checks.check_state_dir),
    ("state is kept", machine_checks.check_state_is_kept),
    ("space", machine_checks.check_space),
    ("history", machine_checks.check_history),
    ("card", machine_checks.check_sd_card),
    ("temperature", machine_checks.check_temperature),
    ("power", machine_checks.check_power),
    ("sound card", appliance_checks.check_sound_card),
    ("player", appliance_checks.check_player),
    ("triggers", appliance_checks.check_triggers),
    ("jobs", appliance_checks.check_jobs),
    ("posts", appliance_checks.check_posts),
    ("puzzles", appliance_checks.check_kernels),
)


def has_failures(results: Sequence[CheckResult]) -> bool:
    """Return whether a check failed."""
    return any(each.status is Status.FAIL for each in results)


_LABELS = {Status.OK: "ok", Status.WARN: "warn", Status.FAIL: "FAIL", Status.SKIPPED: "-"}
_WIDTH = 15  # of the names of most checks


def format_result(result: CheckResult) -> str:
    """Return `result` as one line, followed by a line with the fix, if any."""
    text = f"{_LABELS[result.status]:<4}  {result.check:<{_WIDTH}}  {result.summary}"
    return f"{text}\n      {'':<{_WIDTH}}  fix: {result.fix}" if result.fix else text


def summarize(results: Sequence[CheckResult]) -> str:
    """Return the last line of the checklist."""
    fails, warns = (sum(each.status is kind for each in results) for kind in (Status.FAIL, Status.WARN))
    if not fails and not warns:
        return "all well"
    return (
        f"{fails or 'nothing'} {'fails' if fails < 2 else 'fail'}, {warns or 'no'} warning{'' if warns == 1 else 's'}"
    )


@click.command("doctor", short_help="Check the whole appliance, and show how to fix problems.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write FILE, a tar.gz without secrets, for remote help.",
)
@json_option
@optional_config_option
def command(bundle: Path | None, as_json: bool, config: Path | ConfigNotFound) -> None:
    """Check configuration, clock, cron, service, state folder, card, player and jobs.

    Each check prints one line: ok, warn, FAIL, or - if it does not apply. The fix is below a warn
    or a FAIL. Nothing is changed. Run it as the owner of the appliance, because other users cannot
    read everything.

    \b
    Exit status:
      0   no check fails; there may be warnings
      1   a check fails
      75  the bundle cannot be written
    """
    context = DiagnosticContext.inspect(config, os.environ)
    results = []
    for result in run_checks(context, CHECKS):
        results.append(result)
        if not as_json:
            click.echo(visible(format_result(result)))
    click.echo(json.dumps(to_json(results)) if as_json else summarize(results))
    if bundle is not None:
        for name in write_bundle(bundle, context, results):
            click.echo(f"{bundle}: {name}", err=True)
    if has_failures(results):
        raise SystemExit(1)
