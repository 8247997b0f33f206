"""What a reader takes for one character: extended grapheme clusters, by Unicode's annex 29.

The tables are those of wcwidth: pure Python where there is no wheel for the machine, kept up with each Unicode.
"""


def count(text: str) -> int:
    """Return of how many characters TEXT is, as a reader counts: 🇨🇭, 👩‍🚀 and é are one each."""
    if text.isascii():  # where only the two halves of a line end belong together
        return len(text) - text.count("\r\n")
    return len(split(text))


def split(text: str) -> list[str]:
    """Return the characters of TEXT, as a reader takes them apart; together they are TEXT."""
    import wcwidth  # noqa: PLC0415 - 20 ms and 5 MB that only who counts more than ASCII shall pay

    return list(wcwidth.iter_graphemes(text))
