"""Graphemes, the characters as readers see them, which Bluesky and Mastodon count."""


def count_graphemes(text: str) -> int:
    """Return the number of graphemes: a flag, an emoji family and é are one each."""
    if text.isascii():  # in ASCII, only \r\n is one grapheme of two characters
        return len(text) - text.count("\r\n")
    return len(split_graphemes(text))


def split_graphemes(text: str) -> list[str]:
    """Return the graphemes of `text`."""
    import wcwidth  # noqa: PLC0415 - 20 ms and 5 MB, needed for more than ASCII only

    return list(wcwidth.iter_graphemes(text))
