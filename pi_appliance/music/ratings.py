"""Ratings of tracks and favourites, in the database, for players that have none of their own."""

import json
from collections.abc import Collection, Mapping

from pi_appliance.errors import Refused
from pi_appliance.music.model import Entry, Page, Track, TrackRating, track_entry
from pi_appliance.storage.database import Database


class RatingStore:
    """Track ratings in the table `track_ratings`."""

    def __init__(self, database: Database) -> None:
        self._writing, self._rows = database.writing, database.rows

    async def ratings(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        """Return the ratings of the tracks in `uris`; without those that have none.

        Raises Unavailable.
        """
        query = "SELECT * FROM track_ratings WHERE uri IN (SELECT value FROM json_each(?))"
        rows = self._rows(query, (json.dumps(list(uris)),))
        return {row["uri"]: TrackRating(rating=row["rating"], favourite=bool(row["favourite"])) for row in rows}

    async def set_rating(self, uri: str, rating: TrackRating) -> None:
        """Replace the rating of the track `uri`; an empty rating deletes it.

        Raises:
            Refused: `uri` is not valid text, as a command line argument may be.
            Unavailable: the database cannot be written.
        """
        try:
            uri.encode()
        except UnicodeEncodeError:
            raise Refused(f"{uri!r} is not the address of a track") from None
        with self._writing() as db:
            if rating == TrackRating():
                db.execute("DELETE FROM track_ratings WHERE uri = ?", (uri,))
                return
            db.execute(
                "INSERT OR REPLACE INTO track_ratings (uri, rating, favourite) VALUES (?, ?, ?)",
                (uri, rating.rating, int(rating.favourite)),
            )

    async def list_favourites(self, start: int, count: int) -> Page[Entry]:
        """Return `count` favourites from index `start` on, sorted by URI. Raises Unavailable."""
        query = "SELECT uri FROM track_ratings WHERE favourite = 1 ORDER BY uri LIMIT ? OFFSET ?"
        length = int(self._rows("SELECT count(*) FROM track_ratings WHERE favourite = 1", ())[0][0])
        items = [track_entry(Track(uri=row["uri"])) for row in self._rows(query, (count, start))]
        return Page(items=items, start=start, length=length, more=start + len(items) < length)
