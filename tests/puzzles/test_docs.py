"""The pages of the puzzles are right: commands and examples run, configurations load, keys exist."""

import doctest
import json
import re
import shlex
import shutil
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pi_appliance import plugins
from pi_appliance.cli.program import cli
from pi_appliance.config.loader import load_config
from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.cli_options import PuzzleRequest
from pi_appliance.puzzles.puzzle_job import Options, run
from pi_appliance.puzzles.rubiks_cube import kernel
from tests.fakes.context import FakeContext

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "puzzles.md").read_text("utf-8")
LIBRARY = ROOT / "docs" / "library.md"
PUZZLES = [name.replace("-", "_") for name in plugins.names("puzzles")]
PAGES = sorted((ROOT / "docs" / "puzzles").glob("*.md"))
TABLES = {"count", "hint"}  # of the cube: they take its tables, which plain Python builds in ten seconds each
QUICK = {
    "count",
    "check",
    "hint",
    "generate",
    "show",
}  # commands that are run; other commands on the pages of a puzzle are only parsed


def block(language: str, page: str = PAGE) -> str:
    results = re.search(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert results
    return results[1]


def test_the_commands_of_the_page_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reported = {}
    for line in block("sh").splitlines():
        result = CliRunner().invoke(cli, shlex.split(line)[1:])
        assert result.exit_code == 0, line
        reported[line] = result.stdout
    assert reported["pi-appliance puzzle check peg-solitaire result.txt"] == "result.txt: 2 solutions, all right\n"
    assert reported["pi-appliance puzzle count peg-solitaire --board plus"] == "32 solutions.\n"


@pytest.mark.slow_variants
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_documented_commands_print_the_documented_output(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    asked = set()
    for line in block("sh", page.read_text("utf-8")).splitlines():
        words, _, result = line.partition("  # ")
        command, _, file = words.partition(" > ")
        arguments = shlex.split(command)[1:]
        assert arguments[0] == "puzzle"
        asked.add(arguments[1])
        make_context(arguments)
        if arguments[1] in TABLES and arguments[2] == "rubiks-cube" and kernel_mode(kernel) == "plain":
            continue
        if arguments[1] in QUICK or "--output result.txt" in command:
            done = CliRunner().invoke(cli, arguments)
            assert done.exit_code == 0, (line, done.exception)
            if arguments[1] in {"count", "check"} and result:
                assert result.strip().startswith(done.stdout.strip()), line
            if file:
                Path(file.strip()).write_text(done.stdout, "utf-8")
    assert "solve" in asked


def make_context(arguments: list[str]) -> None:
    """Parse the `arguments` of the program, and the board and the rules they name."""
    group = cli.get_command(click.Context(cli), arguments[0])
    assert isinstance(group, click.Group)
    command = group.get_command(click.Context(group), arguments[1])
    assert command is not None, arguments
    given = command.make_context(arguments[1], arguments[2:]).params
    if "rules" in given:
        PuzzleRequest(given["name"], given["board"], given["rules"]).load_board()


@pytest.mark.parametrize("page", [*PAGES, LIBRARY], ids=lambda page: page.stem)
def test_the_examples_of_the_library_print_what_they_say(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = "".join(re.findall(r"^```pycon\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    assert test.examples
    output: list[str] = []
    doctest.DocTestRunner().run(test, out=output.append)
    assert output == []


@pytest.mark.parametrize("page", [*PAGES, LIBRARY], ids=lambda page: page.stem)
def test_the_functions_in_the_examples_exist(page: Path) -> None:
    """Also of blocks that take too long or need other packages."""
    for example in re.findall(r"^```(?:python|pycon)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        for name, member in re.findall(rf"\b({'|'.join(PUZZLES)})\.(\w+)", example):
            assert member in import_module(f"pi_appliance.puzzles.{name}").__all__, f"{name}.{member}"


def test_the_configuration_of_the_page_loads_beside_the_example_boards(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config" / "boards", tmp_path / "boards")
    (tmp_path / "appliance.yaml").write_text("state-dir: state\n" + block("yaml"), "utf-8")
    options = load_config(tmp_path / "appliance.yaml").jobs["nightly-puzzles"].options
    assert (options.max_solutions, options.rules) == (1000, {"goal": "3,3"})


def test_every_puzzle_is_in_the_table_with_a_page_of_its_own() -> None:
    linked = dict(re.findall(r"^\| \[`([a-z-]+)`\]\(([^)]+)\)", PAGE, re.MULTILINE))
    assert set(linked) >= set(plugins.names("puzzles"))
    for name in plugins.names("puzzles"):
        assert (ROOT / "docs" / linked[name]).is_file()


def test_the_keys_of_the_json_are_those_of_the_page(tmp_path: Path) -> None:
    run(Options(puzzle="peg-solitaire", boards=[Path("cross")]), FakeContext(tmp_path))
    report = json.loads((tmp_path / "result.json").read_text("utf-8"))
    keys = {*report, *report["boards"][0]}
    reported = PAGE.partition("`result.json` holds")[2].partition("## As a library")[0]
    assert {key for key in keys if f"`{key}`" not in reported} == set()
