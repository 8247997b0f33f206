"""Every section of the configuration file is read and checked."""

import types
import typing
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from pi_appliance.config.loader import load_config
from pi_appliance.config.options import Config
from pi_appliance.errors import ConfigError

SECTIONS = {
    "clock": "{max-wait-for-sync: 5m}",
    "retention": "{max-age: 30d}",
    "backup": "{folder: copies, keep: 3}",
    "updates": '{check: false, automatic: "04:00"}',
    "web": "{host: 127.0.0.1, port: 8123}",
    "player": "{kind: mpd, with: {address: '127.0.0.1:6601'}}",
    "mpd-proxy": "{port: 6700}",
    "volume": "{maximum: 60}",
    "radio": "{local-hosts: [10.0.0.5]}",
    "usb": "{}",
    "hotspot": "{name: box}",
    "mqtt": "{host: 127.0.0.1}",
    "cluster": "{scheduler: 'tls://10.0.0.1:8786'}",
    "notify": "{}",
}


def load(folder: Path, text: str) -> Config:
    path = folder / "appliance.yaml"
    path.write_text(f"state-dir: state\n{text}", "utf-8")
    return load_config(path)


def test_no_section_is_left_out() -> None:
    hints = typing.get_type_hints(Config)
    kinds = {
        name: typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,) for name, hint in hints.items()
    }
    sections = {name.replace("_", "-") for name, each in kinds.items() if any(map(is_dataclass, each))}
    assert sections == SECTIONS.keys()


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_read(tmp_path: Path, section: str) -> None:
    config = load(tmp_path, f"{section}: {SECTIONS[section]}\n")
    assert is_dataclass(getattr(config, section.replace("-", "_")))


def test_a_folder_that_keeps_no_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="0 keeps nothing; write 1 or more"):
        load(tmp_path, "backup: {folder: copies, keep: 0}\n")
