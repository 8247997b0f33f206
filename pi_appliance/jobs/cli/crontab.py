"""pi-appliance jobs plan, install, uninstall: the entries in the real crontab."""

import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli.terminal import config_option
from pi_appliance.config import loader
from pi_appliance.errors import ConfigError, Unavailable
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.crontab import CrontabChange, SystemCrontab, UserCrontab, current_user, find_user

Command = Callable[..., Any]
_BACKUP = "crontab.before"


def _options(command: Command) -> Command:
    for option in (
        click.option("--user-name", metavar="NAME", help="Whose crontab, or whom --system entries run as: root only."),
        click.option(
            "--system", is_flag=True, help="Use /etc/cron.d/pi-appliance instead of a user's crontab: root only."
        ),
        config_option,
    ):
        command = option(command)
    return command


@click.command("plan", short_help="Show what `jobs install` would change.")
@_options
def plan(config: Path, system: bool, user_name: str | None) -> None:
    """Show, as a diff, what `jobs install` would change in the crontab. Nothing is changed.

    \b
    Exit status:
      0   shown, or there is nothing to change
      1   cron or its file refuses; the message says why
      2   the configuration has problems
      75  cron is not installed
    """
    config = _one_name(config)
    change = _place(config, system, user_name).plan(_entries(config, system, user_name))
    click.echo(change.diff() if change.has_changes else f"{change.name}: nothing to change")


@click.command("install", short_help="Put jobs with `started-by: cron` into the crontab.")
@_options
def install(config: Path, system: bool, user_name: str | None) -> None:
    """Put an entry for each job with `started-by: cron` into the crontab. Everything else in it stays, byte for byte.

    Doing it again replaces the entries by those of the present configuration. A last line without a newline, which
    crontab itself refuses and only a hand in its folder can leave there, gets one for good.

    \b
    Exit status:
      0   the entries are there
      1   cron or its file refuses; the crontab is as it was
      2   the configuration has problems
      75  cron is not installed, or the disk is full; the crontab is as it was
    """
    config = _one_name(config)
    entries = _entries(config, system, user_name)
    count = "1 entry" if len(entries) == 1 else f"{len(entries) or 'no'} entries"
    _tell(_place(config, system, user_name).install(entries), f"{count} of {loader.display_path(config)}")
    if entries and not crontab.is_cron_running():
        click.echo("pi-appliance: cron itself does not run; start it with: sudo systemctl enable --now cron", err=True)


@click.command("uninstall", short_help="Take those entries out of the crontab again.")
@_options
def uninstall(config: Path, system: bool, user_name: str | None) -> None:
    """Take the entries of this configuration out of the crontab. What remains is what was there before, byte for byte.

    A last line that had no newline, which crontab itself refuses, has one now.

    \b
    Exit status:
      0   no entry is left
      1   cron or its file refuses; the crontab is as it was
      75  cron is not installed, or the disk is full; the crontab is as it was
    """
    config = _one_name(config)
    _tell(_place(config, system, user_name).uninstall(), f"no entry of {loader.display_path(config)} any more")


def program(called: str, python: str) -> list[str]:
    """Return the command that starts this program from anywhere.

    CALLED is how it was started just now, which outlives an update where that is a link; else what lies beside PYTHON.
    """
    beside = Path(python).with_name("pi-appliance")
    for path in (Path(called).absolute(), beside):
        if path.name == beside.name and shutil.which(path):
            return [str(path)]
    return [python, "-m", "pi_appliance"]


def _entries(config: Path, system: bool, user_name: str | None) -> list[str]:
    if shutil.which("crontab") is None:
        raise Unavailable("cron is not installed; run: sudo apt install cron")
    user = (user_name or current_user()) if system else None
    if user:
        find_user(user)
    return crontab.build_entries(
        loader.load_config(config),
        program(sys.argv[0], sys.executable),
        zone=ZoneInfo(loader.machine_zone()),
        now=datetime.now(UTC),
        user=user,
    )


def _place(config: Path, system: bool, user_name: str | None) -> UserCrontab | SystemCrontab:
    if system:
        return SystemCrontab(config)
    user = None if user_name == current_user() else user_name
    try:
        backup = loader.load_config(config).state_dir / _BACKUP
    except ConfigError:  # taking entries out must work with a broken configuration too
        backup = None
    return UserCrontab(config, user=user, backup=backup)


def _one_name(config: Path) -> Path:
    """Return the one absolute name of CONFIG by which its entries are known, wherever it is called from."""
    return config.parent.resolve() / config.name


def _tell(done: CrontabChange, what: str) -> None:
    click.echo(f"{done.name}: {what}" if done.has_changes else f"{done.name}: {what}; nothing to change")
