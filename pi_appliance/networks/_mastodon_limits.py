"""What a Mastodon server takes: read from what it says of itself, remembered in a file for when it cannot be asked."""

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from pi_appliance.model.post import Picture, Post
from pi_appliance.networks import _mastodon_text

NAME = "limits.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The rules of one server; the defaults are those of Mastodon as it comes. Posts cost nothing."""

    look_price: ClassVar[Decimal] = Decimal(0)
    cap: ClassVar[Decimal | None] = None

    limit: int = 500  # characters, counted as _mastodon_text says
    address: int = 23  # what a web address counts
    pictures: int = 4
    picture_bytes: int = 16 * 1024 * 1024
    alt: int = 1500  # characters of a picture's description
    kinds: tuple[str, ...] = ("image/jpeg", "image/png", "image/gif", "image/webp")

    def weigh(self, text: str) -> int:
        """Return the length of TEXT as the server counts it."""
        return _mastodon_text.weigh(text, self.address)

    def wrong(self, post: Post) -> str:
        """Return why the server would refuse POST."""
        weight = self.weigh(post.text)
        if weight > self.limit:
            return f"{weight} of {self.limit}"
        if not post.text.strip() and not post.pictures:
            return "there is nothing in it"
        if len(post.pictures) > self.pictures:
            return f"{len(post.pictures)} pictures of {self.pictures}"
        return next(filter(None, map(self._wrong_picture, post.pictures)), "")

    def price(self, post: Post) -> Decimal:  # noqa: ARG002 - the shape of all networks
        """Return nothing: Mastodon is free."""
        return Decimal(0)

    def _wrong_picture(self, picture: Picture) -> str:
        if picture.mime not in self.kinds:
            return f"a picture of the kind {picture.mime}, which the server does not take"
        if len(picture.data) > self.picture_bytes:
            return f"a picture of {len(picture.data)} bytes of {self.picture_bytes}"
        if len(picture.alt) > self.alt:
            return f"a description of a picture with {len(picture.alt)} of {self.alt} characters"
        return ""


def parse(instance: object) -> Limits:
    """Return what INSTANCE says, the answer of /api/v2/instance or /api/v1/instance. Raises ValueError.

    What it does not say is as Mastodon has it.
    """
    configuration = instance.get("configuration") if isinstance(instance, Mapping) else None
    if not isinstance(configuration, Mapping):
        raise ValueError("that is not what a server says of itself")
    statuses, media = (_section(configuration, name) for name in ("statuses", "media_attachments"))
    found = {
        "limit": statuses.get("max_characters"),
        "address": statuses.get("characters_reserved_per_url"),
        "pictures": statuses.get("max_media_attachments"),
        "picture_bytes": media.get("image_size_limit"),
        "alt": media.get("description_limit"),
        "kinds": media.get("supported_mime_types"),
    }
    return _limits(found)


def load(folder: Path, server: str) -> tuple[Limits, datetime | None]:
    """Return what is remembered in FOLDER of SERVER, and when it was read; None: nothing is, these are the defaults."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        kept = json.loads((folder / NAME).read_bytes())
        if kept["server"] == server:
            read = datetime.fromisoformat(kept["read"])
            return _limits(kept["limits"]), read if read.tzinfo else None
    return Limits(), None


def save(folder: Path, server: str, limits: Limits, now: datetime) -> None:
    """Remember in FOLDER that SERVER says LIMITS, as of NOW. A disk that does not take it is no reason not to post."""
    kept = {"server": server, "read": now.isoformat(), "limits": asdict(limits)}
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, draft = tempfile.mkstemp(prefix=f".{NAME}.", dir=folder)  # mode 0600
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            Path(draft).replace(folder / NAME)
        except OSError:
            Path(draft).unlink()
            raise


def _section(configuration: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = configuration.get(name)
    return section if isinstance(section, Mapping) else {}


def _limits(found: Mapping[str, Any]) -> Limits:
    """Return the limits that FOUND tells, by their names here, as far as they make sense."""
    told: dict[str, Any] = {name: value for name, value in found.items() if type(value) is int and value > 0}
    kinds = found.get("kinds")
    told["kinds"] = tuple(map(str, kinds)) if isinstance(kinds, list) and kinds else Limits().kinds
    return Limits(**told)
