"""Commands `tweets check` and `networks login`; the others are in `posting/operations.py`.

These two are click commands: `check` reads a file of this machine, and needs neither a daemon nor
its state, while `login` asks at the terminal and writes a secret file.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli import terminal
from pi_appliance.cli.client import visible
from pi_appliance.cli.terminal import config_option, json_option
from pi_appliance.config.loader import load_config
from pi_appliance.config.secret_writer import SecretFile
from pi_appliance.config.secrets import of_network
from pi_appliance.config.units import pluralize
from pi_appliance.posting import connect, lint
from pi_appliance.posting.lint import LintNote, LintResult, Severity
from pi_appliance.posting.network_login import log_in
from pi_appliance.system import files


@click.group("tweets", short_help="Check, preview and review posts.")
def tweets() -> None:
    """Check the lines that jobs post, preview the next posts and their cost, and review posts."""


@click.group("networks", short_help="List, check and log in to social networks.")
def networks() -> None:
    """List the networks, log in to one, and check the secrets. No command shows a secret."""


@tweets.command(short_help="Find lines that a network would reject, and repeated lines.")
@click.argument("job", required=False)
@click.option("--lines", "file", type=click.Path(path_type=Path), help="Check this file; no job has to use it.")
@click.option("--network", "networks", multiple=True, help="With --lines: check for this network only.")
@json_option
@config_option
def check(job: str | None, file: Path | None, networks: tuple[str, ...], as_json: bool, config: Path) -> None:
    """Check the lines of JOB, or of every job: length, placeholders, pictures, repeats.

    Needs neither secrets nor a connection. Placeholders are counted with their longest value.

    \b
    Exit status:
      0  every line can be posted
      1  a line would be rejected, or there is none
      2  JOB, a network or the configuration is wrong
    """
    if networks and file is None:
        raise click.UsageError("--network needs --lines; a job has its own networks")
    if job and file:
        raise click.UsageError("give a JOB or --lines, not both")
    loaded = load_config(config)
    sources = [lint.file_source(loaded, file.absolute(), networks)] if file else lint.job_sources(loaded, job)
    results = [lint.check_source(source) for source in sources]
    if as_json:
        click.echo(json.dumps([_result_json(each) for each in results]))
    elif not results:
        click.echo("no job posts lines; to check a file: --lines FILE")
    else:
        click.echo(visible("\n".join(line for each in results for line in _result_lines(each))))
    if not all(each.is_good for each in results):
        raise SystemExit(1)


def _result_lines(result: LintResult) -> Iterator[str]:
    """Yield a line for each note, in the format of compilers, and a summary."""
    name = _relative(result.path)
    for note in result.notes:
        where = name if note.line is None else f"{name}:{note.line}"
        yield f"{where}: {'warning: ' if note.severity is Severity.WARNING else ''}{note.message}"
    if result.lines:
        yield f"{name}: {pluralize(result.lines, 'line')}, {_describe_fit(result)}"


def _describe_fit(result: LintResult) -> str:
    by_count: dict[int, list[str]] = {}
    for name, count in result.fit.items():
        by_count.setdefault(count, []).append(name)
    return ", ".join(f"{count} {'fits' if count == 1 else 'fit'} {_join(names)}" for count, names in by_count.items())


def _join(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _result_json(result: LintResult) -> dict[str, Any]:
    return {
        "file": str(result.path),
        "lines": result.lines,
        "fit": dict(result.fit),
        "notes": [_note_json(note) for note in result.notes],
    }


def _note_json(note: LintNote) -> dict[str, Any]:
    return {
        "line": note.line,
        "severity": note.severity,
        "message": note.message,
        "network": note.network,
        "length": note.length,
        "max_length": note.max_length,
        "parts": note.parts,
    }


class TerminalPrompt:
    """A prompt in the terminal. Raises EOFError at its end; `on_secret` gets secret answers."""

    def __init__(self, on_secret: Callable[[str], None]) -> None:
        self._on_secret = on_secret

    def show(self, text: str) -> None:
        """Show `text` on standard error."""
        click.echo(text, err=True)

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer, stripped. A `secret` answer is not shown while it is typed."""
        prompt = f"{question} " if question.endswith("?") else f"{question.rstrip(': ')}: "
        try:
            answer = (terminal.read_secret(prompt) if secret else terminal.read_line(prompt)).strip()
        except (KeyboardInterrupt, EOFError):
            click.echo(err=True)  # the message of the error begins a new line
            raise
        if secret:
            self._on_secret(answer)
        return answer


@networks.command(short_help="Get the secrets of a network, and store them.")
@click.argument("name")
@config_option
def login(name: str, config: Path) -> None:
    """Log in to the network NAME step by step, check the secrets, and store them.

    Answers come from the keyboard, or from standard input, one per line. Only the service can read
    the stored secrets. Wrong secrets are not stored.

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
        click.echo(f"{name}: {part.kind} needs no secrets")
        return
    account, file = log_in(loaded, name, TerminalPrompt)
    click.echo(visible(f"{name}: {account} (the secrets are right); {_describe_storage(file)}"))
    for each in required:
        if os.environ.get(each):
            click.echo(f"{each} is also set in the environment and takes precedence there", err=True)


def _describe_storage(file: SecretFile) -> str:
    if file.credential:
        return f"they are in {file.path}; now run: sudo systemctl restart pi-appliance"
    user = files.user_name(file.path.stat().st_uid)
    return f"they are in {file.path}, which only {user} can read, and the next run uses them"
