"""Check that the benchmarks run. No duration is asserted."""

import pytest

from pi_appliance import plugins
from tests import traces
from tests.benchmarks import (
    commands,
    first_start,
    idle,
    library,
    many_jobs,
    nights,
    pages,
    phones,
    process_cost,
    puzzles,
    running_command,
    scaling,
)
from tests.fakes.mpd_server import needs_mpd
from tests.installation import PROGRAM


@pytest.mark.slow
def test_the_idle_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    idle.main(["--minutes", "0.01", "--settle", "0", "--only", "pi-appliance, no player"])
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.count("|") == len(process_cost.HEADERS) + 2
    assert float(row.split("|")[2]) > 5, "an interpreter alone has more megabytes"


@pytest.mark.slow
def test_the_benchmark_of_many_jobs_runs(capsys: pytest.CaptureFixture[str]) -> None:
    many_jobs.main(["--jobs", "6", "--limits", "1"])
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.count("|") == len(many_jobs.HEADERS) + 1
    assert row.endswith("| yes |"), "by priority"


def test_the_benchmark_of_a_running_command_runs() -> None:
    sample, end = running_command.measure((0.1,), 0.5)
    assert [len(sample), len(end)] == [len(running_command.HEADERS)] * 2


@pytest.mark.slow
@needs_mpd
@pytest.mark.skipif(not first_start.has_cgroups(), reason="no cgroup can be made here")
def test_the_benchmark_of_the_first_start_runs() -> None:
    row = first_start.measure("installed", [*PROGRAM, "up"], 0.5)
    assert len(row) == len(first_start.HEADERS)
    assert all(float(cell) > 0 for cell in row[1:3])


@needs_mpd
def test_the_commands_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    commands.main(["--rounds", "1"])
    assert [line.count("|") for line in capsys.readouterr().out.splitlines()] == [4] * 7


@pytest.mark.slow
@needs_mpd
def test_the_phones_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    phones.main(["--phones", "10", "--changes", "3"])
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.count("|") == 8][2:]
    assert len(rows) == 5
    assert all("100.0%" in row for row in rows), "a change reaches everybody"
    assert "| events each had missed | 3 |" in lines
    assert "| phones that then received each event once, in order | 10 |" in lines
    assert "| phones that had to load everything again instead | 0 |" in lines


@pytest.mark.slow
@needs_mpd
def test_the_library_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    library.main(["--tracks", "120", "--flat", "30", "--runs", "1", "--rounds", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.count("|") == 5]) == 2 + 12
    assert len([line for line in lines if line.count("|") == 4]) == 2 + 2


@pytest.mark.slow
@needs_mpd
def test_the_pages_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pages.main(["--tracks", "240", "--flat", "30", "--runs", "1", "--rounds", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.count("|") == 6]) == 2 + 29 + 1 + 2


def test_the_puzzle_benchmark_prints_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {"sudoku": lambda: iter([("a", "1", "2", "0.5×")]), "cube": lambda: iter([("b", "3", "-", "-")] * 2)}
    puzzles.main([], rows)
    conditions, empty, *table = capsys.readouterr().out.splitlines()
    assert "cores · CPython 3." in conditions
    assert "load before: " in conditions
    assert not empty
    assert table[2:] == ["| sudoku: a | 1 | 2 | 0.5× |", "| cube: b | 3 | - | - |", "| cube: b | 3 | - | - |"]
    puzzles.main(["--only", "sudoku"], rows)
    assert len(capsys.readouterr().out.splitlines()) == 5
    with pytest.raises(SystemExit):
        puzzles.main(["--only", "chess"], rows)


@pytest.mark.slow
def test_the_benchmark_of_nights_runs(capsys: pytest.CaptureFixture[str]) -> None:
    nights.main(["--only", "bimaru: generate"])
    row = capsys.readouterr().out.splitlines()[-1]
    cells = dict(zip(nights.HEADERS, row.strip("| ").split(" | "), strict=True))
    assert cells["ended"] == "succeeded"
    assert 10 < float(cells["MB measured"]) <= float(cells["MB estimated"])


@pytest.mark.slow
def test_the_benchmark_of_scaling_runs(capsys: pytest.CaptureFixture[str]) -> None:
    scaling.main(["--size", "0.01", "--by", "processes"])
    _, _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(scaling.WORK)


@pytest.mark.slow
@needs_mpd
def test_the_traces_find_each_way_through_the_code() -> None:
    files = traces.trace()
    own = {
        "tweet": {"jobs/runner.py", "jobs/context.py", "posting/networks/preview.py"},
        "alarm": {"jobs/runner.py", "music/alarms/alarm_session.py", "music/mpd/playback.py"},
        "station": {"web/params.py", "system/http.py", "music/mpd/playback.py"},
        "pegs": {"puzzles/cli.py", "puzzles/peg_solitaire/count.py"},
    }
    assert {name: each & files[name] for name, each in own.items()} == own
    assert not {"jobs/runner.py", "music/api.py", "puzzles/rubiks_cube/board.py"} & files["pegs"]
    assert "config/loader.py" not in files["station"], "a warm daemon has read its configuration"
    lines = traces.report(files, with_files=True).splitlines()
    assert [line.count("|") for line in lines[:6]] == [5] * 6
    assert len(lines) == 6 + sum(2 + len(each) for each in files.values())


def test_every_puzzle_benchmark_is_discovered() -> None:
    assert set(puzzles.benchmarks()) <= set(plugins.names("puzzles"))
