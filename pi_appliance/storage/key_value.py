"""Short texts by name that survive a restart."""

from pi_appliance.storage.database import Database


class KeyValueStore:
    """Access to the stored values. Methods raise `Unavailable`."""

    def __init__(self, store: Database) -> None:
        self._writing, self._rows = store.writing, store.rows

    def get(self, name: str) -> str | None:
        """Return the value of `name`, or None."""
        found = self._rows("SELECT value FROM key_value WHERE name = ?", (name,))
        return str(found[0]["value"]) if found else None

    def put(self, name: str, text: str) -> None:
        """Set the value of `name`."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO key_value (name, value) VALUES (?, ?)", (name, text))

    def delete(self, name: str) -> None:
        """Delete the value of `name`. Nothing is written if there is none."""
        if self.get(name) is not None:
            with self._writing() as db:
                db.execute("DELETE FROM key_value WHERE name = ?", (name,))
