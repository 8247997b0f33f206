"""docs/puzzles.md does what it says: its commands run, its configuration loads, its keys and its library are there."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from pi_appliance import registry
from pi_appliance.cli._program import cli
from pi_appliance.config.load import load
from pi_appliance.jobs.puzzle import Options, run
from tests.fakes.context import FolderContext

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "puzzles.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def test_the_commands_of_the_page_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = {}
    for line in block("sh").splitlines():
        result = CliRunner().invoke(cli, shlex.split(line)[1:])
        assert result.exit_code == 0, line
        told[line] = result.stdout
    assert told["pi-appliance puzzle check peg-solitaire result.txt"] == "result.txt: 2 solutions, all right\n"
    assert told["pi-appliance puzzle count peg-solitaire --board plus"] == "32 solutions.\n"


def test_the_configuration_of_the_page_loads_beside_the_example_boards(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config" / "boards", tmp_path / "boards")
    (tmp_path / "appliance.yaml").write_text("state: state\n" + block("yaml"), "utf-8")
    options = load(tmp_path / "appliance.yaml").jobs["nightly-puzzles"].with_
    assert (options.limit, options.rules) == (1000, {"goal": "3,3"})


def test_every_puzzle_is_in_the_table_with_a_page_of_its_own() -> None:
    linked = dict(re.findall(r"^\| \[`([a-z-]+)`\]\(([^)]+)\)", PAGE, re.MULTILINE))
    assert set(linked) >= set(registry.names("puzzles"))
    for name in registry.names("puzzles"):
        assert (ROOT / "docs" / linked[name]).is_file()


def test_the_keys_of_the_json_are_those_of_the_page(tmp_path: Path) -> None:
    run(Options(puzzle="peg-solitaire", boards=[Path("cross")]), FolderContext(tmp_path))
    report = json.loads((tmp_path / "result.json").read_text("utf-8"))
    keys = {*report, *report["boards"][0]}
    told = PAGE.partition("`result.json` holds")[2].partition("## As a library")[0]
    assert {key for key in keys if f"`{key}`" not in told} == set()


def test_the_library_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python"), "docs/puzzles.md", "exec"), {})  # noqa: S102 - our own page
    assert len(capsys.readouterr().out.splitlines()) == 4
