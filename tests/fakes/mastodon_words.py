"""Length and HTML of a text by the rules of a Mastodon server, independent of the tested code."""

import html
from collections.abc import Collection

import regex

_ADDRESS = regex.compile(
    r"(?<![\w@$#])https?://[\w.-]+\.[a-z]{2,}(?::\d+)?(?:/[^\s<>()?]*[^\s()?!*\"'<>;:=,.$%\[\]~&|@])?"
)
_MENTION = regex.compile(r"(?<![=/\w])@([a-z0-9_]+)@([\w.-]*\w)", regex.IGNORECASE)
_TAG = regex.compile(r"(?<![/)\w&;])#(\w*[\p{L}_]\w*)")


def countable(text: str) -> int:
    """Return the length of `text` as the server counts it."""
    return len(regex.findall(r"\X", _MENTION.sub(r"@\1", _ADDRESS.sub("x" * 23, text))))


def graphemes(text: str) -> int:
    """Return the number of graphemes of `text`, as Elixir's String.length does."""
    return len(regex.findall(r"\X", text))


def render_html(text: str, people: Collection[str]) -> str:
    """Return `text` as HTML; a mention of one of `people` becomes a link with the name only."""
    pieces, last = [], 0
    for result in _ADDRESS.finditer(text):
        pieces += [_words(text[last : result.start()], people), _link(result[0])]
        last = result.end()
    pieces.append(_words(text[last:], people))
    paragraphs = regex.split(r"\n\n+", "".join(pieces).replace("\r\n", "\n"))
    return "".join(f"<p>{paragraph.replace(chr(10), '<br />')}</p>" for paragraph in paragraphs)


def _link(address: str) -> str:
    prefix = regex.match(r"https?://(?:www\.)?", address)[0]
    rest = address.removeprefix(prefix)
    look = "ellipsis" if len(rest) > 30 else ""
    prefix, start, end = (html.escape(part) for part in (prefix, rest[:30], rest[30:]))
    return (
        f'<a href="{html.escape(address)}" target="_blank" rel="nofollow noopener noreferrer"><span class="invisible">'
        f'{prefix}</span><span class="{look}">{start}</span><span class="invisible">{end}</span></a>'
    )


def _words(text: str, people: Collection[str]) -> str:
    def mention(result: regex.Match[str]) -> str:
        if f"{result[1]}@{result[2]}".lower() not in people:
            return result[0]
        name = result[1].lower()
        address = f"https://{result[2].lower()}/@{name}"
        return f'<span class="h-card"><a href="{address}" class="u-url mention">@<span>{name}</span></a></span>'

    def tag(result: regex.Match[str]) -> str:
        link = f"https://here.example/tags/{result[1]}"
        return f'<a href="{link}" class="mention hashtag" rel="tag">#<span>{result[1]}</span></a>'

    return _MENTION.sub(mention, _TAG.sub(tag, html.escape(text)))
