"""The folder of the drives is writable for MPD, but root writes nowhere else."""

import json
from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.usb import mounts


@pytest.fixture
def places(tmp_path: Path) -> mounts.Paths:
    result = mounts.Paths.from_environment({"PI_APPLIANCE_USB_ROOT": str(tmp_path / "root")})
    result.known.parent.mkdir(parents=True)
    result.known.write_text(json.dumps({"My Stick": "1234"}))
    return result


def make_stale_link(places: mounts.Paths, folder: Path) -> Path:
    """Return the folder of a drive after a power cut."""
    folder.mkdir(parents=True)
    link = folder / "My Stick"
    link.symlink_to(places.mounts / "My Stick")
    return link


def test_a_symlink_in_place_of_the_folder_is_not_followed(places: mounts.Paths, tmp_path: Path) -> None:
    link = make_stale_link(places, tmp_path / "etc")
    folder = tmp_path / "music"
    folder.symlink_to(tmp_path / "etc")
    for act in (
        lambda: mounts.cleanup(folder, places),
        lambda: mounts.unregister("My Stick", folder, places),
    ):
        with pytest.raises(Refused, match="is a link"):
            act()
    assert (link.readlink(), list(link.parent.iterdir())) == (places.mounts / "My Stick", [link])
    assert "My Stick" in places.known.read_text()


def test_a_folder_at_the_place_of_the_draft_is_reported(places: mounts.Paths, tmp_path: Path) -> None:
    link = make_stale_link(places, tmp_path / "music")
    (link.parent / ".My Stick.new").mkdir()
    with pytest.raises(Refused, match="cannot be used: Is a directory"):
        mounts.cleanup(link.parent, places)
    assert link.readlink() == places.mounts / "My Stick"


def test_drafts_of_a_power_cut_are_ignored(places: mounts.Paths, tmp_path: Path) -> None:
    link = make_stale_link(places, tmp_path / "music")
    assert mounts.cleanup(link.parent, places) == ["My Stick"]
    assert str(link.readlink()) == "."
    mounts.unregister("My Stick", link.parent, places)
    assert list(link.parent.iterdir()) == []
