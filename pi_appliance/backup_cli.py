"""pi-appliance backup, restore: the whole appliance in one file."""

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

import click

from pi_appliance.cli import client
from pi_appliance.cli.client import config_option, json_option, print_json
from pi_appliance.config import secrets
from pi_appliance.config.loader import load_config
from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.maintenance.full_backup import STANDARD_OUTPUT, BackupReader, Part, write_backup
from pi_appliance.scheduling.appliance import refuse_as_root
from pi_appliance.storage.backup_archive import require_encryption
from pi_appliance.storage.history import open_history
from pi_appliance.system import files

_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
_FILE_OR_OUTPUT = click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))


class BackupFileJson(TypedDict):
    """A backup file. `notes` list the parts that were left out."""

    file: str
    state_dir: str
    notes: list[str]


class RestoredBackupJson(TypedDict):
    """A backup that was restored: its parts that are restored, and what the owner must know."""

    file: str
    state_dir: str
    parts: list[str]
    notes: list[str]


@click.command("backup", short_help="Write the whole appliance to an archive.")
@_FILE_OR_OUTPUT
@click.option("--secrets", "with_secrets", is_flag=True, help="Include the secrets, encrypted with a passphrase.")
@json_option
@config_option
def backup(file: Path, config: Path, *, with_secrets: bool, as_json: bool) -> None:
    """Write the appliance to the archive FILE (.tar.gz), from which a new card becomes the same.

    It holds the configuration with the files beside it, history, posts, stations, reports and the
    playlists of the player; no logs, no devices that are signed in, no music. The secrets are left
    out, or are encrypted: --secrets asks for a passphrase, or reads a line of standard input.

    The appliance may run meanwhile. FILE holds the configuration, so only you can read it. With -
    for FILE, the archive is written to standard output.

    \b
    Exit status:
      0   it is written
      1   the state belongs to another user, or the secrets cannot be encrypted
      2   the configuration is wrong
      75  FILE cannot be written
    """
    if as_json and file == STANDARD_OUTPUT:
        raise click.UsageError("--json needs a FILE; the archive is written to standard output")
    loaded = load_config(config)
    refuse_as_root(loaded.state_dir)
    passphrase = _ask_new_passphrase() if with_secrets else ""
    open_history(files.make_directory(loaded.state_dir, mode=0o750)).close()
    playlists, notes = _export_playlists(loaded)
    notes += write_backup(loaded, file, playlists=playlists, passphrase=passphrase)
    if not passphrase:
        notes.append(f"the secrets are left out; keep a copy of {secrets.NAME}, or add --secrets")
    if as_json:
        result: BackupFileJson = {"file": str(file), "state_dir": str(loaded.state_dir), "notes": notes}
        print_json(result)
        return
    for note in notes:
        click.echo(note, err=True)
    click.echo(f"{file}: configuration, database and state of {loaded.state_dir}", err=file == STANDARD_OUTPUT)


@click.command("restore", short_help="Replace the appliance by that of an archive.")
@_FILE
@click.option(
    "--only",
    "only",
    multiple=True,
    type=click.Choice([part.value for part in Part]),
    help="Restore only this part; may be given several times.",
)
@json_option
@config_option
def restore(file: Path, config: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Replace the appliance by that of the archive FILE, which `pi-appliance backup` wrote.

    Stop the appliance first. Nothing is lost: the present database and each file that is replaced
    are kept beside the restored ones, playlists and reports that exist stay. Runs since FILE was
    written are unknown then, so no slot up to now is used again. Posts and used lines of the
    present database are kept, so that nothing is posted again. If FILE holds secrets, their
    passphrase is asked for, or read from standard input.

    \b
    Exit status:
      0   it is restored
      1   the appliance runs, FILE is not such an archive, the passphrase is wrong, or the state
          belongs to another user
      2   the configuration is wrong
      75  the state cannot be written
    """
    loaded = load_config(config)
    refuse_as_root(loaded.state_dir)
    connection = client.connect(str(config))
    if connection is not None:
        connection.close()
        raise Refused("the appliance is running; stop it first: sudo systemctl stop pi-appliance")
    folder = files.make_directory(loaded.state_dir, mode=0o750)
    with contextlib.closing(BackupReader(file, folder)) as reader:
        wanted = {Part(each) for each in only} or reader.parts
        if missing := sorted(wanted - reader.parts):
            raise Refused(f"{file} holds no {missing[0]}; it holds {', '.join(sorted(reader.parts))}")
        passphrase = _ask_passphrase(file) if Part.SECRETS in wanted else ""
        notes = reader.restore(loaded, wanted, passphrase)
        playlists = reader.playlists if Part.PLAYLISTS in wanted else {}
    if not as_json:
        click.echo("\n".join([*notes, f"{loaded.state_dir}: restored from {file}"]))

    def say(note: str, *, err: bool = False) -> None:
        notes.append(note)
        if not as_json:
            click.echo(note, err=err)

    if not playlists or not _import_playlists(config, playlists, file, say):
        wanted.discard(Part.PLAYLISTS)
    if as_json:
        result: RestoredBackupJson = {
            "file": str(file),
            "state_dir": str(loaded.state_dir),
            "parts": sorted(wanted),
            "notes": notes,
        }
        print_json(result)


def _ask_new_passphrase() -> str:
    require_encryption()
    passphrase = _read("A passphrase for the secrets: ")
    if len(passphrase) < secrets.MIN_PASSPHRASE:
        raise Refused(f"a passphrase has at least {secrets.MIN_PASSPHRASE} characters, such as four words")
    if sys.stdin.isatty() and _read("Once more: ") != passphrase:
        raise Refused("these are not the same")
    return passphrase


def _ask_passphrase(file: Path) -> str:
    require_encryption()
    try:
        return _read(f"The passphrase for the secrets of {file}: ")
    except Refused:
        raise Refused(
            f"{file} holds secrets: enter their passphrase, or leave them out with --only state --only configuration"
        ) from None


def _read(prompt: str) -> str:
    try:
        return client.read_secret(prompt).rstrip("\n")
    except EOFError:
        raise Refused("no passphrase was entered") from None


def _export_playlists(config: Config) -> tuple[Mapping[str, bytes], list[str]]:
    from pi_appliance.music.playlist_backup import export_playlists  # noqa: PLC0415 - only with a player

    if config.player is None:
        return {}, []
    try:
        return export_playlists(config, secrets.load(config.path, os.environ)), []
    except ApplianceError as error:
        return {}, [f"the playlists of the player are left out: {error}"]


def _import_playlists(path: Path, playlists: Mapping[str, bytes], file: Path, say: Callable[..., None]) -> bool:
    """Restore `playlists` of the backup `file`, and return whether the player has taken them."""
    from pi_appliance.music.playlist_backup import import_playlists  # noqa: PLC0415 - only with a player

    try:
        config = load_config(path)
        for note in import_playlists(config, secrets.load(config.path, os.environ), playlists):
            say(note)
    except ApplianceError as error:
        say(f"the playlists are not restored: {error}", err=True)
        say(f"when the player answers: pi-appliance restore {file} --only playlists", err=True)
        return False
    return True
