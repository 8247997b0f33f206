"""The log of a run: whole if it is short, its beginning and its end if it is long."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import Unavailable
from pi_appliance.system.files import RunLog, read_log


def kept(path: Path, chunks: list[bytes], cap: int) -> str:
    log = RunLog(path, cap)
    for chunk in chunks:
        log.write(chunk)
    log.close()
    return read_log(path)


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.hex().encode()), max_size=30), st.integers(2, 300))
def test_what_fits_is_whole_and_of_more_the_first_half_and_the_last_are_kept(tmp_path_factory, chunks, cap):
    whole = b"".join(chunks).decode()
    text = kept(tmp_path_factory.mktemp("log") / "1.log", chunks, cap)
    if len(whole) <= cap:
        assert text == whole
    else:
        half = cap // 2
        assert text == (f"{whole[:half]}\n… {len(whole) - 2 * half:,} bytes of output omitted …\n{whole[-half:]}")


def test_while_the_run_goes_on_all_that_came_first_can_be_read(tmp_path):
    log = RunLog(tmp_path / "1.log", 10)
    for chunk in (b"abcdef", b"ghijkl", b"mnop"):
        log.write(chunk)
    assert read_log(tmp_path / "1.log") == "abcdefghij"
    log.close()
    assert read_log(tmp_path / "1.log") == "abcde\n… 6 bytes of output omitted …\nlmnop"


def test_a_run_that_prints_nothing_has_no_file(tmp_path):
    RunLog(tmp_path / "1.log").close()
    assert not (tmp_path / "1.log").exists()
    assert read_log(tmp_path / "1.log") == ""


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    (tmp_path / "logs").write_text("a file where the folder should be", "ascii")
    with pytest.raises(Unavailable, match="cannot be written"):
        RunLog(tmp_path / "logs" / "1.log").write(b"x")
