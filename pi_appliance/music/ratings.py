"""What the household thinks of tracks, kept here where the player itself cannot."""

import json
from collections.abc import Collection, Mapping

from pi_appliance.errors import Refused
from pi_appliance.music.model import Entry, EntryType, Page, Track, TrackRating
from pi_appliance.storage.database import Database


class RatingStore:
    """The opinions in the database of STORE."""

    def __init__(self, store: Database) -> None:
        self._writing, self._rows = store.writing, store.rows

    def of(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        """Return what is thought of those of URIS that something is thought of. Raises Unavailable."""
        query = "SELECT * FROM opinions WHERE uri IN (SELECT value FROM json_each(?))"
        found = self._rows(query, (json.dumps(list(uris)),))
        return {row["uri"]: TrackRating(rating=row["rating"], favourite=bool(row["favourite"])) for row in found}

    def put(self, uri: str, opinion: TrackRating) -> None:
        """Keep OPINION of the track URI; one that says nothing is forgotten. Raises Unavailable, or Refused.

        The latter for what is no text: a word on a command line may hold any bytes.
        """
        try:
            uri.encode()
        except UnicodeEncodeError:
            raise Refused(f"{uri!r} is the address of no track") from None
        with self._writing() as db:
            if opinion == TrackRating():
                db.execute("DELETE FROM opinions WHERE uri = ?", (uri,))
                return
            db.execute(
                "INSERT OR REPLACE INTO opinions (uri, rating, favourite) VALUES (?, ?, ?)",
                (uri, opinion.rating, int(opinion.favourite)),
            )

    def favourites(self, start: int, count: int) -> Page[Entry]:
        """Return COUNT favourites from START on, in the order of their addresses. Raises Unavailable."""
        query = "SELECT uri FROM opinions WHERE favourite = 1 ORDER BY uri LIMIT ? OFFSET ?"
        length = int(self._rows("SELECT count(*) FROM opinions WHERE favourite = 1", ())[0][0])
        items = [_entry(row["uri"]) for row in self._rows(query, (count, start))]
        return Page(items=items, start=start, length=length, more=start + len(items) < length)


def _entry(uri: str) -> Entry:
    track = Track(uri=uri)
    return Entry(kind=EntryType.STREAM if "://" in uri else EntryType.TRACK, name=track.label, uri=uri, track=track)
