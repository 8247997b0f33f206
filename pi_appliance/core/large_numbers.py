"""Numbers too large to read, in words: 531,000 · 7.63 trillion · 10²⁴ · 5,480 years."""

_NAMES = {10**15: "quadrillion", 10**12: "trillion", 10**9: "billion", 10**6: "million"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPANS = {31_556_952: "year", 86_400: "day", 3_600: "hour", 60: "minute"}  # seconds; a year of the calendar, on average


def count(number: int) -> str:
    """Write NUMBER, 0 or more, with three digits that count, and from a million on with a name."""
    size = 10 ** max(0, len(str(number)) - 3)
    rounded = (number + size // 2) // size * size
    if rounded < 10**6:
        return f"{rounded:,}"
    if rounded >= 10**18:
        return power(len(str(rounded)) - 1, str(rounded)[:2])
    unit, name = next((unit, name) for unit, name in _NAMES.items() if rounded >= unit)
    whole, rest = divmod(rounded, unit)
    return f"{whole}.{rest * 100 // unit:02}".rstrip("0").rstrip(".") + f" {name}"


def power(exponent: int, digits: str = "") -> str:
    """Write ten to the power EXPONENT, times the number whose two first DIGITS are given, if they are."""
    times = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".") + " \u00d7 " if digits else ""
    return f"{times}10{str(exponent).translate(_RAISED)}"


def span(seconds: int) -> str:
    """Write a length of time, 0 or more, in the largest unit that it fills."""
    for size, name in _SPANS.items():
        if seconds >= size:
            number = (seconds + size // 2) // size
            return f"{count(number)} {name}{'' if number == 1 else 's'}"
    return "less than a minute"
