"""The thresholds from which the doctor and the page report a problem of the machine."""

HOT = 80.0  # degrees Celsius at which a Raspberry Pi slows down
VERY_HOT = 85.0  # degrees Celsius at which it slows down more
CARD_OLD, CARD_WORN_OUT = 80, 100  # percent of the life of a card
LOW_SPACE = 300_000_000  # free bytes below which package updates and logs may fail
MIN_SPACE = 30_000_000  # free bytes below which the history cannot grow
MIN_INODES = 1000  # files that can still be created
MAX_HISTORY = 1_000_000_000  # bytes of history and logs
