"""Network 'preview': a file that shows exactly what would have been posted. Needs no account."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pi_appliance.core import posts
from pi_appliance.errors import Unavailable

NAME = "posts.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a network of this kind takes under `with:`."""

    limit: Annotated[int, "the longest post, counted as X counts"] = posts.X_LIMIT


def connect(options: Options, secrets: Mapping[str, str], folder: Path) -> "Preview":  # noqa: ARG001 - the shape of all networks
    """Return the network; its posts go to posts.txt in FOLDER."""
    return Preview(options.limit, folder / NAME)


class Preview:
    """Posts as blocks of text: a line that names the slot, then the post itself."""

    def __init__(self, limit: int, path: Path) -> None:
        self.limit, self._path = limit, path

    def weigh(self, text: str) -> int:
        """Return the length of TEXT as X counts it."""
        return posts.weigh(text)

    def post(self, text: str, *, key: str) -> str:
        """Append TEXT under the heading KEY, on the disk before this returns. A KEY is never written twice."""
        heading = f"--- {key}\n"
        try:
            before = self._path.read_text("utf-8") if self._path.exists() else ""
            if heading not in before:
                self._append(f"{'' if before.endswith(chr(10)) or not before else chr(10)}{heading}{text}\n\n")
        except OSError as error:
            raise Unavailable(f"{self._path} cannot be written: {error.strerror}") from None
        return str(self._path)

    def _append(self, block: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(block.encode())
            file.flush()
            os.fsync(file.fileno())
