"""Units of the configuration: an amount of memory or disk, a share of a processor, money, days; one name or several."""

from decimal import Decimal


class Size(int):
    """Bytes."""


class Percent(int):
    """Hundredths; of one processor, 100 is the whole of it."""


class Money(Decimal):
    """US dollars."""


class Names(tuple[str, ...]):
    """Names of other entries, each once: written as one name or as a list."""


class Days(frozenset[int]):
    """Days of the week; 0 is Sunday, 6 is Saturday."""


EVERY_DAY = Days(range(7))
