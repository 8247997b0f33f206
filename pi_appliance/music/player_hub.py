"""The one connection of the daemon to the player, shared by API, pages, jobs and services.

`PlayerHub.run()` keeps the connection, `player()` returns the player within the volume policy, and
`watch_changes()` reports changes. The hub sleeps until the player itself reports a change. While
there is no player, `error` says why, and the hub tries to connect: often at first, then less often,
and at once on demand.
"""

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict

from pi_appliance import plugins
from pi_appliance.config.options import Config, PluginConfig
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.music.model import (
    CONNECTION,
    DEFAULT_PARTITION,
    Capability,
    PlayerJson,
    PlayerState,
    Sleep,
    advanced,
    player_values,
)
from pi_appliance.music.mpd import fallback_mpd
from pi_appliance.music.player import NO_PLAYER, Player
from pi_appliance.music.player_reconnect import PlayerReconnect, ReconnectPolicy
from pi_appliance.music.radio.stations import Stations, stations_of
from pi_appliance.music.volume_limits import PlayerPolicy, apply_policy
from pi_appliance.scheduling.daemon_interface import RunningDaemon, Services
from pi_appliance.storage.history import Store, open_history
from pi_appliance.system import files

if TYPE_CHECKING:
    from pi_appliance.music.usb.drives import UsbDrives

Upstream = Path | tuple[str, int]
FALLBACK_DIR = "mpd"  # folder below the state folder for the built-in silent player
_PARTITION_FILE = "partition"  # file below the state folder with the partition in use
FALLBACK_NOTICE = ". Until then the built-in silent player is used"
_FAULT_DELAY = 60.0  # seconds before a service with an internal error is restarted
_log = logging.getLogger(__name__)


class Music(Protocol):
    """The connection to the player, as the pages and the API use it."""

    error: str
    status_text: str
    uses_fallback: bool

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities of the player when it was last reached; empty while there is none."""

    @property
    def state(self) -> PlayerState | None:
        """The state of the player now; None while there is none."""

    async def player(self) -> Player:
        """Return the player. Raises Unavailable with the reason if there is none."""

    def reconnect_now(self) -> None:
        """Try to reach the configured player now."""

    def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of the changed subsystems. The first item comes at once."""


class MusicJson(TypedDict):
    """The player, its capabilities and its error."""

    player: PlayerJson | None
    capabilities: Annotated[list[Capability], "the capabilities of this player; other requests get status 409"]
    error: Annotated[str, "why there is no player, or only a silent one"]
    status_text: Annotated[str, "the action after a web radio stopped unexpectedly"]
    fallback: Annotated[bool, "whether the built-in silent player is used"]


def music_values(hub: Music, after: PlayerState | None = None) -> MusicJson:
    """Return the player, its capabilities and its error.

    `after` is a state that is newer than the one of `hub`.
    """
    state = after or hub.state
    return {
        "player": player_values(state) if state else None,
        "capabilities": sorted(hub.capabilities),
        "error": hub.error,
        "status_text": hub.status_text,
        "fallback": hub.uses_fallback,
    }


class MusicDaemon(RunningDaemon, Protocol):
    """The daemon with its player and its USB drives."""

    @property
    def hub(self) -> Music:
        """The player."""

    @property
    def usb_drives(self) -> "UsbDrives":
        """The USB drives."""


@dataclasses.dataclass(frozen=True, slots=True)
class MusicServices(Services):
    """Everything that the handler of an operation on music may use."""

    daemon: MusicDaemon

    @property
    def config(self) -> Config:
        """The current configuration."""
        return self.daemon.appliance.config

    @property
    def stations(self) -> Stations:
        """The web radio stations of the current configuration."""
        return stations_of(self.config)


class Subscription:
    """Collects the changed subsystems until a subscriber reads them; initially `CONNECTION`."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset({CONNECTION})
        self._pending = asyncio.Event()
        self._pending.set()

    def add(self, names: frozenset[str]) -> None:
        """Keep `names` until the next call of `changes()`."""
        self._names |= names
        self._pending.set()

    async def changes(self) -> frozenset[str]:
        """Wait for changes and return their names. Cancelling it loses nothing."""
        await self._pending.wait()
        self._pending.clear()
        names, self._names = self._names, frozenset()
        return names

    async def changes_within(self, seconds: float | None, sleep: Sleep = asyncio.sleep) -> frozenset[str]:
        """Wait up to `seconds`, measured by `sleep`, and return the changes; empty after a timeout.

        `None` waits without a timeout.
        """
        if seconds is None or self._pending.is_set():
            return await self.changes()
        pending, timeout = asyncio.ensure_future(self._pending.wait()), asyncio.ensure_future(sleep(seconds))
        try:
            await asyncio.wait({pending, timeout}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pending.cancel()
            timeout.cancel()
        return await self.changes() if self._pending.is_set() else frozenset()


class ChangeBus:
    """Deliver the names of changed subsystems to all subscriptions."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def publish(self, names: frozenset[str]) -> None:
        """Report that the subsystems `names` changed."""
        for subscription in self._subscriptions:
            subscription.add(names)

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """Provide a subscription for the duration of the block."""
        subscription = Subscription()
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)


class PlayerHub:
    """Keep the player connected. Attributes can be read at any time from the same event loop."""

    def __init__(
        self,
        plugin: PluginConfig | None,
        state_dir: Path,
        secrets: Mapping[str, str],
        *,
        policy: PlayerPolicy | None = None,
        reconnect: ReconnectPolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a hub that is not connected yet.

        Args:
            plugin: kind and options of the player; `None` if no player is configured.
            state_dir: the appliance's state folder, for the files of the built-in silent player.
            policy: volume limits and storage; without it nothing is limited or stored.
            reconnect: delays between attempts to connect.
            clock: seconds of a monotonic clock.
        """
        self._plugin, self._dir, self._secrets = plugin, state_dir, secrets
        self._kind: str = plugin.kind if plugin else ""
        self._options: Any = plugin.options if plugin else None
        self._reconnect, self._clock = PlayerReconnect(reconnect or ReconnectPolicy(), clock), clock
        self.policy, self._bus = policy or PlayerPolicy(), ChangeBus()
        self._player: Player | None = None
        self._state: PlayerState | None = None
        self._state_read_at = 0.0
        self._was_connected = False  # whether the configured player was connected before
        self.kind = self._kind
        self.capabilities: frozenset[Capability] = frozenset()
        self.user_command_count = 0
        """Number of playback commands by users. Services compare it to notice that a user took
        over.
        """
        self.status_text = ""
        """The current activity of the appliance's music services, for users; usually empty."""
        self.uses_fallback = False
        self.upstream: Upstream | None = None
        self.error = NO_PLAYER if plugin is None else "the player is not reached yet"

    @property
    def state(self) -> PlayerState | None:
        """The player's state, with the elapsed time of this moment; `None` without a player."""
        return advanced(self._state, self._clock() - self._state_read_at) if self._state else None

    @property
    def mpd_address(self) -> Upstream | None:
        """The address of the configured MPD; `None` for another kind of player."""
        address: Upstream | None = getattr(self._options, "place", None)
        return address

    async def player(self, *, by_user: bool = True) -> Player:
        """Return the connected player within the volume policy.

        Args:
            by_user: a user's command; services then stop interfering (see `user_command_count`).

        Raises:
            Unavailable: at once, with the reason; the hub then tries to connect immediately.
        """
        return apply_policy(self.raw_player(), self.policy, self._count_command if by_user else lambda: None)

    def raw_player(self) -> Player:
        """Return the player without volume policy, for the services that enforce it.

        Raises Unavailable.
        """
        if self._player is None:
            self.reconnect_now()
            raise Unavailable(self.error)
        return self._player

    def reconnect_now(self) -> None:
        """Cut the wait before the next attempt to connect short, because the player is needed."""
        self._reconnect.end_wait()

    def set_status_text(self, text: str) -> None:
        """Show users what the appliance does for the music; an empty `text` removes it."""
        if text != self.status_text:
            self.status_text = text
            self._bus.publish(frozenset({"player"}))

    def subscribe(self) -> AbstractContextManager[Subscription]:
        """Provide a subscription, like `watch_changes()` with a timeout."""
        return self._bus.subscribe()

    async def watch_changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of changed MPD subsystems, or `CONNECTION`: everything may have changed.

        The first item comes at once. A slow reader gets all changes as one item.
        """
        with self._bus.subscribe() as subscription:
            while True:
                yield await subscription.changes()

    async def run(self) -> None:
        """Keep the player connected until cancelled.

        Cancelling also ends the built-in silent player.
        """
        if self._plugin is None:
            await asyncio.Event().wait()
        while True:
            try:
                error = await self._run_until_lost()
            except Exception as fault:  # noqa: BLE001 - a bug must not end the music silently
                _log.exception("music: internal error")
                error = f"internal error: {type(fault).__name__}: {fault}"
            self._reconnect.note_loss(was_connected=self._player is not None)
            self._disconnect(error or "the player has just appeared")
            if error:
                await self._reconnect.wait()

    async def _run_until_lost(self) -> str:
        """Follow a player until it is lost, and return the error.

        The error is empty if the configured player has appeared.
        """
        try:
            await self._follow(self._connect(), self.mpd_address)
        except Unavailable as error:
            # If the player was lost, a silent one would only hide that.
            if self._was_connected or not getattr(self._options, "fallback_mpd", False):
                return str(error)
            return await self._run_fallback(str(error))
        except ApplianceError as error:
            if isinstance(error, Refused):  # the remembered partition may have been deleted
                remember_partition(self._dir, DEFAULT_PARTITION)
            return str(error)
        return "the player closed the connection"

    async def _run_fallback(self, reason: str) -> str:
        """Follow the silent MPD until the configured player appears; return the error."""
        try:
            async with fallback_mpd.run_private_mpd(self._dir / FALLBACK_DIR, self._options.music) as address:
                fallback = _fallback_player(address, self._kind, self._options)
                return await self._until_configured_appears(self._follow(fallback, address, reason + FALLBACK_NOTICE))
        except ApplianceError as error:
            return f"{reason}. The built-in silent player cannot start: {error}"

    async def _until_configured_appears(self, following: Coroutine[Any, Any, None]) -> str:
        tasks = [asyncio.create_task(following), asyncio.create_task(self._poll_configured())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not tasks[1].done():
                await tasks[0]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return ""

    async def _poll_configured(self) -> None:
        backoff = self._reconnect.fallback_backoff()
        while True:
            await self._reconnect.wait(backoff)
            with contextlib.suppress(ApplianceError):
                await self._connect().state()
                return

    async def _follow(self, player: Player, upstream: Upstream | None, fallback_notice: str = "") -> None:
        limited = apply_policy(player, self.policy)
        try:
            async for names in player.watch_changes():
                state = await limited.state()
                # No await between the assignments, so that no reader sees the state of one player
                # with the error of another.
                capabilities = self.capabilities if self._player is player else await limited.capabilities()
                self._state, self._state_read_at = state, self._clock()
                if self._player is player:
                    self._bus.publish(names)
                    continue
                self.capabilities, self._player, self.upstream = capabilities, player, upstream
                self.uses_fallback, self.error = bool(fallback_notice), fallback_notice
                self._was_connected = self._was_connected or not fallback_notice
                level = logging.WARNING if fallback_notice else logging.INFO
                _log.log(level, "music: %s", fallback_notice or "connected to the player")
                self._bus.publish(names | {CONNECTION})
        finally:
            await player.close()

    def _disconnect(self, error: str) -> None:
        if self._player is not None or error != self.error:
            _log.warning("music: %s", error)
            self._player = self._state = self.upstream = None
            self.capabilities = frozenset()
            self.uses_fallback, self.error, self.status_text = False, error, ""
            self._bus.publish(frozenset({CONNECTION}))

    def _count_command(self) -> None:
        self.user_command_count += 1

    def _connect(self) -> Player:
        return _connect_plugin(self._kind, _with_partition(self._options, self._dir), self._secrets)


def remember_partition(state_dir: Path, name: str) -> None:
    """Use the partition `name` of MPD from the next connection on."""
    if name == DEFAULT_PARTITION:
        (state_dir / _PARTITION_FILE).unlink(missing_ok=True)
    else:
        files.write_file(files.make_directory(state_dir, mode=0o750) / _PARTITION_FILE, f"{name}\n".encode())


def _with_partition(options: Any, state_dir: Path) -> Any:
    """Return `options` with the remembered partition, for a player that has partitions."""
    if hasattr(options, "partition"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            name = (state_dir / _PARTITION_FILE).read_text("utf-8").strip()
            return dataclasses.replace(options, partition=name)
    return options


class _LazyStore:
    """The database in the folder `state`, opened when it is first needed."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._store: Store | None = None

    def open(self) -> Store:
        """Return the store. Raises `Unavailable`."""
        if self._store is None:
            self._store = open_history(files.make_directory(self._state, mode=0o750))
        return self._store

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()
            self._store = None


async def open_player(
    config: Config, secrets: Mapping[str, str], *, notify: Callable[[str], None] = _log.info
) -> Player:
    """Connect for a short task to the configured player, else to the running silent one.

    The player is within the volume policy of `config`. The caller closes it.

    Args:
        notify: called with one line of text if the silent player is used.

    Raises:
        Unavailable: neither answers.
    """
    plugin = config.player
    if plugin is None:
        raise Unavailable(NO_PLAYER)
    options = _with_partition(plugin.options, config.state_dir)
    player = _connect_plugin(plugin.kind, options, secrets)
    try:
        await player.state()
    except Refused:
        if options == plugin.options:
            raise
        # If the partition in use was deleted, this player can still choose another one.
    except Unavailable as error:
        if not getattr(plugin.options, "fallback_mpd", False):
            raise
        address = fallback_mpd.socket_path(config.state_dir / FALLBACK_DIR)
        player = _fallback_player(address, plugin.kind, plugin.options)
        try:
            await player.state()
        except Unavailable:
            raise error from None
        notify(f"{error}{FALLBACK_NOTICE}")
    history = _LazyStore(config.state_dir)
    return apply_policy(
        player,
        PlayerPolicy(
            volume_policy=config.volume, time_zone=config.time_zone, open_store=history.open, close=history.close
        ),
    )


@contextlib.asynccontextmanager
async def opened_player(
    config: Config, secrets: Mapping[str, str], *, notify: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Player]:
    """Provide the player of `open_player` for the duration of the block."""
    player = await open_player(config, secrets, notify=notify)
    try:
        yield player
    finally:
        await player.close()


def _fallback_player(address: Path, kind: str, options: Any) -> Player:
    # The silent player only has the default partition.
    changed = dataclasses.replace(options, address=str(address), fallback_mpd=False, partition="")
    return _connect_plugin(kind, changed, {})


def _connect_plugin(kind: str, options: Any, secrets: Mapping[str, str]) -> Player:
    player: Player = plugins.load("players", kind).connect(options, secrets)
    return player


async def keep_running(name: str, service: Callable[[], Awaitable[None]]) -> None:
    """Run `service` until cancelled and restart it after errors, such as a lost player."""
    last_error = ""
    while True:
        try:
            await service()
        except ApplianceError as error:
            if str(error) != last_error:  # a repeated error, such as a full SD card, is logged once
                last_error = str(error)
                _log.info("music: %s: %s", name, last_error)
            await asyncio.sleep(1.0)
        except Exception:  # noqa: BLE001 - a bug in a service must not end the music
            _log.exception("music: %s: internal error", name)
            await asyncio.sleep(_FAULT_DELAY)
