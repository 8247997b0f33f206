"""Report sets: they are published atomically, the latest has fixed names, and their number is limited."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.jobs import reports
from tests.installation import ROOT

NIGHT = datetime(2026, 11, 21, 3, 30, tzinfo=UTC)


def write(folder: Path, moment: datetime = NIGHT, *, keep: int = 14, **content: str) -> None:
    with reports.report_set(folder, moment, keep=keep) as draft:
        for name, text in content.items():
            with draft.file(f"{name}.txt") as file:
                file.write(text)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".newest"}


def test_a_set_is_in_its_dated_folder_and_is_the_newest(tmp_path: Path) -> None:
    write(tmp_path, result="all solved")
    assert names(tmp_path) == {"2026-11-21_0330", "result.txt"}
    assert (tmp_path / "2026-11-21_0330" / "result.txt").read_text() == "all solved"
    assert (tmp_path / "result.txt").samefile(tmp_path / "2026-11-21_0330" / "result.txt"), (
        "the card is not filled twice"
    )


def test_a_set_is_not_visible_before_it_is_complete(tmp_path: Path) -> None:
    write(tmp_path, result="old")
    with reports.report_set(tmp_path, NIGHT + timedelta(days=1), keep=2) as draft:
        with draft.file("result.txt") as file:
            file.write("new")
        assert reports.report_sets(tmp_path) == ["2026-11-21_0330"]
        assert (tmp_path / "result.txt").read_text() == "old"
    assert (tmp_path / "result.txt").read_text() == "new"


def test_a_failed_set_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path, result="old")
    with pytest.raises(UnicodeEncodeError):
        write(tmp_path, result="new", second="\ud800 is no text")
    assert names(tmp_path) == {"2026-11-21_0330", "result.txt"}
    assert (tmp_path / "result.txt").read_text() == "old"


def test_old_names_are_removed_but_not_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    write(tmp_path, result="a", cross="x")
    write(tmp_path, NIGHT + timedelta(days=1), result="b")
    assert names(tmp_path) == {"2026-11-21_0330", "2026-11-22_0330", "result.txt", "notes.md"}


def test_sets_of_one_minute_are_numbered(tmp_path: Path) -> None:
    for number in range(11):
        write(tmp_path, result=str(number))
    assert reports.report_sets(tmp_path)[:2] == ["2026-11-21_0330-11", "2026-11-21_0330-10"]
    assert reports.report_sets(tmp_path)[-1] == "2026-11-21_0330"


KILLED = """
import os, signal, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from pi_appliance.jobs import reports
folder, left = Path(sys.argv[1]), int(sys.argv[2])
def hook(event, _):
    global left
    left -= event in ("os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir")
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
with reports.report_set(folder, datetime(2026, 11, 22, tzinfo=UTC), keep=1) as draft:
    for each in ("result", "more", "second"):
        with draft.file(f"{each}.txt") as file:
            file.write("new")
    sys.addaudithook(hook)
"""


@pytest.mark.slow
def test_a_kill_at_any_time_leaves_one_complete_set(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for number in range(1, 100):
        folder = tmp_path / str(number)
        write(folder, keep=1, result="old", more="old", first="old")
        words = [sys.executable, "-c", KILLED, str(folder), str(number)]
        status = subprocess.run(words, env=environment, check=False, timeout=60).returncode
        contents = {path.stem: path.read_text() for path in folder.glob("*.txt") if path.is_file()}
        old = dict.fromkeys(("result", "more", "first"), "old")
        new = dict.fromkeys(("result", "more", "second"), "new")
        assert contents in (old, new), f"killed at change {number}"
        write(folder, NIGHT + timedelta(days=7), keep=1, result="the last one")
        assert names(folder) == {"2026-11-28_0330", "result.txt"}
        if not status:
            break
    assert number > 10


def test_files_are_replaced_by_links(tmp_path: Path) -> None:
    write(tmp_path, result="old", cross="old")
    for name in ("result.txt", "cross.txt"):
        (tmp_path / name).unlink()
        (tmp_path / name).hardlink_to(tmp_path / "2026-11-21_0330" / name)
    (tmp_path / ".newest").unlink()
    write(tmp_path, NIGHT + timedelta(days=1), result="new")
    assert names(tmp_path) == {"2026-11-21_0330", "2026-11-22_0330", "result.txt"}
    assert (tmp_path / "result.txt").read_text() == "new"
    assert (tmp_path / "2026-11-21_0330" / "result.txt").read_text() == "old"


NO_LINKS = """
import ctypes, os, platform, struct, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from pi_appliance.jobs import reports
known = {"x86_64": (88, 266), "aarch64": (36, 36)}.get(platform.machine())
if known is None or ctypes.sizeof(ctypes.c_void_p) != 8:
    sys.exit(77)
# As on FAT: the kernel answers EPERM to whoever makes a link.
steps = [(0x20, 0, 0, 0), (0x15, 1, 0, known[0]), (0x15, 0, 1, known[1]), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc, filter = ctypes.CDLL(None), Filter(len(steps), ctypes.addressof(code))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filter), 0, 0):
    sys.exit(77)
folder = Path(sys.argv[1])
for number in range(4):
    moment = datetime(2026, 11, 20, tzinfo=UTC) + timedelta(days=number)
    with reports.report_set(folder, moment, keep=2) as draft:
        for each in ("result.txt", f"{number}.svg"):
            with draft.file(each) as file:
                file.write(str(number))
"""


def test_without_links_the_newest_are_copies(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", NO_LINKS, str(tmp_path)], env=environment, check=False, timeout=60)
    if done.returncode == 77:
        pytest.skip("this machine cannot be told to know no links")
    assert done.returncode == 0
    assert names(tmp_path) == {"2026-11-23_0000", "2026-11-22_0000", "result.txt", "3.svg"}
    assert (tmp_path / "result.txt").read_text() == "3"
    assert not (tmp_path / "result.txt").is_symlink()


def test_only_the_newest_sets_are_kept(tmp_path: Path) -> None:
    for day in range(5):
        write(tmp_path, NIGHT + timedelta(days=day), keep=3, result=str(day))
    assert reports.report_sets(tmp_path) == ["2026-11-25_0330", "2026-11-24_0330", "2026-11-23_0330"]
    assert (tmp_path / "result.txt").read_text() == "4"
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_foreign_files_and_folders_stay(tmp_path: Path) -> None:
    precious = tmp_path / "elsewhere"
    precious.mkdir()
    folder = tmp_path / "pegs"
    write(folder, NIGHT - timedelta(days=3), result="old", cross="old")
    (folder / "2026-11-18_0330" / "notes").mkdir()
    (folder / "notes").mkdir()
    (folder / "cross.txt").unlink()
    (folder / "cross.txt").write_text("the owner's own drawing")
    (folder / "2026-11-17_0330").write_text("a file of such a name")
    (folder / "2026-11-16_0330").symlink_to(precious)
    (folder / "plus.txt").mkdir()
    write(folder, result="new", plus="new", keep=1)
    assert reports.report_sets(folder) == ["2026-11-21_0330"]
    own = {"notes", "cross.txt", "2026-11-17_0330", "2026-11-16_0330", "plus.txt"}
    assert names(folder) == own | {"2026-11-21_0330", "result.txt"}
    assert (folder / "cross.txt").read_text() == "the owner's own drawing"


def test_a_set_with_an_older_date_stays(tmp_path: Path) -> None:
    write(tmp_path, result="tonight", keep=2)
    for days in (2, 1):
        write(tmp_path, NIGHT - timedelta(days=days), keep=2, result=f"of {days} days ago", extra=str(days))
        assert (tmp_path / "result.txt").read_text() == f"of {days} days ago"
        assert reports.report_sets(tmp_path) == ["2026-11-21_0330", f"2026-11-{21 - days}_0330"]
    write(tmp_path, NIGHT + timedelta(days=1), keep=2, result="tomorrow")
    assert names(tmp_path) == {"2026-11-21_0330", "2026-11-22_0330", "result.txt"}, "nothing is left of what went"


def test_drafts_of_a_power_cut_are_deleted(tmp_path: Path) -> None:
    for name in (".2026-11-21_0330.new", ".2026-11-19_0330.new", f".2026-11-18_0330.{os.getpid()}.new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half.txt").write_text("of a machine that lost its power")
    (tmp_path / ".owners.new").mkdir()
    write(tmp_path, result="whole")
    assert names(tmp_path / "2026-11-21_0330") == {"result.txt"}
    assert names(tmp_path) == {"2026-11-21_0330", "result.txt", ".owners.new"}


def test_set_names_are_times(tmp_path: Path) -> None:
    assert reports.is_report_set_name("2026-11-21_0330-2")
    for name in ("2026-11-21", "2026-13-21_0330", "2026-11-21_0330-", "..", "result.txt", ".2026-11-21_0330.7.new"):
        assert not reports.is_report_set_name(name), name
        (tmp_path / name.replace("..", "dots")).mkdir()
    assert reports.report_sets(tmp_path) == []
    assert reports.report_sets(tmp_path / "gone") == []


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "pegs").write_text("a file stands here")
    with pytest.raises(Unavailable, match="cannot be written"):
        write(tmp_path / "pegs", result="x")
