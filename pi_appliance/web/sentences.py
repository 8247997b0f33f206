"""Messages as sentences of a page.

A message in a terminal begins with a small letter and has no full stop: it is running already.
The page shows the same text as a sentence, with code between backticks as `<code>`, and without
commands in parentheses, such as (sudo systemctl restart mpd).
`static/sentences.js` does the same in the browser.
"""

import re

from markupsafe import Markup, escape

_CODE = re.compile(r"`([^`\n]+)`")
_FIRST_WORD = re.compile(r"[^\W\d_]+(?=[\s,;]|$)")  # no path, address, file name or `name:`
_TERMINAL = re.compile(r" \(sudo [^()]*\)")  # a command, which nobody can type on a page
_ENDS = (".", "!", "?", "…", ":")


def as_sentence(message: object) -> Markup:
    """Return `message` as HTML: a sentence, with code between backticks as `<code>`.

    The text is escaped. HTML is returned unchanged. Several lines get no full stop, because the
    last one may quote a file.
    """
    if isinstance(message, Markup):
        return message
    text = _TERMINAL.sub("", str(message or "").strip())
    if _FIRST_WORD.match(text):
        text = text[0].upper() + text[1:]
    if text and not text.endswith(_ENDS) and "\n" not in text:
        text += "."
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - the text is escaped
