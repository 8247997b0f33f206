"""Names of drives: any label becomes a valid folder name."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pi_appliance.music.usb.mounts import folder_name, name_for


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("MUSIC", "MUSIC"),
        ("Für Oma (2)", "Für Oma 2"),
        ("  a   b ", "a b"),
        (".hidden", "hidden"),
        ("..", "USB drive"),
        ("", "USB drive"),
        ("音楽", "音楽"),
        ("é" * 50, "é" * 30),
    ],
)
def test_a_label_becomes_a_name(label: str, name: str) -> None:
    assert folder_name(label) == name


@given(some.text())
def test_a_name_is_one_path_component_and_not_an_option(label: str) -> None:
    name = folder_name(label)
    assert 0 < len(name.encode()) <= 60
    assert not set(name) & set("/\0\n\r\t\\\"'`$,=*?[]{}|;&<>:%!")
    assert name == name.strip()
    assert name[0] not in "-."
    assert folder_name(name) == name


def test_a_drive_keeps_its_name_and_takes_no_other() -> None:
    known_names = {"MUSIC": "1A2B", "Music 2": "3C4D"}
    assert name_for("RENAMED", "3C4D", known_names) == "Music 2"
    assert name_for("music", "5E6F", known_names) == "music 3"
    assert name_for("own", "5E6F", known_names, reserved=["OWN"]) == "own 2"
