"""The keys that name what is to be played or kept: a source in one word, or an address, a playlist, tags."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException

from pi_appliance.core import sources
from pi_appliance.engine.stations import Stations
from pi_appliance.model.music import Saved, Source, Uri, Wanted
from pi_appliance.web.keys import text

_TAGS = ("artist", "album", "genre", "text")
SOURCE = (
    text("source", f"in one word: {sources.FORMS}"),
    text("uri", "a file, a folder or a stream"),
    text("title", "what to call the stream at `uri`"),
    text("playlist", "the name of a saved playlist"),
    text("artist", "all of an artist; with `album`, `genre` or `text` what all of them hold for"),
    text("album", "an album"),
    text("genre", "a genre"),
    text("text", "words that stand in any tags"),
)
TAGS = SOURCE[4:]


def source_of(given: Mapping[str, Any], stations: Stations) -> Source:
    """Return the one source that GIVEN names. Raises HTTPException 400 for none or several, UnknownName.

    It may read the files of stations: call it in a thread.
    """
    tags = {name: given[name] for name in _TAGS if given[name]}
    named = [name for name in ("source", "uri", "playlist") if given[name]]
    if len(named) + bool(tags) != 1:
        raise HTTPException(400, 'name one thing: by "source", "uri", "playlist", or by tags such as "album"')
    if given["title"] and named != ["uri"]:
        raise HTTPException(400, '"title" goes with "uri"')
    if tags:
        return Wanted(**tags)
    match named[0]:
        case "uri":
            return Uri(uri=given["uri"], title=given["title"] or "")
        case "playlist":
            return Saved(playlist=given["playlist"])
    return _parsed(given["source"], stations)


def _parsed(text: str, stations: Stations) -> Source:
    known = stations.all()
    try:
        source = sources.parse(text, known)
    except ValueError as error:
        raise HTTPException(400, str(error)) from None
    if isinstance(source, Uri) and any((each.name, each.url) == (source.title, source.uri) for each in known):
        return Uri(uri=stations.to_play(source.title).url, title=source.title)
    return source
