"""USB drives in the API."""

from tests.music.usb.usb_fixtures import NoUsbDrives
from tests.web.served_appliance import World


def test_the_drives_and_how_far_they_are(world: World) -> None:
    (drive,) = world.ask("/api/v1/usb").json
    assert (drive["name"], drive["state"], drive["files"], drive["tracks"]) == ("Blue & co", "scanning", 100, 20)
    assert world.ask("/api/v1/usb?all=1").status == 400


def test_a_drive_is_let_go_of(world: World) -> None:
    assert world.ask("/api/v1/usb/Blue%20%26%20co/eject", {}).json["state"] == "unmounted"
    assert world.ask("/api/v1/usb/Blue%20%26%20co/eject", {}).status == 409
    assert world.ask("/api/v1/usb/Red/eject", {}).status == 404
    assert world.ask("/api/v1/usb/Red/eject", {"now": True}).status == 400


def test_the_page_of_the_sound_shows_the_drive_and_lets_go_of_it(world: World) -> None:
    assert "20 of 100 tracks" in world.ask("/music/sound").text
    assert world.ask("/music/usb/eject", "drive=Blue+%26+co").status == 303
    page = world.ask("/music/sound").text
    assert "kept while it is unmounted" in page
    assert "Eject" not in page
    assert world.ask("/music/usb/eject", "drive=Red").status == 404


def test_where_no_drives_are_wanted_the_page_has_nothing_of_them(world: World) -> None:
    world.daemon.usb_drives = NoUsbDrives()
    answer = world.ask("/music/sound")
    assert (answer.status, "USB" in answer.text) == (200, False)
    assert world.ask("/api/v1/usb").status == 503
