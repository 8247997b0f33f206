"""What the household thinks of a track, kept in MPD's own sticker database, where other programs see it too.

The names are those that myMPD made common: "rating" from 0 to 10, and "like": 2 for a favourite, 0 for its opposite.
"""

from collections.abc import Collection, Mapping

from pi_appliance.errors import Refused
from pi_appliance.model.music import Entry, Opinion, Window
from pi_appliance.players import _mpd_words
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_line import NO_SUCH_THING, Command, Said
from pi_appliance.players._mpd_playlists import entries

_RATING, _LIKE, _LOVED = "rating", "like", "2"


class Judging(Door):
    """The part of ports_player.Player that is about ratings and favourites."""

    async def opinions(self, uris: Collection[str]) -> Mapping[str, Opinion]:
        """Return what is thought of those of URIS that something is thought of."""
        asked = [uri for uri in dict.fromkeys(uris) if _mpd_words.is_inside(uri)]
        async with self._session() as line:
            answers = await line.ask_each([("sticker", "list", "song", uri) for uri in asked])
        found = {uri: _opinion(answer) for uri, answer in zip(asked, answers, strict=True) if answer}
        return {uri: opinion for uri, opinion in found.items() if opinion != Opinion()}

    async def set_opinion(self, uri: str, opinion: Opinion) -> None:
        """Keep what is thought of the track URI, in place of what was thought before."""
        if opinion.rating is not None and not 1 <= opinion.rating <= 10:
            raise Refused(f"a rating is from 1 to 10, not {opinion.rating}")
        if not _mpd_words.is_inside(uri):
            raise Refused("MPD keeps ratings and favourites of the tracks in its library alone")
        async with self._session() as line:
            try:
                before = _stickers(await line.ask("sticker", "list", "song", uri))
            except Said as no:
                if no.code == NO_SUCH_THING:
                    raise Refused(f"the library has no track {uri!r}") from None
                raise
            if commands := _changes(uri, before, opinion):
                await line.ask_all(*commands)

    async def favourites(self, start: int = 0, count: int = 100) -> Window[Entry]:
        """Return the favourite tracks, in the order of their addresses."""
        async with self._session() as line:
            answer = await line.ask("sticker", "find", "song", "", _LIKE, "=", _LOVED)
            cut = _mpd_words.window(sorted(_mpd_words.values(answer, "file")), start, count)
            return _mpd_words.filled(cut, await entries(line, cut.items))


def _changes(uri: str, before: Mapping[str, str], opinion: Opinion) -> list[Command]:
    """Return what makes OPINION of what was there BEFORE. That a track is not liked at all is not ours to forget."""
    commands: list[Command] = []
    if opinion.rating is not None:
        commands.append(("sticker", "set", "song", uri, _RATING, opinion.rating))
    elif _RATING in before:
        commands.append(("sticker", "delete", "song", uri, _RATING))
    if opinion.favourite:
        commands.append(("sticker", "set", "song", uri, _LIKE, _LOVED))
    elif before.get(_LIKE) == _LOVED:
        commands.append(("sticker", "delete", "song", uri, _LIKE))
    return commands


def _opinion(answer: bytes) -> Opinion:
    said = _stickers(answer)
    rating = said.get(_RATING, "")
    known = rating.isascii() and rating.isdigit() and 1 <= int(rating) <= 10  # others write what they like
    return Opinion(rating=int(rating) if known else None, favourite=said.get(_LIKE) == _LOVED)


def _stickers(answer: bytes) -> dict[str, str]:
    pairs = (sticker.partition("=") for sticker in _mpd_words.values(answer, "sticker"))
    return {name: value for name, _, value in pairs}
