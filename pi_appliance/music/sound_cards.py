"""The sound cards of the machine, and the one that ALSA uses unless a program names another.

The formats are those of /proc/asound and of asound.conf:
https://docs.kernel.org/sound/designs/procfile.html and https://www.alsa-project.org/wiki/Asoundrc
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.errors import UnknownName
from pi_appliance.system import files

_CARD = re.compile(r"^\s*(\d+)\s+\[(\S+)\s*\]: (\S+) - (.*)$")
_CHOICE = re.compile(r"^defaults\.pcm\.card\s+\"?([\w-]+)\"?", re.MULTILINE)
_START, _END = "# pi-appliance: the sound card", "# pi-appliance: end"
_BLOCK = re.compile(rf"^{_START}\n.*?^{_END}\n", re.MULTILINE | re.DOTALL)
_FILE = "etc/asound.conf"


@dataclass(frozen=True, slots=True)
class SoundCard:
    """A card that can play. ALSA addresses it by `id`; `is_default` is what MPD uses by default."""

    id: str
    name: str
    kind: str  # HDMI, USB, headphones, or ""
    is_default: bool


def list_cards(root: Path = Path("/")) -> Sequence[SoundCard]:
    """Return the sound cards of the machine whose files are below `root`, in the order of ALSA."""
    try:
        lines = (root / "proc/asound/cards").read_text("utf-8", "replace").splitlines()
    except OSError:  # the kernel has no sound
        return []
    found = [match.groups() for line in lines if (match := _CARD.match(line))]
    playing = [each for each in found if any((root / f"proc/asound/card{each[0]}").glob("pcm*p"))]
    chosen = chosen_card(root)
    if chosen is None and found:
        chosen = found[0][1]  # ALSA's default is card 0
    return [SoundCard(card, name, _kind(card, driver), card == chosen) for _, card, driver, name in playing]


def _kind(card: str, driver: str) -> str:
    if "hdmi" in f"{card} {driver}".lower():
        return "HDMI"
    if driver == "USB-Audio":
        return "USB"
    return "headphones" if card.startswith("Headphones") else ""


def chosen_card(root: Path = Path("/")) -> str | None:
    """Return the id of the card that /etc/asound.conf names, or None."""
    try:
        found = _CHOICE.findall((root / _FILE).read_text("utf-8", "replace"))
    except OSError:
        return None
    return str(found[-1]) if found else None


def choose_card(name: str, root: Path = Path("/")) -> SoundCard:
    """Let ALSA use the card `name` by default. Other lines of /etc/asound.conf stay.

    Args:
        name: The id of the card, ignoring case.
        root: The root of the files.

    Raises:
        UnknownName: There is no such card that can play.
        Unavailable: The file cannot be written.
    """
    cards = list_cards(root)
    card = next((each for each in cards if each.id.lower() == name.lower()), None)
    if card is None:
        raise UnknownName("sound card", name, [each.id for each in cards])
    path = root / _FILE
    before = path.read_text("utf-8", "surrogateescape") if path.exists() else ""
    kept = _BLOCK.sub("", before)
    if kept and not kept.endswith("\n"):
        kept += "\n"
    block = f"{_START}\ndefaults.pcm.card {card.id}\ndefaults.ctl.card {card.id}\n{_END}\n"
    if kept + block != before:
        files.write_file(path, (kept + block).encode("utf-8", "surrogateescape"))
    return card


def describe_cards(cards: Sequence[SoundCard]) -> list[str]:
    """Return a line for each card. The default card is marked."""
    width = max((len(card.id) for card in cards), default=0)
    return [
        f"{'*' if card.is_default else ' '} {card.id:{width}}  {card.name}{f' ({card.kind})' if card.kind else ''}"
        for card in cards
    ]
