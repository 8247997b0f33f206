"""The sound cards of a Raspberry Pi are listed, and one is chosen in /etc/asound.conf."""

import json
from pathlib import Path

import pytest

from tests.installation import Installation

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
OWN = "pcm.loud { type plug slave.pcm hw }\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the files of such a machine."""
    folder = tmp_path / "proc/asound"
    for name in ("card0/pcm0p", "card1/pcm0p", "card2/pcm0p", "card3/pcm0c", "card4/pcm0p", "card4/pcm0c"):
        (folder / name).mkdir(parents=True)
    (folder / "cards").write_text(CARDS)
    (tmp_path / "etc").mkdir()
    return tmp_path


def card(installation: Installation, root: Path, *words: str) -> tuple[int, str]:
    installation.write("")
    status, output, errors = installation.call("music", "card", *words, "--prefix", str(root))
    return status, output.decode() + errors


def test_cards_that_play_are_listed_and_the_first_is_the_default(installation: Installation, root: Path) -> None:
    assert card(installation, root)[1].splitlines() == [
        "* vc4hdmi0         vc4-hdmi-0 (HDMI)",
        "  Headphones       bcm2835 Headphones (headphones)",
        "  sndrpihifiberry  snd_rpi_hifiberry_dac",
        "  DAC              USB DAC (USB)",
    ]


def test_a_chosen_card_is_the_default_and_other_lines_stay(installation: Installation, root: Path) -> None:
    file = root / "etc/asound.conf"
    file.write_text(OWN)
    for name in ("sndrpihifiberry", "headphones", "HEADPHONES"):
        status, said = card(installation, root, name)
        assert (status, said.partition(" plays;")[0].lower()) == (0, name.lower())
    assert file.read_text() == (
        f"{OWN}# pi-appliance: the sound card\ndefaults.pcm.card Headphones\ndefaults.ctl.card Headphones\n"
        "# pi-appliance: end\n"
    )
    listed = json.loads(card(installation, root, "--json")[1])
    assert [each["id"] for each in listed if each["is_default"]] == ["Headphones"]


def test_an_unknown_card_is_refused_with_those_that_exist(installation: Installation, root: Path) -> None:
    status, said = card(installation, root, "Headphone")
    assert status != 0
    assert "Headphones" in said
    assert card(installation, root, "Microphone")[0] != 0, "it cannot play"
    assert not (root / "etc/asound.conf").exists()


def test_a_machine_without_sound_says_so(installation: Installation, tmp_path: Path) -> None:
    assert card(installation, tmp_path) == (0, "this machine has no sound card that can play\n")
