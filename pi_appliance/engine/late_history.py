"""The history for who may not need it: opened, and what opens it loaded, when it is first asked for."""

from pathlib import Path
from typing import TYPE_CHECKING

from pi_appliance.system import files

if TYPE_CHECKING:
    from pi_appliance.store.sqlite import Store


class LateHistory:
    """The history in the folder STATE, opened when it is first asked for: most short visits never do."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._store: Store | None = None

    def open(self) -> "Store":
        """Return it. Raises Unavailable."""
        if self._store is None:
            from pi_appliance.engine.mending import open_history  # noqa: PLC0415 - a button needs none of it

            self._store = open_history(files.make_folder(self._state, mode=0o750))
        return self._store

    def close(self) -> None:
        """Let go of it."""
        if self._store is not None:
            self._store.close()
            self._store = None
