"""USB drives in the API."""

from tests.music.usb.usb_fixtures import NoUsbDrives
from tests.web.served_appliance import ServedAppliance


def test_drives_are_listed_with_their_progress(appliance: ServedAppliance) -> None:
    (drive,) = appliance.request("/api/v1/usb").json
    assert (drive["name"], drive["state"], drive["files"], drive["tracks"]) == ("Blue & co", "scanning", 100, 20)
    assert appliance.request("/api/v1/usb?all=1").status == 400


def test_a_drive_is_ejected(appliance: ServedAppliance) -> None:
    assert appliance.request("/api/v1/usb/Blue%20%26%20co/eject", {}).json["state"] == "unmounted"
    assert appliance.request("/api/v1/usb/Blue%20%26%20co/eject", {}).status == 409
    assert appliance.request("/api/v1/usb/Red/eject", {}).status == 404
    assert appliance.request("/api/v1/usb/Red/eject", {"now": True}).status == 400


def test_the_sound_page_shows_and_ejects_the_drive(appliance: ServedAppliance) -> None:
    assert "20 of 100 tracks" in appliance.request("/music/sound").text
    assert appliance.request("/do/usb/Blue%20%26%20co/eject", "").status == 303
    page = appliance.request("/music/sound").text
    assert "kept while it is unmounted" in page
    assert "Eject" not in page
    assert appliance.request("/do/usb/Red/eject", "").status == 404


def test_without_usb_support_the_page_has_no_drives(appliance: ServedAppliance) -> None:
    appliance.daemon.usb_drives = NoUsbDrives()
    answer = appliance.request("/music/sound")
    assert (answer.status, "USB" in answer.text) == (200, False)
    assert appliance.request("/api/v1/usb").status == 409
