"""The docs match the program: valid YAML, existing commands, current tables."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pi_appliance.__main__ import main
from pi_appliance.cli.program import cli
from pi_appliance.config.loader import load_config
from pi_appliance.config.yaml_tree import parse_yaml
from pi_appliance.puzzles import Puzzle
from tests.doc_tables import TABLES
from tests.installation import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = dict(commands(cli))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_configuration_in_the_readme_is_valid(tmp_path):
    (text,) = blocks(ROOT / "README.md", "yaml")
    path = tmp_path / "appliance.yaml"
    path.write_text(text, "utf-8")
    assert set(load_config(path).jobs) == {"tweets", "pegs"}


def test_yaml_in_the_docs_is_yaml():
    for page in PAGES:
        for text in blocks(page, "yaml"):
            for part in text.split("\nschedule:"):  # one page lists the forms of one key
                parse_yaml(part, page.name)


def test_every_command_in_the_docs_exists():
    first_words, unknown = {each[0] for each in ALL}, []
    for page in PAGES:
        for line in re.findall(r"pi-appliance ([a-z][a-z -]*)", page.read_text("utf-8")):
            words = tuple(line.split())
            if words[0] in first_words and len(words) > 1 and isinstance(ALL[words[:1]], click.Group):
                unknown += [f"{page.name}: {line}"] if words[:2] not in ALL else []
    assert unknown == []


def test_every_command_is_documented_and_its_help_lists_exit_statuses():
    output = "\n".join(page.read_text("utf-8") for page in PAGES if page.name != "CONTRIBUTING.md")
    undocumented, without_status = [], []
    for words, command in ALL.items():
        if not isinstance(command, click.Group):
            if f"pi-appliance {' '.join(words)}" not in output and f"{words[0]} {'|'.join(words[1:])}" not in output:
                undocumented.append(words)
            if "Exit status:" not in (command.help or ""):
                without_status.append(words)
    assert (undocumented, without_status) == ([], [])


WITHOUT_JSON = {
    ("cluster", "run"): "works until it is stopped",
    ("completion",): "prints a script for a shell",
    ("config", "schema"): "prints JSON anyway",
    ("music", "usb", "attach"): "is started by systemd",
    ("music", "usb", "cleanup"): "is started by systemd",
    ("music", "usb", "detach"): "is started by systemd",
    ("music", "usb", "forget"): "answers by its exit status",
    ("networks", "login"): "is a dialogue",
    ("password",): "is a dialogue",
    ("qr",): "draws a picture",
    ("up",): "works until it is stopped",
}


def test_every_command_whose_answer_a_program_can_use_has_json():
    without = {
        words
        for words, command in ALL.items()
        if not isinstance(command, click.Group) and not any("--json" in each.opts for each in command.params)
    }
    assert without == set(WITHOUT_JSON)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.page.stem)
def test_the_tables_that_the_program_makes_are_current(table):
    assert table.shown() == table.make().strip(), "write them: make tables"


def test_the_developer_pages_of_puzzles_agree():
    members = {name for name in (*vars(Puzzle), *Puzzle.__annotations__) if not name.startswith("_")}
    output = (ROOT / "docs" / "puzzles.md").read_text("utf-8").partition("## Adding a puzzle")[2]
    assert {name for name in members if f"`{name}`" not in output} == set()
    (row,) = re.findall(r"^\| a puzzle \|.*", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    assert "functions of `Puzzle`" in row


def test_the_documented_environments_match_the_scripts():
    for page, script in (
        ("CONTRIBUTING.md", "test.sh"),
        ("docs/operating.md", "test.sh"),
        ("docs/quickstart.md", "run.sh"),
    ):
        (environment,) = re.findall(r'need_environment "\$clone/(.*?)"', (ROOT / "deploy" / script).read_text("utf-8"))
        assert f"`{environment}`" in (ROOT / page).read_text("utf-8"), page


def test_every_link_has_a_target():
    dead = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)  # no links
        targets = [one or other for one, other in re.findall(r"\]\(([^)#:]+)\)|src=\"([^\"]+)\"", text)]
        dead += [f"{page.name}: {target}" for target in targets if not (page.parent / target).exists()]
    assert dead == []


def test_the_errors_in_the_readme_are_current(tmp_path, monkeypatch, capsys):
    (text,), (shown,) = blocks(ROOT / "README.md", "yaml"), blocks(ROOT / "README.md", "console")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config" / "appliance.yaml"
    path.parent.mkdir()
    path.write_text(text.replace("kind: tweet\n", "kind: tweeet\n").replace("1/4", "5/4"), "utf-8")
    with pytest.raises(SystemExit):
        main(["config", "check"])
    assert capsys.readouterr().err == shown.partition("\n")[2]


def test_every_decision_is_in_the_index():
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text("utf-8")
    assert [page.name for page in sorted(folder.glob("0*.md")) if f"({page.name})" not in index] == []
