"""The sound cards of a Raspberry Pi are listed, and one is chosen in /etc/asound.conf."""

import html
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.installation import Installation
from tests.web.list_player import ListMusic, ListPlayer
from tests.web.served_appliance import Response, ServedAppliance, configuration, serving

# /proc/asound/cards of a Raspberry Pi 4 with a USB microphone, a DAC on its header, and a USB DAC.
CARDS = """\
 0 [vc4hdmi0       ]: vc4-hdmi - vc4-hdmi-0
                      vc4-hdmi-0
 1 [Headphones     ]: bcm2835_headpho - bcm2835 Headphones
                      bcm2835 Headphones
 2 [sndrpihifiberry]: RPi-simple - snd_rpi_hifiberry_dac
                      snd_rpi_hifiberry_dac
 3 [Microphone     ]: USB-Audio - USB Microphone
                      Generic USB Microphone at usb-0000:01:00.0-1.2, full speed
 4 [DAC            ]: USB-Audio - USB DAC
                      Generic USB DAC at usb-0000:01:00.0-1.3, high speed
"""
REQUEST = "run/pi-appliance/sound-card"
OWN = "pcm.loud { type plug slave.pcm hw }\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the files of such a machine. Its systemctl records its arguments."""
    monkeypatch.setenv("PI_APPLIANCE_SOUND_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    systemctl(tmp_path, f'echo "$@" >>"{tmp_path}/asked"')
    folder = tmp_path / "proc/asound"
    for name in ("card0/pcm0p", "card1/pcm0p", "card2/pcm0p", "card3/pcm0c", "card4/pcm0p", "card4/pcm0c"):
        (folder / name).mkdir(parents=True)
    (folder / "cards").write_text(CARDS)
    (tmp_path / "etc").mkdir()
    return tmp_path


@pytest.fixture
def appliance(root: Path, tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(configuration(tmp_path / "config"), ListMusic(ListPlayer())) as appliance:
        yield appliance


def systemctl(root: Path, line: str) -> None:
    (root / "bin/systemctl").write_text(f"#!/bin/sh\n{line}\n")
    (root / "bin/systemctl").chmod(0o755)


def card(installation: Installation, *words: str) -> tuple[int, str]:
    installation.write("")
    status, output, errors = installation.call("music", "card", *words)
    return status, output.decode() + errors


def test_cards_that_play_are_listed_and_the_first_is_the_default(installation: Installation, root: Path) -> None:
    assert card(installation)[1].splitlines() == [
        "* vc4hdmi0         vc4-hdmi-0 (HDMI)",
        "  Headphones       bcm2835 Headphones (headphones)",
        "  sndrpihifiberry  snd_rpi_hifiberry_dac",
        "  DAC              USB DAC (USB)",
    ]


def test_a_chosen_card_is_the_default_and_other_lines_stay(installation: Installation, root: Path) -> None:
    file = root / "etc/asound.conf"
    file.write_text(OWN)
    for name in ("sndrpihifiberry", "headphones", "HEADPHONES"):
        status, output = card(installation, name)
        assert (status, output.partition(" plays;")[0].lower()) == (0, name.lower())
    assert file.read_text() == (
        f"{OWN}# pi-appliance: the sound card\ndefaults.pcm.card Headphones\ndefaults.ctl.card Headphones\n"
        "# pi-appliance: end\n"
    )
    listed = json.loads(card(installation, "--json")[1])
    assert [each["id"] for each in listed if each["is_default"]] == ["Headphones"]


def test_a_card_that_the_owner_names_by_number_is_the_default(installation: Installation, root: Path) -> None:
    (root / "etc/asound.conf").write_text("defaults.pcm.card 1\ndefaults.ctl.card 1\n")
    assert card(installation)[1].splitlines()[1] == "* Headphones       bcm2835 Headphones (headphones)"


NULL = 'audio_output {\n\ttype "null"\n\tdevice "hw:9"\n}\n'


@pytest.mark.parametrize(
    ("conf", "named"),
    [
        ('audio_output {\n\ttype\t"alsa"\n\tdevice "hw:CARD=DAC"\t# mine\n}\n', True),
        ('audio_output {\n\ttype "alsa"\n#\tdevice "hw:0,0"\n}\n', False),
        ('audio_output {\n\ttype "alsa"\n\tdevice "default"\n}\n', False),
        ('#audio_output {\n#\ttype "alsa"\n#\tdevice "hw:0,0"\n#}\n', False),
        ('audio_output {\n\ttype "alsa"\n\tdevice "hw:0"\n}\naudio_output {\n\ttype "alsa"\n}\n', False),
        ("", False),
    ],
)
def test_a_device_of_mpd_is_named_because_a_choice_has_no_effect(
    installation: Installation, root: Path, conf: str, *, named: bool
) -> None:
    (root / "etc/mpd.conf").write_text(NULL + conf)
    words = "/etc/mpd.conf names the device hw:CARD=DAC, so the card is set by hand there"
    assert (words in card(installation)[1]) is named
    status, output = card(installation, "Headphones")
    assert (status != 0, words in output) == (named, named)
    assert (root / "etc/asound.conf").exists() is not named


def test_an_unknown_card_is_refused_with_those_that_exist(installation: Installation, root: Path) -> None:
    status, output = card(installation, "Headphone")
    assert status != 0
    assert "Headphones" in output
    assert card(installation, "Microphone")[0] != 0, "it cannot play"
    assert not (root / "etc/asound.conf").exists()


def test_a_machine_without_sound_says_so(installation: Installation, root: Path) -> None:
    (root / "proc/asound/cards").unlink()
    assert card(installation) == (0, "this machine has no sound card that can play\n")


def test_a_device_that_the_owner_defined_is_not_contradicted(installation: Installation, root: Path) -> None:
    file = root / "etc/asound.conf"
    file.write_text(by_hand := "pcm.!default { type hw card 2 }\n")
    lines = card(installation)[1].splitlines()
    assert lines[-1] == "/etc/asound.conf sets pcm.!default, so the card is set by hand there"
    assert not any(line.startswith("*") for line in lines), "nobody knows which one plays"
    status, output = card(installation, "DAC")
    assert status == 1
    assert "remove it from the file to choose one here" in output
    assert file.read_text() == by_hand


def test_a_linked_file_is_not_replaced(installation: Installation, root: Path) -> None:
    (root / "etc/asound.conf").symlink_to(root / "etc/shared.conf")
    status, output = card(installation, "DAC")
    assert status == 1
    assert f"/etc/asound.conf is a link to {root}/etc/shared.conf; remove the link" in output
    assert not (root / "etc/shared.conf").exists()


def test_mpd_starts_again_with_the_card_and_a_failure_is_told(installation: Installation, root: Path) -> None:
    assert card(installation, "DAC")[0] == 0
    assert (root / "asked").read_text() == "try-restart mpd.service\n"
    systemctl(root, "echo 'Job for mpd.service failed because of its process.' >&2; exit 1")
    status, output = card(installation, "Headphones")
    assert status == 75
    assert "Headphones is chosen, but MPD does not start again; see: systemctl status mpd" in output
    systemctl(root, "echo 'Failed to try-restart mpd.service: Unit mpd.service not found.' >&2; exit 5")
    assert card(installation, "DAC")[0] == 0, "the player may be elsewhere"


@pytest.mark.parametrize("text", ["", "../DAC", "Microphone", "DAC\npcm.!default x", "x" * 5000])
def test_a_request_chooses_only_a_card_that_exists(installation: Installation, root: Path, text: str) -> None:
    request = root / REQUEST
    request.parent.mkdir(parents=True)
    request.write_text(text)
    card(installation, "--requested")
    assert not request.exists()
    assert not (root / "etc/asound.conf").exists()
    (root / "name").write_text("DAC")
    request.symlink_to(root / "name")
    assert card(installation, "--requested") == (0, ""), "links are not followed"
    assert (root / "name").exists()
    assert not (root / "etc/asound.conf").exists()


def test_the_page_says_where_music_is_put(root: Path, tmp_path: Path) -> None:
    folder = root / "srv/songs"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    (root / "etc/mpd.conf").write_text('# music_directory "/no"\nmusic_directory\t"/srv/songs"\n')
    player, config = ListPlayer(), configuration(tmp_path / "config")
    player.library = []
    config.write_text(config.read_text() + "player: {kind: mpd}\n")
    with serving(config, ListMusic(player)) as appliance:
        page = appliance.request("/music/library").text
        assert "Put music into <code>/srv/songs</code>" in page
        assert ".local:/srv/songs/</code>" in page
        assert ('sudo chown "$USER" /srv/songs' in html.unescape(page)) == (os.geteuid() == 0), "it belongs to us"
        assert 'action="/do/player/update"' in page
        folder.chmod(0o2775)
        page = appliance.request("/music/sound").text
        assert "Put music into <code>/srv/songs</code>" in page
        assert "sudo chown" not in page
        folder.rmdir()
        assert "Put music into" not in appliance.request("/music/sound").text


def choose_card(appliance: ServedAppliance, name: str, unit: Callable[[], object]) -> Response:
    """Choose a card on the page, and run `unit` instead of root's unit when it is requested."""
    root = Path(os.environ["PI_APPLIANCE_SOUND_ROOT"])
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(appliance.request, f"/do/sound/cards/{name}/use", "return_to=/music/sound")
        appliance.wait_until((root / REQUEST).exists)
        unit()
        return answer.result()


def test_a_card_is_chosen_on_the_page(installation: Installation, root: Path, appliance: ServedAppliance) -> None:
    page = appliance.request("/music/sound").text
    assert "type on the machine: <code>sudo pi-appliance music card Headphones</code>" in page
    assert 'aria-label="Let' not in page, "there is no unit that could do it"
    refused = appliance.request("/do/sound/cards/DAC/use", "")
    assert (refused.status, "run: sudo pi-appliance music card DAC" in refused.text) == (409, True)

    (root / REQUEST).parent.mkdir(parents=True)
    page = appliance.request("/music/sound").text
    assert [name for name in ("vc4-hdmi-0", "USB DAC") if f'aria-label="Let {name} play"' in page] == ["USB DAC"]
    answer = choose_card(appliance, "DAC", lambda: card(installation, "--requested"))
    assert (answer.status, answer.headers["location"]) == (303, "/music/sound")
    listed = appliance.request("/api/v1/sound/cards").json
    assert [each["id"] for each in listed if each["is_default"]] == ["DAC"]

    answer = choose_card(appliance, "Headphones", (root / REQUEST).unlink)
    assert (answer.status, "Headphones was not chosen" in answer.text) == (503, True)
    assert appliance.request("/do/sound/cards/nothing/use", "").status == 404
    (root / "etc/asound.conf").write_text("pcm.!default { type hw card 2 }\n")
    page = appliance.request("/music/sound").text
    assert "sets pcm.!default, so the card is set by hand there" in page
    assert 'aria-label="Let' not in page
