"""What is to be known again after a restart: short texts by a name, in the database of the history."""

from pi_appliance.storage.database import Database


class KeyValueStore:
    """The notes in the database of STORE."""

    def __init__(self, store: Database) -> None:
        self._writing, self._rows = store.writing, store.rows

    def get(self, name: str) -> str | None:
        """Return what was noted by NAME; None: nothing. Raises Unavailable."""
        found = self._rows("SELECT value FROM key_value WHERE name = ?", (name,))
        return str(found[0]["value"]) if found else None

    def put(self, name: str, text: str) -> None:
        """Note TEXT by NAME, in place of what was noted before. Raises Unavailable."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO key_value (name, value) VALUES (?, ?)", (name, text))

    def delete(self, name: str) -> None:
        """Forget NAME; nothing is written where nothing was noted. Raises Unavailable."""
        if self.get(name) is not None:
            with self._writing() as db:
                db.execute("DELETE FROM key_value WHERE name = ?", (name,))
