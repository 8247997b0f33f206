"""The saved playlists of the player as files, for backups."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from pi_appliance.config import units
from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.music.model import Uri
from pi_appliance.music.player_hub import opened_player

_T = TypeVar("_T")
_SUFFIX = ".m3u8"
_PAGE_SIZE = 500  # entries read at a time
_TIMEOUT = 60.0  # seconds to read or write all playlists


def export_playlists(config: Config, secrets: Mapping[str, str]) -> dict[str, bytes]:
    """Return the saved playlists by file name, in the M3U format with one address in each line.

    Raises:
        Unavailable: The player does not answer.
    """

    async def export() -> dict[str, bytes]:
        found = dict[str, bytes]()
        async with opened_player(config, secrets) as player:
            for playlist in await player.list_playlists():
                uris, has_more = list[str](), True
                while has_more:
                    page = await player.list_playlist(playlist.name, len(uris), _PAGE_SIZE)
                    uris += [entry.track.uri if entry.track else entry.uri for entry in page.items]
                    has_more = page.more and bool(page.items)
                found[quote(playlist.name, safe=" ") + _SUFFIX] = "".join(f"{uri}\n" for uri in uris).encode()
        return found

    return _within_time(export())


def import_playlists(config: Config, secrets: Mapping[str, str], playlists: Mapping[str, bytes]) -> list[str]:
    """Save the `playlists` that `export_playlists` returned in the player.

    A playlist that the player already has stays as it is.

    Returns:
        A sentence for each playlist with tracks that the library of the player lacks.

    Raises:
        Unavailable: The player does not answer.
    """

    async def save() -> list[str]:
        notes = list[str]()
        async with opened_player(config, secrets) as player:
            present = {playlist.name for playlist in await player.list_playlists()}
            for file, content in playlists.items():
                name, missing = unquote(file.removesuffix(_SUFFIX)), 0
                for uri in content.decode().splitlines() if name not in present else ():
                    try:
                        await player.add_to_playlist(name, Uri(uri=uri))
                    except ApplianceError:  # such as a track that the library lacks
                        missing += 1
                if missing:
                    notes.append(
                        f"the library of the player lacks {units.pluralize(missing, 'track')} of the playlist {name}"
                    )
        return notes

    return _within_time(save())


def _within_time(work: Coroutine[Any, Any, _T]) -> _T:
    async def limited() -> _T:
        async with asyncio.timeout(_TIMEOUT):
            return await work

    try:
        return asyncio.run(limited())
    except TimeoutError:
        raise Unavailable(f"the player did not finish within {_TIMEOUT:.0f} seconds") from None
