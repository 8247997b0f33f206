"""pi-appliance doctor: whether everything is well, and what mends what is not."""

import json
import os
from pathlib import Path

import click

from pi_appliance.cli.options import json_option, optional_config_option
from pi_appliance.diagnostics import bundle as support
from pi_appliance.diagnostics import checklist
from pi_appliance.diagnostics.context import DiagnosticContext
from pi_appliance.errors import ConfigNotFound


@click.command("doctor", short_help="Say whether all is well, and what mends what is not.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write FILE, a tar.gz without secrets, for who is to help.",
)
@json_option
@optional_config_option
def command(bundle: Path | None, as_json: bool, config: Path | ConfigNotFound) -> None:
    """Look at configuration, clock, cron, service, state folder, card, player and jobs, and say what is wrong.

    A line for each check: ok, warn, FAIL, or - where there is no such thing here. Below a warn or a FAIL stands what
    mends it. Nothing is changed. Run it as the user whom the appliance belongs to: others cannot see everything.

    \b
    Exit status:
      0   nothing fails; there may be warnings
      1   something fails
      75  the bundle cannot be written
    """
    context = DiagnosticContext.inspect(config, os.environ)
    findings = []
    for finding in checklist.run_checks(context):
        findings.append(finding)
        if not as_json:
            click.echo(checklist.format_result(finding))
    click.echo(
        json.dumps([checklist.result_values(each) for each in findings]) if as_json else checklist.summary(findings)
    )
    if bundle is not None:
        for name in support.write_bundle(bundle, context, findings):
            click.echo(f"{bundle}: {name}", err=True)
    if checklist.has_failures(findings):
        raise SystemExit(1)
