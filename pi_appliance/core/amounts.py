"""Amounts as people write them: 500MB, 2GiB, 50%, 0.015 (dollars)."""

import re
from decimal import Decimal

from pi_appliance.model.units import Money, Percent, Size

_UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_BY_SMALL = {unit.lower(): size for unit, size in _UNITS.items()} | {"k": 10**3, "m": 10**6, "g": 10**9, "b": 1}


def parse_size(text: str) -> Size:
    """Read TEXT such as 500MB or 2GiB. Raises ValueError with what would be right."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,3})?)\s*([A-Za-z]*)", text.strip())
    unit = _BY_SMALL.get(match[2].lower()) if match else None
    if match is None or unit is None or float(match[1]) == 0:
        raise ValueError(f"{text!r} is no amount; write one such as 500MB or 2GB")
    return Size(float(match[1]) * unit)


def render_size(size: int) -> str:
    """Write SIZE in the largest decimal unit that it fills, with a tenth where that says more."""
    for unit in ("GB", "MB", "kB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.1f}".removesuffix(".0") + unit
    return f"{size}B"


def parse_percent(text: str) -> Percent:
    """Read TEXT such as 50%. Raises ValueError with what would be right."""
    match = re.fullmatch(r"(\d{1,5})\s*%", text.strip())
    if match is None or int(match[1]) == 0:
        raise ValueError(f"{text!r} is no share of a processor; write one such as 50%")
    return Percent(int(match[1]))


def parse_money(value: object) -> Money:
    """Read VALUE, US dollars such as 0.015, 5 or "$5". Raises ValueError with what would be right."""
    text = str(value).strip().removeprefix("$") if isinstance(value, (int, float, str)) else ""
    if isinstance(value, bool) or re.fullmatch(r"\d{1,6}(?:\.\d{1,6})?", text) is None:
        raise ValueError(f"{value!r} is no amount of dollars; write one such as 0.015 or 5")
    return Money(text)


def render_money(amount: Decimal) -> str:
    """Write AMOUNT of dollars with two decimals, more only where they say more: $5.00, $0.015."""
    text = f"{amount:.6f}".rstrip("0")
    whole, _, rest = text.partition(".")
    return f"${whole}.{rest:0<2}"
