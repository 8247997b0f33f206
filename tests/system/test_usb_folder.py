"""The folder of the sticks lies where MPD may write: whatever stands in its place, root writes nowhere else."""

import json
from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.system import usb_root


@pytest.fixture
def places(tmp_path: Path) -> usb_root.Places:
    found = usb_root.Places.of({"PI_APPLIANCE_USB_ROOT": str(tmp_path / "root")})
    found.known.parent.mkdir(parents=True)
    found.known.write_text(json.dumps({"My Stick": "1234"}))
    return found


def left(places: usb_root.Places, folder: Path) -> Path:
    """Return what a power cut has left of a stick in FOLDER."""
    folder.mkdir(parents=True)
    link = folder / "My Stick"
    link.symlink_to(places.mounts / "My Stick")
    return link


def test_a_link_in_place_of_the_folder_is_not_followed(places: usb_root.Places, tmp_path: Path) -> None:
    link = left(places, tmp_path / "etc")
    folder = tmp_path / "music"
    folder.symlink_to(tmp_path / "etc")
    for act in (lambda: usb_root.tidy(folder, places), lambda: usb_root.forget("My Stick", folder, places)):
        with pytest.raises(Refused, match="is a link"):
            act()
    assert (link.readlink(), list(link.parent.iterdir())) == (places.mounts / "My Stick", [link])
    assert "My Stick" in places.known.read_text()


def test_a_folder_in_the_way_of_the_draft_is_told_in_a_sentence(places: usb_root.Places, tmp_path: Path) -> None:
    link = left(places, tmp_path / "music")
    (link.parent / ".My Stick.new").mkdir()
    with pytest.raises(Refused, match="cannot be used: Is a directory"):
        usb_root.tidy(link.parent, places)
    assert link.readlink() == places.mounts / "My Stick"


def test_what_is_left_of_a_power_cut_reads_as_away_and_is_forgotten(places: usb_root.Places, tmp_path: Path) -> None:
    link = left(places, tmp_path / "music")
    assert usb_root.tidy(link.parent, places) == ["My Stick"]
    assert str(link.readlink()) == "."
    usb_root.forget("My Stick", link.parent, places)
    assert list(link.parent.iterdir()) == []
