"""pi-appliance networks: where posts go, whether the keys are there and right, and how to get them."""

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
from pi_appliance.cli import text
from pi_appliance.cli.options import config_option, json_option
from pi_appliance.config import secret_file
from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config
from pi_appliance.config.redaction import SHORTEST, Redactor
from pi_appliance.config.secret_file import SecretFile
from pi_appliance.config.secrets import Secrets, of_network, secret_names
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Refused, Unavailable
from pi_appliance.posting import connect
from pi_appliance.system import files, logs
from pi_appliance.system.systemd import Systemd


class Terminal:
    """A prompt in a terminal; ON_SECRET hears each secret answer. Raises EOFError where there are no more answers."""

    def __init__(self, on_secret: Callable[[str], None]) -> None:
        self._on_secret = on_secret

    def say(self, text: str) -> None:
        """Show TEXT."""
        click.echo(text, err=True)

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer, without spaces around it. A SECRET one is not shown while it is typed."""
        prompt = f"{question} " if question.endswith("?") else f"{question.rstrip(': ')}: "
        if secret:
            answer = (getpass.getpass(prompt) if sys.stdin.isatty() else _line(prompt)).strip()
            self._on_secret(answer)
            return answer
        return _line(prompt).strip()


def _line(prompt: str) -> str:
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        click.echo(err=True)  # nobody has pressed Enter
    if not line:
        raise EOFError
    return line


_LONGEST = 90.0  # seconds to prove the keys of one network; networks have shorter patience of their own


@click.group("networks", short_help="Where posts go, and their keys.")
def command() -> None:
    """List the networks, log in to one, and prove that the keys are right. No command ever shows a key."""


@command.command("list", short_help="List the networks, and whether their keys are there.")
@json_option
@config_option
def list_(as_json: bool, config: Path) -> None:
    """List the networks: which keys each needs, whether they are there, and where they come from.

    \b
    Exit status:
      0  always, unless the secrets cannot be read (1) or the configuration is wrong (2)
    """
    told = load_config(config)
    known = _secrets(told)
    if as_json:
        click.echo(json.dumps([_values(told, name, known) for name in told.networks]))
        return
    rows = [(name, part.kind, *_keys(told, name, known)) for name, part in told.networks.items()]
    head = ("NETWORK", "KIND", "KEYS", "FROM")
    click.echo(text.table(head, rows) if rows else "there is no network; how to write one: docs/tweets.md")


def _keys(config: Config, name: str, known: Secrets) -> tuple[str, str]:
    """Return in words whether the keys of the network NAME are there, and where from."""
    wanted = of_network(config.networks[name])
    lacking = [each for each in wanted if each not in known]
    origins = sorted({known.origin(each) for each in wanted if each in known})
    if not wanted:
        return "needs none", ""
    return f"no {', '.join(lacking)}" if lacking else "all there", ", ".join(origins)


def _values(config: Config, name: str, known: Secrets) -> dict[str, object]:
    part = config.networks[name]
    keys = {each: known.origin(each) or None for each in of_network(part)}
    return {"network": name, "kind": part.kind, "keys": keys}


@command.command("test", short_help="Prove the keys, without posting.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@config_option
def test(names: tuple[str, ...], config: Path) -> None:
    """Prove the keys of the networks NAME, or of all, by asking each whose account it is. Nothing is posted.

    \b
    Exit status:
      0   all of them know the keys
      1   one does not, or its keys are not there
      2   NAME or the configuration is wrong
      75  one could not be reached; try again later
    """
    told = load_config(config)
    for name in names:
        connect.part_of(told, name)
    if not told.networks:
        click.echo("there is no network; how to write one: docs/tweets.md")
    known = _secrets(told)
    worst = 0
    for name in names or tuple(told.networks):
        try:
            who = _proved(told, name, known)
        except ApplianceError as error:
            worst = max(worst, error.exit_status)
            click.echo(f"{name}: {error}", err=True)
        else:
            needed = of_network(told.networks[name])
            click.echo(f"{name}: {who} ({'the keys are right' if needed else 'needs no keys'})")
    sys.exit(worst)


@command.command("login", short_help="Get the keys of a network, and store them.")
@click.argument("name")
@config_option
def login(name: str, config: Path) -> None:
    """Walk through getting the keys of network NAME, prove them, and store them where only the service can read them.

    Answers come from the keyboard, or from standard input, one a line. Nothing is stored unless the keys are right.

    \b
    Exit status:
      0   they are right, and stored
      1   they are not, or you stopped; nothing was stored
      2   NAME or the configuration is wrong
      75  the network could not be reached; nothing was stored
    """
    told = load_config(config)
    part = connect.part_of(told, name)
    wanted = of_network(part)
    if not wanted:
        click.echo(f"{name}: {part.kind} needs no keys")
        return
    file = secret_file.place(told.path, Systemd())
    file.require_writable()
    got, who = _walked(told, name)
    file.put(got, owner=_owner(told, file))
    click.echo(f"{name}: {who} (the keys are right); {_stored(file)}")
    for each in wanted:
        if os.environ.get(each):
            click.echo(f"{each} stands in the environment too; where it does, that counts", err=True)


def _walked(config: Config, name: str) -> tuple[Mapping[str, str], str]:
    """Walk the owner through it, and return the keys of the network NAME, and whose account it says that they are.

    Raises what went wrong, with the words that nothing was stored.
    """
    part, before = config.networks[name], _secrets(config)
    redactor = Redactor(())
    logging.disable()  # what libraries would say of it holds keys that nobody knows yet
    try:
        with connect.installed(part.kind), connect.redact_errors(redactor):
            kind = plugins.load("networks", part.kind)
            talk = Terminal(lambda word: redactor.learn(word) if len(word) >= SHORTEST else None)
            got: Mapping[str, str] = kind.login(part.options, talk)
        return got, _proved(config, name, {**before, **got})
    except (KeyboardInterrupt, EOFError):
        click.echo(err=True)
        raise Refused("stopped; nothing was stored") from None
    except UnicodeDecodeError:
        raise Refused("that is no UTF-8 text; nothing was stored") from None
    except ApplianceError as error:
        why = str(error)
        error.args = (why if "nothing" in why else f"{why}; nothing was stored",)  # some say so themselves
        raise


def _secrets(config: Config) -> Secrets:
    return secret_file.load(config.path, os.environ, secret_names(config), Systemd())


def _proved(config: Config, name: str, known: Mapping[str, str]) -> str:
    """Return whose account the network NAME says it is: by the keys, for it remembers nothing of before.

    Raises Refused, Unavailable, Uncertain.
    """
    with tempfile.TemporaryDirectory(prefix="pi-appliance-") as empty:
        try:
            with logs.time_limit(_LONGEST):
                return connect.connect(config, name, known, private=Path(empty)).whoami()
        except DeadlineExceeded as error:
            raise Unavailable(str(error)) from None


def _owner(config: Config, file: SecretFile) -> Path:
    """Return a file or folder of the user who is to read FILE."""
    if file.credential:
        return file.path.parent
    return config.state_dir if os.geteuid() == 0 and config.state_dir.exists() else config.path


def _stored(file: SecretFile) -> str:
    """Say where the keys are now, and who takes them when."""
    if file.credential:
        return f"they are in {file.path}; now run: sudo systemctl restart pi-appliance"
    who = files.user_name(file.path.stat().st_uid)
    return f"they are in {file.path}, which only {who} can read, and the next run takes them"
