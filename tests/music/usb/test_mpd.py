"""A drive, the real MPD and the whole appliance: the library survives a removed drive."""

import contextlib
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mpd_server import MpdServer, free_port, make_music, needs_mpd
from tests.fakes.usb_drive import LABEL, UsbDrive, attached_drive, create_image, needs_loop
from tests.installation import Installation, wait_until

pytestmark = [needs_loop, needs_mpd]

OWN = ["Ärzte/eins.wav", "Ärzte/zwei — 二.wav", "one.wav"]
HIS = [f"USB/{LABEL}/{each}" for each in ("Blue/a.wav", "Blue/b.wav")]


class Home:
    """An installation with an MPD and a drive, and the appliance running in it."""

    def __init__(self, installation: Installation, server: MpdServer, drive: UsbDrive) -> None:
        self.installation, self.server, self.drive = installation, server, drive
        self.page = f"http://127.0.0.1:{free_port()}"
        installation.write(
            "",
            f"web: {{port: {self.page.rpartition(':')[2]}}}\n"
            f"player: {{kind: mpd, with: {{address: {server.address}}}}}\n"
            f"usb: {{mount-dir: '{server.music}/USB'}}",
        )

    def usb(self, *words: str) -> None:
        """Run `pi-appliance music usb` with `words` as the units do."""
        done = self.installation.run("music", "usb", *words, environment=self.environment)
        assert done.returncode == 0, done.stderr

    @property
    def environment(self) -> dict[str, str]:
        return {"PI_APPLIANCE_USB_ROOT": str(self.installation.folder)}

    def request(self, path: str, method: str = "GET") -> Any:
        request = urllib.request.Request(f"{self.page}/api/v1{path}", method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def is_(self, state: str) -> Any:
        """Wait until the only drive is in `state`, and return it."""
        return wait_until(lambda: next((each for each in self.request("/usb") if each["state"] == state), None), 20)

    def update(self, *what: str) -> None:
        """Start an MPD update as another client."""
        self.server.mpc(*(what or ("update",)))
        wait_until(lambda: "Updating" not in self.server.mpc("status"))

    def library(self) -> list[str]:
        return sorted(self.server.mpc("listall").splitlines())

    def queue(self) -> list[str]:
        return self.server.mpc("-f", "%file%", "playlist").splitlines()


@pytest.fixture(params=["yes", "no"], ids=["auto_update", "no auto_update"])
def home(installation: Installation, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Home]:
    files = make_music(tmp_path / "files", {each.removeprefix(f"USB/{LABEL}/"): (each, "A", "B") for each in HIS})
    server = MpdServer(
        tmp_path / "mpd", databases=("playlists", "stickers", "state"), more=f'auto_update "{request.param}"'
    )
    make_music(server.music)
    with contextlib.ExitStack() as stack:
        stack.callback(server.kill)
        server.start()
        server.mpc("update", "--wait")
        drive = stack.enter_context(attached_drive(create_image(tmp_path / "image", files)))
        result = Home(installation, server, drive)
        stack.callback(result.usb, "detach", drive.device)
        daemon = installation.start("up", environment=result.environment)
        stack.callback(daemon.communicate)
        stack.callback(daemon.terminate)
        wait_until(lambda: has_player(result), 20)
        yield result


def has_player(home: Home) -> bool:
    with contextlib.suppress(OSError):
        return bool(home.request("/player")["player"])
    return False


@pytest.mark.slow_variants
def test_a_missing_drive_never_empties_the_library(home: Home) -> None:
    assert home.request("/usb") == []
    home.usb("attach", home.drive.device)
    drive = home.is_("ready")
    assert (drive["name"], drive["files"], drive["tracks"]) == (LABEL, 2, 2)
    assert home.library() == sorted(OWN + HIS)

    home.server.mpc("add", f"USB/{LABEL}")
    home.server.mpc("sticker", HIS[0], "set", "rating", "9")
    home.server.mpc("play")
    wait_until(lambda: "[playing]" in home.server.mpc("status"))
    assert home.request(f"/usb/{LABEL.replace(' ', '%20')}/eject", "POST")["state"] == "unmounted"
    assert "[playing]" not in home.server.mpc("status"), "what plays from it ends"

    def all_is_there() -> None:
        assert home.library() == sorted(OWN + HIS)
        assert home.queue() == HIS
        assert home.server.mpc("sticker", HIS[0], "get", "rating") == "rating=9"

    all_is_there()
    for what in (("update",), ("rescan",), ("update", "USB"), ("update", f"USB/{LABEL}")):
        home.update(*what)
        all_is_there()
    home.server.mpc("stop")
    state_file = home.server.folder / "state"
    wait_until(
        lambda: state_file.exists() and "state: stop" in state_file.read_text() and HIS[1] in state_file.read_text()
    )
    home.server.kill()
    home.server.start()
    home.update()
    all_is_there()

    (home.server.music / "new.wav").write_bytes((home.server.music / "one.wav").read_bytes())
    home.update()
    everything = sorted([*OWN, *HIS, "new.wav"])
    assert home.library() == everything, "what else is new is found as ever"

    home.usb("attach", home.drive.device)
    assert home.is_("ready")["tracks"] == 2
    assert home.library() == everything
    assert home.queue() == HIS
    home.server.mpc("play")
    wait_until(lambda: "[playing]" in home.server.mpc("status"))


@pytest.mark.slow_variants
def test_removing_a_drive_during_playback_loses_only_its_tracks(home: Home) -> None:
    home.usb("attach", home.drive.device)
    home.is_("ready")
    home.server.mpc("add", f"USB/{LABEL}")
    home.server.mpc("play")
    wait_until(lambda: "[playing]" in home.server.mpc("status"))
    home.usb("detach", home.drive.device)  # systemd stops its unit with the device
    home.is_("unmounted")
    home.update()
    assert home.library() == sorted(OWN + HIS)
    assert home.queue() == HIS
    (listed,) = home.installation.json("music", "usb")
    assert (listed["name"], listed["state"], listed["tracks"]) == (LABEL, "unmounted", 2)


@pytest.mark.slow_variants
def test_a_forgotten_drive_is_removed_from_the_library(home: Home) -> None:
    home.usb("attach", home.drive.device)
    home.is_("ready")
    home.usb("eject", LABEL)
    home.usb("forget", LABEL)
    home.update()
    assert home.library() == sorted(OWN)
    assert home.request("/usb") == []
