"""The owner's volume policy, and the service that applies it to changes from elsewhere.

A player that keeps to it, and the service that lowers a higher volume.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

from pi_appliance.config.options import QuietHours, VolumePolicy
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import (
    CONNECTION,
    AddResult,
    Capability,
    Entry,
    Page,
    PlaybackState,
    PlayerState,
    QueuePosition,
    Sleep,
    Source,
    TrackRating,
)
from pi_appliance.music.player import Player
from pi_appliance.music.ratings import RatingStore
from pi_appliance.scheduling import slot_times
from pi_appliance.storage.database import Database, KeyValueStore
from pi_appliance.system import clock

if TYPE_CHECKING:
    from pi_appliance.music.player_hub import PlayerHub


FULL_VOLUME = 100
MUTE_KEY = "volume before the mute"  # key under which the volume before a mute is stored
POLL_INTERVAL = 30.0  # seconds between two checks while music plays and quiet hours are configured
PARTITION_INTERVAL = 5.0  # seconds between two checks of other partitions, while there are any
FADE_SECONDS = 4.0  # duration of the fade at the start of quiet hours
FADE_STEPS = 8
# key under which the boot id is stored once the start volume is set
BOOT_KEY = "start of the machine whose start volume is set"
_ROUNDING = 3  # a mixer with few steps may become louder than requested by this much
_log = logging.getLogger(__name__)
_SEARCH_PERIOD = timedelta(days=9)
"""Quiet hours may apply on one day of the week only, and a clock change may skip them on that
day.
"""


def max_volume(policy: VolumePolicy | None, local: datetime) -> int:
    """Return the highest volume, 0 to 100, that is allowed at the local time `local`."""
    if policy is None:
        return FULL_VOLUME
    return min([policy.maximum, *(hours.maximum for hours in policy.quiet if _is_within(hours, local))])


def next_limit_change(policy: VolumePolicy | None, now: datetime, zone: ZoneInfo) -> datetime | None:
    """Return when the allowed volume changes next in `zone`, in UTC; `None` if it never changes.

    A clock change counts, because it may jump into quiet hours or out of them.
    """
    if policy is None or not policy.quiet:
        return None
    edges = sorted({edge for hours in policy.quiet for edge in (hours.from_, hours.to)})
    before = max_volume(policy, now.astimezone(zone))
    for span in takewhile(lambda span: span.start < now + _SEARCH_PERIOD, slot_times.offset_spans(zone, now)):
        for instant in _edge_instants(span, now, edges):
            if max_volume(policy, span.to_local(instant)) != before:
                return instant
    return None


def _edge_instants(span: slot_times.OffsetSpan, now: datetime, edges: list[time]) -> list[datetime]:
    """Return the instants of `span` after `now` at which quiet hours may start or end, sorted."""
    low, high = max(span.start, now), min(span.end, now + _SEARCH_PERIOD)
    first = span.to_local(low).date()
    days = (first + timedelta(days=number) for number in range((span.to_local(high).date() - first).days + 1))
    edge_times = [span.start, *(span.to_utc(datetime.combine(day, edge)) for day in days for edge in edges)]
    return sorted(instant for instant in edge_times if now < instant and span.start <= instant < high)


def _is_within(hours: QuietHours, local: datetime) -> bool:
    local_time, today = local.time().replace(tzinfo=None), local.isoweekday() % 7
    if hours.from_ < hours.to:
        return hours.from_ <= local_time < hours.to and today in hours.days
    yesterday = (today - 1) % 7
    return (local_time >= hours.from_ and today in hours.days) or (local_time < hours.to and yesterday in hours.days)


def _no_store() -> Database:
    raise Unavailable("there is no database to store it in")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerPolicy:
    """The owner's volume policy and the database for mute and ratings.

    Attributes:
        volume_policy: limits and quiet hours; `None`: no limit.
        time_zone: time zone of the quiet hours.
        now: current time in UTC.
        open_store: returns the database; called when it is first needed.
        close: called when the player is closed.
    """

    volume_policy: VolumePolicy | None = None
    time_zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    now: Callable[[], datetime] = clock.now
    open_store: Callable[[], Database] = _no_store
    close: Callable[[], None] = lambda: None

    def max_volume(self) -> int:
        """Return the highest volume, 0 to 100, that is allowed now."""
        return max_volume(self.volume_policy, self.now().astimezone(self.time_zone))

    @property
    def key_values(self) -> KeyValueStore:
        """The values that survive a restart."""
        return KeyValueStore(self.open_store())

    @property
    def ratings(self) -> RatingStore:
        """Ratings of tracks for players without stickers."""
        return RatingStore(self.open_store())


def apply_policy(player: Player, policy: PlayerPolicy, on_user_command: Callable[[], None] = lambda: None) -> Player:
    """Return `player` within `policy`; `on_user_command` is called before each playback command."""
    return cast("Player", LimitedPlayer(player, policy, on_user_command))


_STARTS_SOUND = frozenset({"play", "play_id", "toggle", "next", "previous"})
_PLAYBACK_COMMANDS = _STARTS_SOUND | {"pause", "stop", "seek", "clear_queue"}


class LimitedPlayer:
    """Wraps a player. A volume above the limit is lowered to the limit instead of being refused.

    Mute and ratings are added if the player has none. All other calls go to the player unchanged.
    """

    def __init__(self, player: Player, policy: PlayerPolicy, on_user_command: Callable[[], None]) -> None:
        self._player, self._policy, self._on_user_command = player, policy, on_user_command
        self._capabilities: frozenset[Capability] | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._player, name)
        if name not in _PLAYBACK_COMMANDS:
            return method

        async def run_command(*arguments: Any, **options: Any) -> None:
            self._on_user_command()
            if name in _STARTS_SOUND:
                await self._lower_volume()
            await method(*arguments, **options)

        return run_command

    async def capabilities(self) -> frozenset[Capability]:
        """Return the player's capabilities, and the ones that this class adds."""
        self._capabilities = own = await self._player.capabilities()
        return own | {Capability.STICKERS} | ({Capability.MUTE} if Capability.VOLUME in own else set())

    async def state(self) -> PlayerState:
        """Return the player's state, also muted if the mute is done here."""
        state = await self._player.state()
        if state.volume != 0 or state.muted:
            return state
        with suppress(Unavailable):  # the state of the music must be shown even if the database fails
            return replace(state, muted=self._policy.key_values.get(MUTE_KEY) is not None)
        return state

    async def add_source(
        self, source: Source, where: QueuePosition = QueuePosition.END, *, play: bool = False
    ) -> AddResult:
        """Add `source` to the queue; with `play`, lower the volume to the limit first."""
        if not play and where is not QueuePosition.REPLACE:
            return await self._player.add_source(source, where)
        self._on_user_command()
        if play:
            await self._lower_volume()
        return await self._player.add_source(source, where, play=play)

    async def use_partition(self, name: str) -> None:
        """Switch to another partition and lower its volume to the limit."""
        await self._player.use_partition(name)
        await self._lower_volume()

    async def set_volume(self, volume: int) -> None:
        """Set the volume, at most to the limit. A volume above 0 ends the mute."""
        await self._player.set_volume(min(volume, self._policy.max_volume()))
        if volume > 0:
            with suppress(Unavailable):  # the volume counts even if the database cannot be written
                self._policy.key_values.delete(MUTE_KEY)

    async def set_mute(self, on: bool) -> None:
        """Mute, or restore the previous volume within the limit.

        Raises Refused if the player has no volume.
        """
        if await self._supports(Capability.MUTE):
            if not on:
                await self._lower_volume()
            return await self._player.set_mute(on)
        values, state = self._policy.key_values, await self._player.state()
        if state.volume is None:
            raise Refused("the player has no volume to mute; switch its output off, or the amplifier")
        if on and state.volume > 0:
            values.put(MUTE_KEY, str(state.volume))  # stored before the mute, so that a power cut does not lose it
            await self._player.set_volume(0)
        elif not on and (before := values.get(MUTE_KEY)) is not None:
            if state.volume == 0:
                await self._player.set_volume(min(int(before), self._policy.max_volume()))
            values.delete(MUTE_KEY)
        return None

    async def ratings(self, uris: Collection[str]) -> Mapping[str, TrackRating]:
        """Return the ratings of the tracks in `uris`. Tracks without a rating are left out."""
        return await (await self._rating_store()).ratings(uris)

    async def set_rating(self, uri: str, rating: TrackRating) -> None:
        """Replace the rating of a track."""
        await (await self._rating_store()).set_rating(uri, rating)

    async def list_favourites(self, start: int = 0, count: int = 100) -> Page[Entry]:
        """Return the favourite tracks, sorted by URI."""
        return await (await self._rating_store()).list_favourites(start, count)

    async def _rating_store(self) -> Player | RatingStore:
        return self._player if await self._supports(Capability.STICKERS) else self._policy.ratings

    async def close(self) -> None:
        """Close the player and the database."""
        await self._player.close()
        self._policy.close()

    async def _lower_volume(self) -> None:
        """Lower the volume to the limit before anything sounds."""
        if self._policy.volume_policy is None:
            return
        state, limit = await self._player.state(), self._policy.max_volume()
        if state.volume is not None and state.volume > limit:
            await self._player.set_volume(limit)

    async def _supports(self, capability: Capability) -> bool:
        if self._capabilities is None:
            self._capabilities = await self._player.capabilities()
        return capability in self._capabilities


class VolumeLimiter:
    """Lowers the volume of `hub` to the limit whenever a knob or another program turns it up.

    A timer runs only if quiet hours are configured, or while MPD has other partitions. While music
    plays it checks twice a minute, because the wall clock may be changed. Otherwise it sleeps until
    the limit changes. MPD reports no changes of other partitions, so they are checked every few
    seconds. `boot` is the boot id of the machine.
    """

    def __init__(self, hub: "PlayerHub", *, boot: str, sleep: Sleep) -> None:
        self._hub, self._policy, self._boot, self._sleep = hub, hub.policy, boot, sleep
        self._last_volume: int | None = None
        self._was_muted, self._boot_unsaved = False, False
        self._last_limit = FULL_VOLUME
        self._has_other_partitions = False
        self._closest: tuple[int, int] = (0, 0)  # a limit, and the volume nearest to it that the mixer supports

    async def run(self) -> None:
        """Limit the volume until cancelled. Raises the player's errors."""
        with self._hub.subscribe() as subscription:
            names = await subscription.changes()
            while True:
                await self.check(names)
                names = await subscription.changes_within(self._timeout(), self._sleep)

    async def check(self, names: frozenset[str] = frozenset()) -> None:
        """Lower the volume if it is too high. `names` are the changed subsystems."""
        state = self._hub.state
        if state is None:
            return
        if CONNECTION in names:
            state = await self._apply_start_volume(state)
        if self._was_muted and state.volume and Capability.MUTE not in await self._hub.raw_player().capabilities():
            with suppress(Unavailable):
                self._policy.key_values.delete(MUTE_KEY)  # the user has turned the volume up, which ends the mute
        limit = self._policy.max_volume()
        limit_fell, self._last_limit = limit < self._last_limit, limit
        self._was_muted, self._last_volume = state.muted, state.volume
        if self._is_too_loud(state, limit):
            is_playing = state.playback is PlaybackState.PLAYING
            await self._lower(limit, fade=limit_fell and is_playing and CONNECTION not in names)
        if self._has_other_partitions or names & {CONNECTION, "partition"}:
            self._has_other_partitions = await self._limit_other_partitions()

    async def _limit_other_partitions(self) -> bool:
        """Lower the volume of other partitions to the limit; return whether there are any."""
        if self._policy.volume_policy is None or Capability.PARTITIONS not in self._hub.capabilities:
            return False
        return bool(await self._hub.raw_player().limit_other_partitions(self._policy.max_volume()))

    async def _apply_start_volume(self, state: PlayerState) -> PlayerState:
        """Lower a newly started player to the start volume unless it plays."""
        policy = self._policy.volume_policy
        if policy is None or policy.start is None or state.volume is None or self._hub.uses_fallback:
            return state
        is_louder = self._last_volume is not None and state.volume > self._last_volume
        was_restarted = self._is_first_since_boot() or is_louder
        limit = min(policy.start, self._policy.max_volume())
        if not was_restarted or state.volume <= limit or state.playback is PlaybackState.PLAYING:
            return state
        player = self._hub.raw_player()
        now = await player.state()  # an alarm may have set the volume meanwhile
        if now.playback is PlaybackState.PLAYING or (now.volume or 0) <= limit:
            return now
        _log.info("music: volume lowered at the start from=%d to=%d", state.volume, limit)
        await player.set_volume(limit)
        return await player.state()

    def _is_first_since_boot(self) -> bool:
        try:
            is_first = self._policy.key_values.get(BOOT_KEY) != self._boot
            if is_first:
                self._policy.key_values.put(BOOT_KEY, self._boot)
        except Unavailable as error:  # a database error must not let the music become loud
            _log.warning("music: the start volume: %s", error)
            is_first, self._boot_unsaved = not self._boot_unsaved, True
        return is_first

    def _is_too_loud(self, state: PlayerState, limit: int) -> bool:
        if state.volume is None or state.volume <= limit:
            return False
        return self._closest[0] != limit or state.volume > self._closest[1]

    async def _lower(self, limit: int, *, fade: bool) -> None:
        player = self._hub.raw_player()
        state = await player.state()
        if state.volume is None or state.volume <= limit:
            return
        _log.info("music: volume lowered to the limit from=%d to=%d", state.volume, limit)
        last = state.volume
        for step in _fade_steps(last, limit) if fade else ():
            await self._sleep(FADE_SECONDS / FADE_STEPS)
            now = (await player.state()).volume
            if now is None or now <= limit:
                return  # the user has turned the volume down meanwhile
            if now > last + _ROUNDING:
                break  # the user has turned the volume up meanwhile
            await player.set_volume(step)
            last = step
        await player.set_volume(limit)
        self._closest = (limit, min((await player.state()).volume or 0, limit + _ROUNDING))

    def _timeout(self) -> float | None:
        """Return the seconds until the next check if no change is reported.

        `None` if none is needed.
        """
        state, policy = self._hub.state, self._policy
        longest = PARTITION_INTERVAL if state is not None and self._has_other_partitions else None
        change = next_limit_change(policy.volume_policy, now := policy.now(), policy.time_zone)
        if state is None or state.volume is None or change is None:
            return longest
        if state.playback is PlaybackState.PLAYING:
            longest = longest or POLL_INTERVAL
        seconds = _seconds_until(change, now)
        return seconds if longest is None else min(longest, seconds)


def _fade_steps(volume: int, limit: int) -> Sequence[int]:
    """Return the volumes between `volume` and `limit`, descending."""
    return [volume + round((limit - volume) * number / FADE_STEPS) for number in range(1, FADE_STEPS)]


def _seconds_until(change: datetime, now: datetime) -> float:
    return max(0.05, (change - now).total_seconds())
