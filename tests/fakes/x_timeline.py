"""Posts as X returns them: t.co for addresses and pictures, &amp; for &, and their entities."""

import hashlib
import re
import unicodedata
from typing import Any

_ADDRESS = re.compile(
    r"https?://[^\s<>]*[^\s<>.,;:!?)]|\b[a-z0-9-]+\.(?:com|org|net|example|py)\b(?:/[^\s<>.,]+)?", re.IGNORECASE
)


def as_x_writes(number: str, text: str, pictures: int) -> dict[str, Any]:
    """Return the post `number` as in a timeline, with its entities."""
    links: list[dict[str, Any]] = []

    def short(match: re.Match[str]) -> str:
        written = match[0]
        whole = written if "://" in written else f"http://{written}"
        shown = whole.split("://", 1)[1]
        links.append(
            {
                "url": _short(f"{number} {len(links)}"),
                "expanded_url": whole,
                "display_url": shown if len(shown) < 28 else f"{shown[:26]}…",
            }
        )
        return str(links[-1]["url"])

    plain = unicodedata.normalize("NFC", text).strip()
    shortened = _ADDRESS.sub(short, plain)
    escaped = shortened.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if pictures:
        links.append(
            {
                "url": _short(f"{number} picture"),
                "expanded_url": f"https://x.com/shelf_bot/status/{number}/photo/1",
                "display_url": f"pic.x.com/{number}",
                "media_key": f"3_{number}",
            }
        )
        escaped = f"{escaped} {links[-1]['url']}".strip()
    return {
        "id": number,
        "text": escaped,
        "edit_history_tweet_ids": [number],
        **({"entities": {"urls": links}} if links else {}),
    }


def _short(what: str) -> str:
    return f"https://t.co/{hashlib.sha256(what.encode()).hexdigest()[:10]}"
