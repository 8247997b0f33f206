"""pi-appliance backup, restore: an archive of database and state."""

from pathlib import Path

import click

from pi_appliance.cli import client
from pi_appliance.cli.terminal import config_option
from pi_appliance.config.loader import load_config
from pi_appliance.errors import Refused
from pi_appliance.scheduling.appliance import refuse_as_root
from pi_appliance.storage.archive import restore_state, write_archive
from pi_appliance.storage.backup import open_history
from pi_appliance.system import files

_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.command("backup", short_help="Write database and state to an archive.")
@_FILE
@config_option
def backup(file: Path, config: Path) -> None:
    """Write database and state, but no logs or reports, to the archive FILE (.tar.gz).

    The daemon may run meanwhile. FILE holds the secret key of this installation, so only you can
    read it.

    \b
    Exit status:
      0   it is written
      1   the state belongs to another user
      2   the configuration is wrong
      75  FILE cannot be written
    """
    state_dir = load_config(config).state_dir
    refuse_as_root(state_dir)
    open_history(files.make_directory(state_dir, mode=0o750)).close()
    write_archive(state_dir, file)
    click.echo(f"{file}: database and state of {state_dir}")


@click.command("restore", short_help="Replace database and state by those of an archive.")
@_FILE
@config_option
def restore(file: Path, config: Path) -> None:
    """Replace database and state by those of the archive FILE, which `pi-appliance backup` wrote.

    Stop the appliance first. The present database is kept beside the restored one. Runs since FILE
    was written are unknown then, so no slot up to now is used again. Posts and used lines of the
    present database are kept, so that nothing is posted again.

    \b
    Exit status:
      0   it is restored
      1   the appliance runs, FILE is not such an archive, or the state belongs to another user
      2   the configuration is wrong
      75  the state cannot be written
    """
    state_dir = load_config(config).state_dir
    refuse_as_root(state_dir)
    connection = client.connect(str(config))
    if connection is not None:
        connection.close()
        raise Refused("the appliance is running; stop it first: sudo systemctl stop pi-appliance")
    restore_state(file, state_dir)
    click.echo(f"{state_dir}: restored from {file}")
