"""The secrets file: exact round trips, unchanged other lines, private modes."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.config import secrets
from pi_appliance.config.secret_writer import SecretFile
from pi_appliance.errors import ApplianceError, ConfigError, Refused
from tests.installation import ROOT
from tests.other_user import NOBODY_UID

NAMES = st.sampled_from(["A", "X_KEY", "X_KEY2", "MPD_PASSWORD"])
LINES = st.one_of(
    st.just(""),
    st.just("  # X_KEY=in a comment"),
    st.builds("{}{}={}{}".format, st.sampled_from(["", " "]), NAMES, st.sampled_from(["", " ", '"']), NAMES),
)


def file_of(folder: Path, text: str = "", mode: int = 0o600) -> SecretFile:
    path = folder / secrets.NAME
    path.write_bytes(text.encode())
    path.chmod(mode)
    return SecretFile(path)


@given(st.dictionaries(NAMES, st.text(st.characters(codec="utf-8"), min_size=1), min_size=1))
def test_any_value_reads_back_exactly_or_is_refused(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("any")
    file = SecretFile(folder / secrets.NAME)
    try:
        file.store(values, owner=folder)
    except Refused:
        assert not file.path.exists()
        values = {name: value for name, value in values.items() if value.splitlines() == [value]}
        file.store(values, owner=folder)
    assert file.values() == values
    assert secrets.load(folder / "appliance.yaml", {}, ()) == values


@given(st.lists(LINES), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.dictionaries(NAMES, NAMES, min_size=1))
def test_other_lines_stay_unchanged_and_each_name_occurs_once(tmp_path_factory, lines, end, last, values):
    text = "".join(f"{line}{end}" for line in lines)
    text = text if last else text.removesuffix(end)
    folder = tmp_path_factory.mktemp("lines")
    file = file_of(folder, text)
    before = file.values()
    file.store(values, owner=folder)
    assert file.values() == {**before, **values}
    assert other_lines(file.path.read_bytes().decode(), values) == other_lines(text, values)
    for name in values:
        assert sum(secret_name(line) == name for line in file.path.read_text("utf-8").splitlines()) == 1


def secret_name(line: str) -> str:
    return "" if line.lstrip().startswith("#") else line.partition("=")[0].strip()


def other_lines(text: str, values: dict[str, str]) -> list[str]:
    """Return the lines of `text` that set none of `values`, without the last newline."""
    lines = [line for line in text.splitlines(keepends=True) if secret_name(line) not in values]
    return [*lines[:-1], lines[-1].rstrip("\r\n")] if lines else []


@pytest.mark.parametrize("value", ["", "a\nb", "a\r", "a\u2028b", "\ud800"])
def test_a_value_that_does_not_fit_a_line_is_refused_and_not_shown(tmp_path, value):
    file = file_of(tmp_path, "A=b\n")
    with pytest.raises(Refused, match=r"^the value of X_KEY does not fit into a line of secrets\.env") as error:
        file.store({"OTHER": "fine", "X_KEY": value}, owner=tmp_path)
    assert not value or repr(value)[1:-1] not in str(error.value)
    assert file.values() == {"A": "b"}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("A = b # c ", "b # c"),
        ("A='b'", "b"),
        ('A=" b "', " b "),
        ("A=it's", "it's"),
        ("A='b", "'b"),
        ("A=\"'b'\"", "'b'"),
    ],
)
def test_a_value_follows_the_equals_sign_without_one_pair_of_quotes(tmp_path, line, value):
    assert file_of(tmp_path, f"{line}\n").values() == {"A": value}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o620])
def test_a_file_others_can_access_is_neither_read_nor_written(tmp_path, mode):
    file = file_of(tmp_path, "A=b\n", mode)
    for use in (file.values, file.require_writable, lambda: file.store({"A": "c"}, owner=tmp_path)):
        with pytest.raises(Refused, match="can be read by others and is not used; run: chmod 600 "):
            use()
    assert file.path.read_text() == "A=b\n"


def test_an_invalid_line_is_reported_and_kept(tmp_path):
    file = file_of(tmp_path, "A=b\nhush\n")
    with pytest.raises(ConfigError, match=r":2:1: this line is not NAME=value") as error:
        file.store({"A": "c"}, owner=tmp_path)
    assert "hush" not in str(error.value)
    assert file.path.read_text() == "A=b\nhush\n"


def test_its_mode_is_private_under_any_umask(tmp_path):
    before = os.umask(0)
    try:
        file = SecretFile(tmp_path / secrets.NAME)
        file.store({"A": "b"}, owner=tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [secrets.NAME]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_keeps_its_owner(tmp_path):
    file = file_of(tmp_path, "A=b\n")
    os.chown(file.path, NOBODY_UID, NOBODY_UID)
    file.store({"A": "c"}, owner=tmp_path)
    assert (file.path.stat().st_uid, file.path.stat().st_gid) == (NOBODY_UID, NOBODY_UID)


ONE = """
import sys
from pathlib import Path
from pi_appliance.config.secret_writer import SecretFile
path = Path(sys.argv[1])
for number in range(20):
    SecretFile(path).store({f"{sys.argv[2]}_{number}": "x"}, owner=path.parent)
"""


def test_concurrent_writers_keep_both_changes(tmp_path):
    path = tmp_path / secrets.NAME
    both = [
        subprocess.Popen([sys.executable, "-c", ONE, str(path), name], env={**os.environ, "PYTHONPATH": str(ROOT)})
        for name in ("A", "B")
    ]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(SecretFile(path).values()) == 40


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(ApplianceError, match="nowhere does not exist; create it first: sudo mkdir"):
        SecretFile(tmp_path / "nowhere" / secrets.NAME).require_writable()
