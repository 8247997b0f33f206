"""The log of a run: complete if short, its beginning and end if long."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import Unavailable
from pi_appliance.storage.run_log import RunLog, read_log


def write_log(path: Path, chunks: list[bytes], cap: int) -> str:
    log = RunLog(path, cap)
    for chunk in chunks:
        log.write(chunk)
    log.close()
    return read_log(path)


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.hex().encode()), max_size=30), st.integers(2, 300))
def test_short_output_is_complete_and_long_output_keeps_its_first_and_last_half(tmp_path_factory, chunks, cap):
    whole = b"".join(chunks).decode()
    text = write_log(tmp_path_factory.mktemp("log") / "1.log", chunks, cap)
    if len(whole) <= cap:
        assert text == whole
    else:
        half = cap // 2
        assert text == (f"{whole[:half]}\n… {len(whole) - 2 * half:,} bytes of output omitted …\n{whole[-half:]}")


def test_the_beginning_can_be_read_during_the_run(tmp_path):
    log = RunLog(tmp_path / "1.log", 10)
    for chunk in (b"abcdef", b"ghijkl", b"mnop"):
        log.write(chunk)
    assert read_log(tmp_path / "1.log") == "abcdefghij"
    log.close()
    assert read_log(tmp_path / "1.log") == "abcde\n… 6 bytes of output omitted …\nlmnop"


def test_a_run_without_output_has_no_file(tmp_path):
    RunLog(tmp_path / "1.log").close()
    assert not (tmp_path / "1.log").exists()
    assert read_log(tmp_path / "1.log") == ""


def test_an_unusable_folder_is_reported(tmp_path):
    (tmp_path / "logs").write_text("a file where the folder should be", "ascii")
    with pytest.raises(Unavailable, match="cannot be written"):
        RunLog(tmp_path / "logs" / "1.log").write(b"x")
