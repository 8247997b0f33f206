"""The sound cards of the machine, and the one that ALSA uses unless a program names another.

The formats are those of /proc/asound and of asound.conf:
https://docs.kernel.org/sound/designs/procfile.html and https://www.alsa-project.org/wiki/Asoundrc
"""

import asyncio
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.system import files
from pi_appliance.system.systemd import read_request

_CARD = re.compile(r"^\s*(\d+)\s+\[(\S+)\s*\]: (\S+) - (.*)$")
_BY_HAND = re.compile(r"^\s*pcm\.!default\b", re.MULTILINE)
_CHOICE = re.compile(r"^defaults\.pcm\.card\s+\"?([\w-]+)\"?", re.MULTILINE)
_START, _END = "# pi-appliance: the sound card", "# pi-appliance: end"
_BLOCK = re.compile(rf"^{_START}\n.*?^{_END}\n", re.MULTILINE | re.DOTALL)
_FILE = "etc/asound.conf"
_REQUEST = "run/pi-appliance/sound-card"
_REQUEST_TIMEOUT = 30.0  # seconds; on a small Pi, the program needs some seconds to start
_REQUEST_POLL = 0.1  # seconds between two checks whether the request is done
_MPD_FILE = "etc/mpd.conf"
_MPD_OUTPUT = re.compile(r"^\s*audio_output\s*\{(.*?)^\s*\}", re.MULTILINE | re.DOTALL)
_MPD_SETTING = re.compile(r'^\s*(type|device)\s+"([^"]*)"', re.MULTILINE)
_DEFAULT_DEVICES = {"default", "sysdefault"}
"""Devices of ALSA that follow the choice."""


@dataclass(frozen=True, slots=True)
class SoundCard:
    """A sound card that can play. ALSA addresses it by `id`; MPD uses the default one."""

    id: Annotated[str, "of ALSA"]
    name: str
    kind: Annotated[str, "HDMI, USB, headphones, or empty"]
    is_default: bool


def machine_root() -> Path:
    """Return the root of the files of the machine, / unless $PI_APPLIANCE_SOUND_ROOT is set."""
    return Path(os.environ.get("PI_APPLIANCE_SOUND_ROOT", "/"))


def list_cards(root: Path) -> Sequence[SoundCard]:
    """Return the sound cards of the machine whose files are below `root`, in the order of ALSA.

    No card is marked as the default if the owner has set one by hand, because that may be anything.
    """
    try:
        lines = (root / "proc/asound/cards").read_text("utf-8", "replace").splitlines()
    except OSError:  # the kernel has no sound support
        return []
    found = [match.groups() for line in lines if (match := _CARD.match(line))]
    playing = [each for each in found if any((root / f"proc/asound/card{each[0]}").glob("pcm*p"))]
    chosen = chosen_card(root)
    if find_owner_setting(root):
        chosen = None
    elif chosen is None and found:
        chosen = found[0][1]  # the first card, which ALSA uses by default
    return [
        SoundCard(card, name, _kind(card, driver), chosen in {number, card}) for number, card, driver, name in playing
    ]


def _kind(card: str, driver: str) -> str:
    if "hdmi" in f"{card} {driver}".lower():
        return "HDMI"
    if driver == "USB-Audio":
        return "USB"
    return "headphones" if card.startswith("Headphones") else ""


def chosen_card(root: Path) -> str | None:
    """Return the id or the number of the card that /etc/asound.conf names, or None."""
    found = _CHOICE.findall(_read_settings(root / _FILE))
    return str(found[-1]) if found else None


def find_owner_setting(root: Path) -> str:
    """Return the file in which the owner has set the card by hand, or "".

    With such a setting, choosing a card would have no effect.
    """
    if _BY_HAND.search(_read_settings(root / _FILE)):
        return f"/{_FILE} sets pcm.!default, so the card is set by hand there"
    outputs = [dict(_MPD_SETTING.findall(text)) for text in _MPD_OUTPUT.findall(_read_settings(root / _MPD_FILE))]
    devices = [each.get("device", "default") for each in outputs if each.get("type") == "alsa"]
    if devices and not _DEFAULT_DEVICES.intersection(devices):
        return f"/{_MPD_FILE} names the device {devices[0]}, so the card is set by hand there"
    return ""


def _read_settings(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def find_card(name: str, root: Path) -> SoundCard:
    """Return the card `name`, ignoring case, if it can be chosen.

    Raises:
        UnknownName: There is no such card that can play.
        Refused: The owner set the card by hand.
    """
    cards = list_cards(root)
    card = next((each for each in cards if each.id.lower() == name.lower()), None)
    if card is None:
        raise UnknownName("sound card", name, [each.id for each in cards])
    path = root / _FILE
    if path.is_symlink():
        raise Refused(f"/{_FILE} is a link to {path.readlink()}; remove the link, or choose the card in that file")
    if by_hand := find_owner_setting(root):
        raise Refused(f"{by_hand}; remove it from the file to choose one here")
    return card


def choose_card(name: str, root: Path) -> SoundCard:
    """Let ALSA use the card `name` by default, and restart MPD.

    Other lines of /etc/asound.conf stay.

    Raises:
        UnknownName: There is no such card that can play.
        Refused: /etc/asound.conf is the owner's.
        Unavailable: The file cannot be written, or MPD does not start again.
    """
    card, path = find_card(name, root), root / _FILE
    before = _read_settings(path)
    kept = _BLOCK.sub("", before)
    if kept and not kept.endswith("\n"):
        kept += "\n"
    block = f"{_START}\ndefaults.pcm.card {card.id}\ndefaults.ctl.card {card.id}\n{_END}\n"
    if kept + block != before:
        files.write_file(path, (kept + block).encode("utf-8", "surrogateescape"), mode=0o644)
    _restart_mpd(card)
    return card


def _restart_mpd(card: SoundCard) -> None:
    if (program := shutil.which("systemctl")) is None:
        return
    done = subprocess.run([program, "try-restart", "mpd.service"], capture_output=True, text=True, check=False)
    # Without systemd, or without a unit for MPD, there is nothing to restart.
    if done.returncode and done.stderr.startswith("Job for "):
        raise Unavailable(f"{card.id} is chosen, but MPD does not start again; see: systemctl status mpd")


def choose_requested_card(root: Path) -> SoundCard | None:
    """Choose the card that the service has requested; None without a request. Runs as root.

    The service is not trusted: only the id of an existing card has an effect. Raises as
    `choose_card`.
    """
    # The request is removed after the restart of MPD. That tells the service that it is done.
    with read_request(root / _REQUEST) as name:
        return choose_card(name, root) if name else None


def can_request(root: Path) -> bool:
    """Return whether this program may ask the unit of root to choose a card."""
    return os.access((root / _REQUEST).parent, os.W_OK)


def command_for(card: SoundCard) -> str:
    """Return the command that chooses `card`."""
    return f"sudo pi-appliance music card {card.id}"


async def request_card(name: str, root: Path) -> SoundCard:
    """Ask root to choose the card `name`, and wait for it.

    Raises:
        UnknownName: There is no such card that can play.
        Refused: The card cannot be chosen from here.
        Unavailable: It was not chosen in time.
    """
    card, request = find_card(name, root), root / _REQUEST
    if not can_request(root):
        raise Refused(f"this program may not choose the card; run: {command_for(card)}")
    files.write_file(request, card.id.encode())
    deadline = time.monotonic() + _REQUEST_TIMEOUT
    while request.exists():
        if time.monotonic() > deadline:
            request.unlink(missing_ok=True)
            break
        await asyncio.sleep(_REQUEST_POLL)
    chosen = next((each for each in list_cards(root) if each.is_default), None)
    if chosen is None or chosen.id != card.id:
        raise Unavailable(
            f"{card.id} was not chosen; see: systemctl status pi-appliance-sound; or run: {command_for(card)}"
        )
    return chosen


def describe_cards(cards: Sequence[SoundCard]) -> list[str]:
    """Return a line for each card. The default card is marked."""
    width = max((len(card.id) for card in cards), default=0)
    return [
        f"{'*' if card.is_default else ' '} {card.id:{width}}  {card.name}{f' ({card.kind})' if card.kind else ''}"
        for card in cards
    ]


def describe_for_page() -> Mapping[str, object]:
    """Return the sound cards, and the reason if none can be chosen on the page."""
    root = machine_root()
    cards = list_cards(root)
    other = next((each for each in cards if not each.is_default), None)
    by_hand = find_owner_setting(root)
    obstacle = f"{by_hand}." if by_hand else ""
    command = command_for(other) if other and not obstacle and not can_request(root) else ""
    return {"cards": cards, "obstacle": obstacle, "command": command}
