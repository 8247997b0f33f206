"""Units of the configuration: an amount of memory or disk, a share of a processor."""


class Size(int):
    """Bytes."""


class Percent(int):
    """Hundredths; of one processor, 100 is the whole of it."""
