"""The owner's file changed by several programs: checked, atomic, with the way back."""

import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from pi_appliance.config import editing
from pi_appliance.config.config_file import ConfigFile
from pi_appliance.config.loader import load_config
from pi_appliance.errors import ConfigError, Refused, UnknownName

TEXT = """\
state-dir: state  # beside it
time-zone: UTC
jobs:
  # says hello
  hello: {kind: command, schedule: "@daily", with: {run: [echo, hello]}}
"""
START = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path) -> ConfigFile:
    path = tmp_path / "appliance.yaml"
    path.write_text(TEXT)
    seconds = count()
    return ConfigFile(path, tmp_path / "state", lambda: START + timedelta(seconds=next(seconds)))


def set_zone(file: ConfigFile, zone: str, expected: str | None = None, *, only_check: bool = False) -> str:
    change = file.edit(
        lambda data: editing.set_value(data, ("time-zone",), zone), expected=expected, only_check=only_check
    )
    return change.after


def test_an_edit_keeps_the_text_before(file: ConfigFile) -> None:
    after = set_zone(file, "Europe/Berlin")
    assert file.path.read_text() == after == TEXT.replace("UTC", "Europe/Berlin")
    [earlier] = file.earlier_texts()
    assert earlier.replaced_at == START
    assert file.earlier_text(earlier.name) == TEXT
    file.replace(file.earlier_text(earlier.name))
    assert file.path.read_text() == TEXT


def test_a_wrong_edit_changes_nothing(file: ConfigFile) -> None:
    with pytest.raises(ConfigError, match=r"appliance.yaml:2:12: no time zone is called 'Mars'"):
        set_zone(file, "Mars")
    with pytest.raises(ConfigError, match="not YAML"):
        file.replace("jobs: [")
    assert file.path.read_text() == TEXT
    assert file.earlier_texts() == []


def test_a_check_writes_nothing(file: ConfigFile) -> None:
    assert set_zone(file, "Europe/Berlin", only_check=True) == TEXT.replace("UTC", "Europe/Berlin")
    assert file.path.read_text() == TEXT
    assert file.earlier_texts() == []


def test_the_second_of_two_editors_is_told(file: ConfigFile) -> None:
    _, version = file.read()
    set_zone(file, "Europe/Berlin", version)
    with pytest.raises(Refused, match="changed by somebody else in the meantime"):
        set_zone(file, "Europe/London", version)
    assert str(load_config(file.path).time_zone) == "Europe/Berlin"


def test_edits_at_the_same_time_lose_nothing(file: ConfigFile) -> None:
    def add(number: int) -> None:
        job = {"kind": "command", "with": {"run": ["true"]}}
        file.edit(lambda data: editing.set_value(data, ("jobs", f"job-{number}"), job))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(load_config(file.path).jobs) == {"hello", *(f"job-{number}" for number in range(10))}
    assert file.path.read_text().startswith(TEXT)
    assert len(file.earlier_texts()) == 10


def test_rights_byte_order_mark_and_link_stay(file: ConfigFile, tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    real.chmod(0o640)
    file.path.unlink()
    file.path.symlink_to(real)
    set_zone(file, "Europe/Berlin")
    assert file.path.is_symlink()
    assert real.read_bytes() == b"\xef\xbb\xbf" + TEXT.replace("UTC", "Europe/Berlin").encode()
    assert real.stat().st_mode & 0o777 == 0o640
    assert oct((tmp_path / "state" / "configurations").stat().st_mode)[-3:] == "700"


def test_only_the_newest_texts_are_kept(file: ConfigFile) -> None:
    for number in range(35):
        set_zone(file, "UTC" if number % 2 else "Europe/Berlin")
    texts = file.earlier_texts()
    assert len(texts) == 30
    assert texts[0].replaced_at - texts[-1].replaced_at == timedelta(seconds=29)
    with pytest.raises(UnknownName, match="no earlier configuration"):
        file.earlier_text("../appliance")
