"""Commands `networks list`, `test` and `login`."""

import getpass
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from pi_appliance import plugins
from pi_appliance.cli import terminal
from pi_appliance.cli.terminal import config_option, json_option
from pi_appliance.config import secret_file
from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config
from pi_appliance.config.secret_file import SecretFile
from pi_appliance.config.secrets import SHORTEST, Redactor, Secrets, of_network, secret_names
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Refused, Unavailable
from pi_appliance.posting import connect
from pi_appliance.system import files
from pi_appliance.system.systemd import Systemd

_TEST_TIMEOUT = 90.0  # seconds for one network; a single request has a shorter timeout
_NO_NETWORK = "no network is configured; how to add one: docs/tweets.md"


class TerminalPrompt:
    """A prompt in the terminal. `on_secret` gets each secret answer.

    Its methods raise EOFError at the end of standard input.
    """

    def __init__(self, on_secret: Callable[[str], None]) -> None:
        self._on_secret = on_secret

    def show(self, text: str) -> None:
        """Show `text` on standard error."""
        click.echo(text, err=True)

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer, stripped. A `secret` answer is not shown while it is typed."""
        prompt = f"{question} " if question.endswith("?") else f"{question.rstrip(': ')}: "
        if not secret:
            return _read_line(prompt).strip()
        answer = (getpass.getpass(prompt) if sys.stdin.isatty() else _read_line(prompt)).strip()
        self._on_secret(answer)
        return answer


def _read_line(prompt: str) -> str:
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        click.echo(err=True)  # there was no Enter key to end the line
    if not line:
        raise EOFError
    return line


@click.group("networks", short_help="Social networks and their secrets.")
def command() -> None:
    """List the networks, log in to one, and check the secrets. No command shows a secret."""


@command.command("list", short_help="List the networks and whether their secrets are stored.")
@json_option
@config_option
def list_(as_json: bool, config: Path) -> None:
    """List the networks: the secrets each needs, whether they are stored, and where.

    \b
    Exit status:
      0  listed
      1  the secrets cannot be read
      2  the configuration is wrong
    """
    loaded = load_config(config)
    secrets = _load_secrets(loaded)
    if as_json:
        click.echo(json.dumps([_network_json(loaded, name, secrets) for name in loaded.networks]))
        return
    rows = [(name, part.kind, *_describe_secrets(loaded, name, secrets)) for name, part in loaded.networks.items()]
    click.echo(terminal.format_table(("NETWORK", "KIND", "KEYS", "FROM"), rows) if rows else _NO_NETWORK)


def _describe_secrets(config: Config, name: str, secrets: Secrets) -> tuple[str, str]:
    """Return the cells KEYS and FROM."""
    required = of_network(config.networks[name])
    if not required:
        return "needs none", ""
    missing = [each for each in required if each not in secrets]
    origins = sorted({secrets.origin(each) for each in required if each in secrets})
    return f"no {', '.join(missing)}" if missing else "all there", ", ".join(origins)


def _network_json(config: Config, name: str, secrets: Secrets) -> dict[str, object]:
    part = config.networks[name]
    keys = {each: secrets.origin(each) or None for each in of_network(part)}
    return {"network": name, "kind": part.kind, "keys": keys}


@command.command(short_help="Check the secrets without posting.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@config_option
def test(names: tuple[str, ...], config: Path) -> None:
    """Check the secrets of the networks NAME, or of all: each is asked for its account. Nothing is posted.

    \b
    Exit status:
      0   every network accepts its secrets
      1   one rejects them, or they are missing
      2   NAME or the configuration is wrong
      75  one could not be reached; try again later
    """
    loaded = load_config(config)
    for name in names:
        connect.network_config(loaded, name)
    if not loaded.networks:
        click.echo(_NO_NETWORK)
    secrets = _load_secrets(loaded)
    exit_status = 0
    for name in names or tuple(loaded.networks):
        try:
            account = _check_account(loaded, name, secrets)
        except ApplianceError as error:
            exit_status = max(exit_status, error.exit_status)
            click.echo(f"{name}: {error}", err=True)
        else:
            required = of_network(loaded.networks[name])
            click.echo(f"{name}: {account} ({'the keys are right' if required else 'needs no keys'})")
    sys.exit(exit_status)


@command.command(short_help="Get the secrets of a network, and store them.")
@click.argument("name")
@config_option
def login(name: str, config: Path) -> None:
    """Log in to the network NAME step by step, check the secrets, and store them for the service only.

    Answers come from the keyboard, or from standard input, one per line. Wrong secrets are not stored.

    \b
    Exit status:
      0   the secrets are right, and stored
      1   they are wrong, or you stopped; nothing was stored
      2   NAME or the configuration is wrong
      75  the network could not be reached; nothing was stored
    """
    loaded = load_config(config)
    part = connect.network_config(loaded, name)
    required = of_network(part)
    if not required:
        click.echo(f"{name}: {part.kind} needs no keys")
        return
    file = secret_file.place(loaded.path, Systemd())
    file.require_writable()
    secrets, account = _log_in(loaded, name)
    file.put(secrets, owner=_owner_path(loaded, file))
    click.echo(f"{name}: {account} (the keys are right); {_describe_storage(file)}")
    for each in required:
        if os.environ.get(each):
            click.echo(f"{each} is also set in the environment and takes precedence there", err=True)


def _log_in(config: Config, name: str) -> tuple[Mapping[str, str], str]:
    """Return the secrets of the network `name` and its account. Errors say that nothing was stored."""
    part, stored = config.networks[name], _load_secrets(config)
    redactor = Redactor(())
    logging.disable()  # libraries could log secrets that the redactor does not know yet
    try:
        with connect.require_installed(part.kind), connect.redact_errors(redactor):
            prompt = TerminalPrompt(lambda answer: redactor.learn(answer) if len(answer) >= SHORTEST else None)
            secrets: Mapping[str, str] = plugins.load("networks", part.kind).login(part.options, prompt)
        return secrets, _check_account(config, name, {**stored, **secrets})
    except (KeyboardInterrupt, EOFError):
        click.echo(err=True)
        raise Refused("stopped; nothing was stored") from None
    except UnicodeDecodeError:
        raise Refused("the input is not UTF-8 text; nothing was stored") from None
    except ApplianceError as error:
        reason = str(error)
        error.args = (reason if "nothing" in reason else f"{reason}; nothing was stored",)  # some say it already
        raise


def _load_secrets(config: Config) -> Secrets:
    return secret_file.load(config.path, os.environ, secret_names(config), Systemd())


def _check_account(config: Config, name: str, secrets: Mapping[str, str]) -> str:
    """Return the account of the network `name`, without any state that the network has saved.

    Raises:
        Refused, Unavailable, Uncertain: The secrets could not be checked.

    """
    with tempfile.TemporaryDirectory(prefix="pi-appliance-") as empty:
        try:
            with files.time_limit(_TEST_TIMEOUT):
                return connect.connect(config, name, secrets, private=Path(empty)).whoami()
        except DeadlineExceeded as error:
            raise Unavailable(str(error)) from None


def _owner_path(config: Config, file: SecretFile) -> Path:
    """Return a file or directory of the user who has to read `file`."""
    if file.credential:
        return file.path.parent
    return config.state_dir if os.geteuid() == 0 and config.state_dir.exists() else config.path


def _describe_storage(file: SecretFile) -> str:
    if file.credential:
        return f"they are in {file.path}; now run: sudo systemctl restart pi-appliance"
    user = files.user_name(file.path.stat().st_uid)
    return f"they are in {file.path}, which only {user} can read, and the next run uses them"
