"""pi-appliance tweets check: which lines would be refused and why, before anything is posted."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli._options import config_option, json_option
from pi_appliance.config.load import load
from pi_appliance.engine import line_check
from pi_appliance.engine.line_check import Checked, Note, Weight


@click.command("check", short_help="Say which lines a network would refuse, and which repeat themselves.")
@click.argument("job", required=False)
@click.option("--lines", "file", type=click.Path(path_type=Path), help="Check this file instead; no job need use it.")
@click.option("--network", "networks", multiple=True, help="With --lines: for this network. Without it, for all.")
@json_option
@config_option
def check(job: str | None, file: Path | None, networks: tuple[str, ...], as_json: bool, config: Path) -> None:
    """Check the lines that JOB, or every job, posts: their length as each network counts it, words, pictures, repeats.

    Needs no keys and no network. Words in {braces} are counted as long as they may become.

    \b
    Exit status:
      0  every line can be posted
      1  some line would be refused, or there is none
      2  JOB, a network or the configuration is wrong
    """
    if networks and file is None:
        raise click.UsageError("--network goes with --lines; jobs know their networks themselves")
    if job and file:
        raise click.UsageError("name a JOB or a file with --lines, not both")
    told = load(config)
    sources = [line_check.source(told, file.absolute(), networks)] if file else line_check.sources(told, job)
    checked = [line_check.check(source) for source in sources]
    if as_json:
        click.echo(json.dumps([_values(each) for each in checked]))
    elif not checked:
        click.echo("no job posts lines; name a file: --lines FILE")
    for each in () if as_json else checked:
        click.echo("\n".join(_lines(each)))
    if not all(each.good for each in checked):
        raise SystemExit(1)


def _lines(checked: Checked) -> Iterator[str]:
    """Yield a line for each note, as compilers write them, and one of what is good."""
    name = _shown(checked.path)
    for note in checked.notes:
        where = name if note.line is None else f"{name}:{note.line}"
        yield f"{where}: {'warning: ' if note.weight is Weight.WARNING else ''}{note.what}"
    if checked.lines:
        yield f"{name}: {_count(checked.lines)}, {_fit(checked)}"


def _fit(checked: Checked) -> str:
    by_count: dict[int, list[str]] = {}
    for name, count in checked.fit.items():
        by_count.setdefault(count, []).append(name)
    return ", ".join(f"{count} {'fits' if count == 1 else 'fit'} {_listed(names)}" for count, names in by_count.items())


def _listed(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


def _count(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _shown(path: Path) -> str:
    """Return PATH as short as it can be named from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _values(checked: Checked) -> dict[str, Any]:
    return {
        "file": str(checked.path),
        "lines": checked.lines,
        "fit": dict(checked.fit),
        "notes": [_note(note) for note in checked.notes],
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "line": note.line,
        "weight": note.weight,
        "what": note.what,
        "network": note.network,
        "length": note.length,
        "limit": note.limit,
        "parts": note.parts,
    }
