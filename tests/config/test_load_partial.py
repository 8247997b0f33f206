"""The readable parts of an invalid configuration."""

from pathlib import Path

import pytest

from pi_appliance.config.loader import load_partial

GOOD = "state-dir: here\nweb: {port: 8123}\ntime-zone: Europe/London\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "appliance.yaml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "wrong",
    [
        "jobs:\n  a: {kind: comand}\n",
        "jobs: [\n",
        "jobs:\n  a: {kind: command, kind: tweet}\n",
        "nonsense: 1\n",
        "mpd-proxy: {port: many}\n",
        "retention: {max-age: long}\n",
        "jobs:\n\tb: 1\n",
        '"\n',
    ],
)
def test_valid_sections_are_used(tmp_path: Path, wrong: str) -> None:
    result = load_partial(write(tmp_path, GOOD + wrong))
    assert result is not None
    assert (result.state_dir, result.web.port, result.time_zone.key) == (tmp_path / "here", 8123, "Europe/London")
    assert result.jobs == {}


def test_networks_of_known_kinds_are_used(tmp_path: Path) -> None:
    result = load_partial(write(tmp_path, GOOD + "networks:\n  bird: {kind: x}\n  fish: {kind: y}\njobs: 7\n"))
    assert result is not None
    assert list(result.networks) == ["bird"]


@pytest.mark.parametrize("text", ["", "web: {port: 1}\n", "state-dir: [a]\n", "state-dir: a: b\n", "- a\n- b\n"])
def test_without_a_state_folder_nothing_is_loaded(tmp_path: Path, text: str) -> None:
    assert load_partial(write(tmp_path, text)) is None


def test_an_unreadable_file_loads_nothing(tmp_path: Path) -> None:
    assert load_partial(tmp_path / "missing.yaml") is None
    (tmp_path / "bytes.yaml").write_bytes(b"state: \xff\xfe\n")
    assert load_partial(tmp_path / "bytes.yaml") is None
