"""Sources of alarms that do not exist: stations without an entry, playlists that nobody saved."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from pi_appliance.config.binding import Tree
from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, Problem, UnknownName, suggest
from pi_appliance.music.alarms.music_job import Action, Options
from pi_appliance.music.model import SavedPlaylist, Station, parse_source
from pi_appliance.music.player_hub import open_player

_TIMEOUT = 3.0  # seconds for the player


def missing_sources(
    tree: Tree, config: Config, secrets: Mapping[str, str], stations: Sequence[Station]
) -> Iterator[Problem]:
    """Yield a warning for each source that an alarm would pass over.

    The playlists are those of the player, which is asked if an alarm names one. While it does not
    answer, nothing is said about them.
    """
    wanted = [
        (("jobs", name, "with", "play"), text)
        for name, job in config.jobs.items()
        if isinstance(job.options, Options) and job.options.action is Action.ALARM
        for text in job.options.play or ()
    ]
    sources = list[tuple[tuple[str, ...], SavedPlaylist]]()
    for where, text in wanted:
        try:
            source = parse_source(text, stations)
        except UnknownName as error:
            yield tree.problem(where, f"no station is called {error.name!r}", suggest(error.name, error.known))
        else:
            sources += [(where, source)] if isinstance(source, SavedPlaylist) else []
    saved = _saved_playlists(config, secrets) if sources else None
    if saved is None:
        return
    for place, playlist in sources:
        if playlist.playlist not in saved:
            wrong = f"the player has no playlist {playlist.playlist!r}"
            yield tree.problem(place, wrong, suggest(playlist.playlist, saved))


def _saved_playlists(config: Config, secrets: Mapping[str, str]) -> Sequence[str] | None:
    """Return their names, or None without an answer."""

    async def ask() -> Sequence[str]:
        player = await open_player(config, secrets, notify=lambda _: None)
        try:
            return [each.name for each in await player.list_playlists()]
        finally:
            await player.close()

    try:
        return asyncio.run(asyncio.wait_for(ask(), _TIMEOUT))
    except (ApplianceError, TimeoutError):
        return None
