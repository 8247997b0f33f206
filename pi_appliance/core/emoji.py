"""Emoji: which sequences of characters are one picture, as Unicode 17 recommends them for general interchange."""

import re
from functools import cache

# In the patterns below Z joins two pictures into one, V asks for the coloured form, and T is one of five skin tones.
_MEANS = {"Z": "\u200d", "V": "\ufe0f", "T": "[\U0001f3fb-\U0001f3ff]"}

# Letters and signs that become a picture only with V, and a few that need none but often get one.
_SIGNS = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23ed-\u23ef\u23f1\u23f2"
    "\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620"
    "\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668"
    "\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4"
    "\u26c5\u26c8\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2708\u2709\u270c\u270d"
    "\u270f\u2712\u2714\u2716\u271d\u2721\u2733\u2734\u2744\u2747\u2757\u2763\u2764\u27a1\u2934\u2935\u2b05-\u2b07"
    "\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202"
    "\U0001f21a\U0001f22f\U0001f237\U0001f321\U0001f324-\U0001f32c\U0001f336\U0001f37d\U0001f396\U0001f397"
    "\U0001f399-\U0001f39b\U0001f39e\U0001f39f\U0001f3cb-\U0001f3ce\U0001f3d4-\U0001f3df\U0001f3f3\U0001f3f5"
    "\U0001f3f7\U0001f43f\U0001f441\U0001f4fd\U0001f549\U0001f54a\U0001f56f\U0001f570\U0001f573-\U0001f579\U0001f587"
    "\U0001f58a-\U0001f58d\U0001f590\U0001f5a5\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4"
    "\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa"
    "\U0001f6cb\U0001f6cd-\U0001f6cf\U0001f6e0-\U0001f6e5\U0001f6e9\U0001f6f0\U0001f6f3"
)
# People and parts of them, which may have a skin tone.
_SKINS = (
    "\u261d\u26f9\u270a-\u270d\U0001f385\U0001f3c2-\U0001f3c4\U0001f3c7\U0001f3ca-\U0001f3cc\U0001f442\U0001f443"
    "\U0001f446-\U0001f450\U0001f466-\U0001f478\U0001f47c\U0001f481-\U0001f483\U0001f485-\U0001f487\U0001f48f"
    "\U0001f491\U0001f4aa\U0001f574\U0001f575\U0001f57a\U0001f590\U0001f595\U0001f596\U0001f645-\U0001f647"
    "\U0001f64b-\U0001f64f\U0001f6a3\U0001f6b4-\U0001f6b6\U0001f6c0\U0001f6cc\U0001f90c\U0001f90f\U0001f918-\U0001f91f"
    "\U0001f926\U0001f930-\U0001f939\U0001f93c-\U0001f93e\U0001f977\U0001f9b5\U0001f9b6\U0001f9b8\U0001f9b9\U0001f9bb"
    "\U0001f9cd-\U0001f9cf\U0001f9d1-\U0001f9dd\U0001fac3-\U0001fac5\U0001faf0-\U0001faf8"
)
_DOERS = "🏃🏄🏊👮👯👰👱👳👷💁💂💆💇🙅🙆🙇🙋🙍🙎🚣🚴🚵🚶🤦🤵🤷🤸🤹🤼🤽🤾🦸🦹🧍🧎🧏🧔🧖🧗🧘🧙🧚🧛🧜🧝🧞🧟"
_BETWEEN = "(?:❤V(?:Z💋)?|🤝|🐰|🫯)"

# Longer ones stand before those that they begin with.
_JOINED = (
    f"👩T?Z{_BETWEEN}Z[👨👩]T?|👨T?Z{_BETWEEN}Z👨T?|🧑T?Z{_BETWEEN}Z🧑T?|🫱TZ🫲T",  # two people
    "(?:👨(?:Z[👨👩])?|👩(?:Z👩)?)Z(?:👧Z[👦👧]|👦Z👦|[👦👧])|🧑(?:Z🧑)?Z🧒(?:Z🧒)?",  # families
    "[🏃🚶🧎]T?(?:Z[♀♂]V)?Z➡V|[👨👩🧑]T?Z[🦯🦼🦽]Z➡V",  # people on their way to the right
    f"(?:[{_DOERS}]T?|[⛹🏋🏌🕵](?:T|V))Z[♀♂]V",  # women and men
    "[👨👩🧑]T?Z(?:[⚕⚖✈]V|[🌾🍳🍼🎓🎤🎨🏫🏭💻💼🔧🔬🚀🚒🦯🦰🦱🦲🦳🦼🦽])|🧑T?Z[🎄🩰]",  # what they do or are like
    "❤VZ[🔥🩹]|⛓VZ💥|🏳VZ(?:⚧V|🌈)|🏴Z☠V|🐕Z🦺|🐈Z⬛|🐦Z[⬛🔥]|🐻Z❄V|👁VZ🗨V|🍄Z🟫|🍋Z🟩|😮Z💨|😵Z💫|😶Z🌫V|🙂Z[↔↕]V",
)
# England, Scotland and Wales: a black flag, then letters that nobody sees.
_NATIONS = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls"))
)
# Of which two letters there is a flag, by the first one.
_FLAGS = {
    "A": "CDEFGILMOQRSTUWXZ",
    "B": "ABDEFGHIJLMNOQRSTVWYZ",
    "C": "ACDFGHIKLMNOPQRUVWXYZ",
    "D": "EGJKMOZ",
    "E": "ACEGHRSTU",
    "F": "IJKMOR",
    "G": "ABDEFGHILMNPQRSTUWY",
    "H": "KMNRTU",
    "I": "CDELMNOQRST",
    "J": "EMOP",
    "K": "EGHIMNPRWYZ",
    "L": "ABCIKRSTUVY",
    "M": "ACDEFGHKLMNOPQRSTUVWXYZ",
    "N": "ACEFGILOPRUZ",
    "O": "M",
    "P": "AEFGHKLMNRSTWY",
    "Q": "A",
    "R": "EOSUW",
    "S": "ABCDEGHIJKLMNORSTVXYZ",
    "T": "ACDFGHJKLMNORTVWZ",
    "U": "AGMNSYZ",
    "V": "ACEGINU",
    "W": "FS",
    "X": "K",
    "Y": "ET",
    "Z": "AMW",
}


def _flag(letters: str) -> str:
    return "".join(chr(ord(letter) + 0x1F1E6 - ord("A")) for letter in letters)


@cache
def sequences() -> re.Pattern[str]:
    """Return what finds each picture that is two characters or more. Made when first asked for: it takes a while."""
    patterns = [
        *(re.sub("[ZVT]", lambda name: _MEANS[name[0]], pattern) for pattern in _JOINED),
        _NATIONS,
        *(f"{_flag(first)}[{_flag(seconds)}]" for first, seconds in _FLAGS.items()),
        f"[{_SKINS}]{_MEANS['V']}?{_MEANS['T']}",
        f"[{_SIGNS}]{_MEANS['V']}",
        f"[0-9#*]{_MEANS['V']}?\u20e3",
    ]
    return re.compile("|".join(patterns))
