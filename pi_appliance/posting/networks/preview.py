"""Network "preview": a file with the posts, for tests without an account."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pi_appliance.config.options import NetworkDirs
from pi_appliance.errors import Unavailable
from pi_appliance.posting import x_text
from pi_appliance.posting.model import Post, PostLimits, SentPost

NAME = "posts.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of this kind under `with:`."""

    limit: Annotated[int, "the longest post, counted as X counts"] = x_text.X_LIMIT


def required_secrets(options: Options) -> Mapping[str, str]:  # noqa: ARG001 - the shape of all networks
    """Return no secrets."""
    return {}


def post_limits(options: Options, place: NetworkDirs) -> PostLimits:  # noqa: ARG001 - the shape of all networks
    """Return the limits of a post, with the maximum length in `options`."""
    return PreviewLimits(options.limit)


def connect(options: Options, secrets: Mapping[str, str], place: NetworkDirs) -> "Preview":  # noqa: ARG001 - the shape of all networks
    """Return the network. Its posts go to posts.txt in the public directory."""
    return Preview(PreviewLimits(options.limit), place.public / NAME)


@dataclass(frozen=True, slots=True)
class PreviewLimits:
    """Limits of the preview: it counts as X does, and costs nothing."""

    prices = None
    max_length: int
    plays_animations: bool = True

    def text_length(self, text: str) -> int:
        """Return the length of `text` as X counts it."""
        return x_text.text_length(text)

    def rejection_reason(self, post: Post) -> str:
        """Return why `post` does not fit, or an empty string."""
        weight = self.text_length(post.text)
        return "" if weight <= self.max_length else f"{weight} of {self.max_length}"


class Preview:
    """A file of posts. Each is a heading with the slot, then the text."""

    idempotent = True
    search_lag = timedelta(0)

    def __init__(self, limits: PreviewLimits, path: Path) -> None:
        self.limits = limits
        self._path = path

    def post(self, post: Post, *, key: str, thread: Sequence[SentPost] = ()) -> SentPost:  # noqa: ARG002 - a file has no threads
        """Append `post` durably, unless there is a block with this `key`."""
        heading = _heading(key)
        pictures = "".join(f"[picture: {picture.alt or picture.mime}]\n" for picture in post.pictures)
        try:
            before = self._path.read_text("utf-8") if self._path.exists() else ""
            if heading not in before:
                self._append(
                    f"{'' if before.endswith(chr(10)) or not before else chr(10)}{heading}{post.text}\n{pictures}\n"
                )
        except OSError as error:
            raise Unavailable(f"{self._path} cannot be written: {error.strerror}") from None
        return SentPost(key, str(self._path))

    def find_post(self, post: Post, *, key: str, known_ids: Collection[str], since_id: str = "") -> SentPost | None:  # noqa: ARG002 - the shape of all
        """Return the post with this `key`, if it is in the file."""
        there = self._path.exists() and _heading(key) in self._path.read_text("utf-8")
        return SentPost(key, str(self._path)) if there else None

    def whoami(self) -> str:
        """Return the path of the file."""
        return f"the file {self._path}"

    def _append(self, block: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(block.encode())
            file.flush()
            os.fsync(file.fileno())


def _heading(key: str) -> str:
    return f"--- {key.partition(' @')[0]}\n"
