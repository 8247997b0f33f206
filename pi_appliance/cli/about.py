"""The commands `version` and `completion`."""

import click
from click.shell_completion import get_completion_class

from pi_appliance import __version__
from pi_appliance.cli import client
from pi_appliance.errors import ApplianceError
from pi_appliance.operations import DAEMON_MODULE, operations_in


@click.command("version", short_help="Show the version of the program and of the running appliance.")
def version() -> None:
    """Show the version of this program, and of the appliance if another version runs.

    \b
    Exit status:
      0  always
    """
    click.echo(f"pi-appliance {__version__}")
    status = next(each for each in operations_in(DAEMON_MODULE) if each.command == "status")
    try:
        running = client.run_operation(status, {}, None)
    except ApplianceError:
        return
    if isinstance(running, dict) and running["version"] != __version__:
        click.echo(f"running: {running['version']}; restart it to use this version")


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    For bash, add this line to ~/.bashrc:  eval "$(pi-appliance completion bash)"

    \b
    Exit status:
      0  it was printed
      2  the shell is not known
    """
    from pi_appliance.cli.program import cli  # noqa: PLC0415 - it imports this module

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "pi-appliance", "_PI_APPLIANCE_COMPLETE").source())
