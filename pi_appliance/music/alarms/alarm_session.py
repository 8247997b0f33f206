"""Alarm session: starts quietly, gets louder, and changes the source until one really sounds."""

import contextlib
from contextlib import ExitStack
from dataclasses import replace

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.music.alarms import sounds
from pi_appliance.music.alarms.alarm_sources import SourceList
from pi_appliance.music.alarms.fade import Fade
from pi_appliance.music.alarms.music_job import MusicContext, Options
from pi_appliance.music.alarms.music_session import (
    MAX_AGE,
    POLL_INTERVAL,
    Checkpoint,
    MusicSession,
    Phase,
    format_seconds,
    modes_of,
)
from pi_appliance.music.alarms.playback_monitor import PlaybackMonitor, PlaybackStatus
from pi_appliance.music.model import Mode, PlaybackState, PlayerState, QueuePosition, Source
from pi_appliance.music.player import Player
from pi_appliance.storage.model import PREEMPT, Result

PLAYER_TIMEOUT = 30.0  # seconds without a player after which this machine plays the chime itself
_MAX_VOLUME_JUMP = 3
_MIN_FADE_AFTER_SILENCE = 60.0  # seconds; shortest fade after a silent source
_MAX_CHIME_TIME = 1800.0  # seconds for which the built-in sound repeats
_SNOOZE_FADE = 3.0  # seconds of the fade before a snooze
_DURATION_OVER = "its duration is over"
_END_FADE = 30.0  # seconds: longest fade when the alarm's duration is over


async def ring(options: Options, context: MusicContext, player: Player, checkpoint: Checkpoint | None) -> Result:
    """Ring, or resume from `checkpoint`.

    Raises:
        Unavailable: Nothing can be made to sound.
    """
    now, fade = context.timestamp(), options.fade_time.total_seconds()
    new = Checkpoint(
        phase=Phase.RINGING, phase_started=now, session_started=now, start_volume=options.start_volume, seconds=fade
    )
    with ExitStack() as stack:
        alarm = AlarmSession(options, context, player, checkpoint or new, resumed=checkpoint is not None, stack=stack)
        return await alarm.run()


class AlarmSession(MusicSession):
    """An alarm that rings even if sources, the network or the player fail.

    Args:
        resumed: Another run started the session.
        stack: Closed when the built-in sound need not be served any more.
    """

    def __init__(
        self,
        options: Options,
        context: MusicContext,
        player: Player,
        checkpoint: Checkpoint,
        *,
        resumed: bool,
        stack: ExitStack,
    ) -> None:
        super().__init__(options, context, player, checkpoint)
        self._sources = SourceList(options.play or (), context, stack)
        self._monitor: PlaybackMonitor | None = None  # None: the source has to be started
        self._owns_playback = resumed  # after a resumption, the music that plays may be the alarm's
        self._resumed = resumed
        self._player_lost_at: float | None = None
        self._failed_sources: list[str] = []
        self._last_level: int | None = None
        self._queue_version = 0
        self._last_limit = 100
        self._stops_player = True  # whether the player is stopped at the end; False if the user stopped it
        self._signal = ""  # snooze, stop or PREEMPT, until the signal is handled

    async def run(self) -> Result:
        """Ring until the alarm ends, and return its result."""
        if self._resumed and self.phase_age() > self._phase_length() + MAX_AGE:
            await self.end_outdated("interrupted too long ago to ring now")
            return self._result()
        self.save()
        while True:
            self._signal = self.context.next_signal() or self._signal
            try:
                await self._step()
                self._player_lost_at = None
            except Unavailable as error:
                await self._continue_without_player(error)
            except ApplianceError as error:  # such as a wrong password
                await self._continue_without_player(Unavailable(str(error)))
            except Exception as error:  # noqa: BLE001 - a bug must not silence the alarm
                await self._continue_without_player(Unavailable(_describe_bug(error)))
            if self.finished:
                return self._result()
            await self.context.sleep(POLL_INTERVAL)

    async def _step(self) -> None:
        snoozing = self.checkpoint.phase is Phase.SNOOZING
        if self.end_reason:
            await self._end(self.end_reason, stop_player=self._stops_player)
        elif self._signal == PREEMPT:
            await self._yield_to_other_alarm()
        elif self._signal == "stop":
            if snoozing:
                self.finish("stopped during the snooze")
            else:
                await self._end("stopped on request")
        elif snoozing:
            self._snooze()
        elif self.checkpoint.phase is Phase.FADING_OUT:
            await self._fade_out()
        elif self._signal == "snooze":
            await self._start_fade_out(_SNOOZE_FADE, snoozes=True)
        else:
            await self._ring()
        self._signal = ""

    async def _yield_to_other_alarm(self) -> None:
        changed_player = self.checkpoint.modes is not None
        if changed_player and not self._resumed and self.checkpoint.phase is not Phase.SNOOZING:
            await self._end("another alarm rings now")
        else:
            self.finish("another alarm rings now")

    # Ringing

    async def _ring(self) -> None:
        state = await self.poll_player()
        if state is None:
            self._monitor = None  # start again after the announcement, at the volume that is due then
            self.volume.accept_restored()
            return
        if self._player_restarted(state):
            self._monitor, self.volume = None, self.new_volume()
        monitor = self._monitor or await self._set_up(state)
        if monitor is None:
            return
        if (
            state.playback is PlaybackState.PLAYING
            and not self.checkpoint.user_took_volume
            and not self.volume.is_ours(state)
        ):
            self.save(user_took_volume=True, previous_volume=state.volume)
        match monitor.observe(self.now(), state):
            case PlaybackStatus.PAUSED:
                await self._end("paused by the user", stop_player=False)
            case PlaybackStatus.STOPPED:
                await self._end("stopped by the user", stop_player=False)
            case PlaybackStatus.SILENCE:
                self._give_up_source(state.error or "no sound")
            case PlaybackStatus.ENDED:
                await self._play_again()
            case status:
                await self._update_volume(status)

    def _player_restarted(self, state: PlayerState) -> bool:
        """Return whether the player restarted and lost its queue between two polls."""
        previous, self._queue_version = self._queue_version, state.queue_version
        return state.playback is PlaybackState.STOPPED and state.queue_length == 0 and state.queue_version < previous

    async def _set_up(self, state: PlayerState) -> PlaybackMonitor | None:
        """Make the source play at the current volume of the fade.

        Returns:
            A monitor if our music plays already; None if it starts now or the alarm has ended.
        """
        if self._still_plays(state):
            self._monitor = PlaybackMonitor(self.now())
            return self._monitor
        if self._resumed and self._stopped_by_user(state):
            self.end_reason, self._stops_player = "stopped by the user", False
            return None
        if self._resumed and self.checkpoint.heard:
            self._restart_fade(self.options.start_volume)
        elif (
            self._last_level is not None
            and not self.checkpoint.user_took_volume
            and self._level() > self._last_level + _MAX_VOLUME_JUMP
        ):
            self._restart_fade(self._last_level)  # the player was away, so the fade continues from the last volume
        self._resumed = False
        if state.muted:
            state = await self._unmute(state)
        if self.checkpoint.previous_volume is None:
            self.save(previous_volume=state.volume, modes=modes_of(state))
        # The volume is set before anything plays, because a restarted player has its own volume.
        self.volume = self.new_volume()
        await self.volume.set(self._level())
        await self._start_source()
        return None

    async def _start_source(self) -> None:
        try:
            source = self._resolve_source()
            if self._plays_built_in and self.checkpoint.modes is not None:
                await self.set_modes(replace(self.checkpoint.modes, repeat=True, single=Mode.OFF, consume=Mode.OFF))
            await self.player.add_source(source, QueuePosition.REPLACE, play=True)
        except Unavailable:
            raise
        except Uncertain:
            pass  # the result is unknown; the monitor finds out whether it plays
        except ApplianceError as error:
            self._give_up_source(str(error))
            return
        except Exception as error:  # noqa: BLE001 - a bug in one source must not end the alarm
            self._give_up_source(_describe_bug(error))
            return
        self._owns_playback, self._monitor = True, PlaybackMonitor(self.now())

    def _resolve_source(self) -> Source:
        try:
            return self._sources.resolve(self.checkpoint.source)
        except Unavailable as error:  # the source is not available, the player is
            raise Refused(str(error)) from None

    def _still_plays(self, state: PlayerState) -> bool:
        """Return whether the alarm's own music went on while the run or the player was away."""
        if not self._owns_playback or self._plays_built_in or state.playback is not PlaybackState.PLAYING:
            return False
        if self._resumed:
            if self.context.timestamp().boot != self.checkpoint.phase_started.boot:
                return False  # after a boot, the player may have resumed at any volume
            self.volume.assume(min(self.checkpoint.start_volume, self._level()), self._level())
            self._resumed = False
        level = self._level()
        current = level if state.volume is None else state.volume
        limit = min(level, self.context.max_volume())
        if not self.checkpoint.user_took_volume and self.checkpoint.start_volume <= current < limit - _MAX_VOLUME_JUMP:
            self._restart_fade(current)  # while the run was away, the volume did not rise
        return True

    def _stopped_by_user(self, state: PlayerState) -> bool:
        """Return whether the user, not a reboot, stopped the music while the run was away."""
        same_boot = self.context.timestamp().boot == self.checkpoint.phase_started.boot
        silent = state.playback is not PlaybackState.PLAYING and state.track is not None and not state.error
        return same_boot and silent and self.checkpoint.heard

    async def _unmute(self, state: PlayerState) -> PlayerState:
        """Unmute the player. It is stopped before, because the music would be loud at once."""
        if state.playback is PlaybackState.PLAYING:
            await self.player.stop()
        with contextlib.suppress(Refused):
            await self.player.set_mute(False)
        return await self.player.state()

    def _give_up_source(self, reason: str) -> None:
        """Select the next source.

        Raises:
            Unavailable: There is none.
        """
        index = self.checkpoint.source
        name = self._sources.label(index)
        self._failed_sources.append(f"{name}: {reason.removeprefix(f'{name} cannot be played: ')}")
        self._monitor, self._owns_playback = None, False
        if not self._sources.has_source(index + 1):
            # This machine plays the sound now. After each chime, it tries the player again.
            self._player_lost_at = self.now() - PLAYER_TIMEOUT
            raise Unavailable(self._failed_sources[-1])
        self.save(source=index + 1)

    async def _play_again(self) -> None:
        """Repeat an album or playlist that is shorter than the alarm."""
        try:
            await self.player.play(0)
            self._monitor = PlaybackMonitor(self.now())
        except Refused as error:
            self._give_up_source(str(error))

    @property
    def _plays_built_in(self) -> bool:
        return self._sources.is_built_in(self.checkpoint.source)

    # Volume

    def _level(self) -> int:
        """Return the volume for this second, not above a volume that the user has set."""
        checkpoint, end = self.checkpoint, self.options.final_volume
        if checkpoint.user_took_volume and checkpoint.previous_volume is not None:
            return min(checkpoint.previous_volume, end)
        if not checkpoint.heard:  # the fade starts when the sound is heard
            return checkpoint.start_volume
        return Fade(start=checkpoint.start_volume, end=end, seconds=checkpoint.seconds).at(self.phase_age())

    def _restart_fade(self, start_volume: int) -> None:
        """Restart the fade with the remaining time or `_MIN_FADE_AFTER_SILENCE`."""
        min_seconds = min(_MIN_FADE_AFTER_SILENCE, self.options.fade_time.total_seconds())
        seconds = max(self.checkpoint.seconds - self.phase_age(), min_seconds)
        self.save(phase_started=self.context.timestamp(), seconds=seconds, start_volume=start_volume)

    def _follow_volume_limit(self) -> None:
        """If the volume limit rose, fade from the old limit to the new one."""
        limit = self.context.max_volume()
        if not self.checkpoint.user_took_volume and self._last_limit < min(limit, self._level() - _MAX_VOLUME_JUMP):
            self._restart_fade(self._last_limit)
        self._last_limit = limit

    async def _update_volume(self, status: PlaybackStatus) -> None:
        """Set the volume for this second of the fade, and end the alarm when its time is over."""
        if status is PlaybackStatus.SOUND and not self.checkpoint.heard:
            self.save(heard=True, phase_started=self.context.timestamp())
        self._follow_volume_limit()
        checkpoint, duration, ring_time = self.checkpoint, self.options.duration, self._ring_time()
        level = self._level()
        if not checkpoint.user_took_volume:
            await self.volume.set(level)
            self._last_level = level
        name, shown = self._sources.label(checkpoint.source), min(level, self.context.max_volume())
        fade_done = checkpoint.user_took_volume or (checkpoint.heard and self.phase_age() >= checkpoint.seconds)
        self.context.progress(None, name if fade_done else f"{name} at volume {shown}")
        if duration is not None and ring_time >= duration.total_seconds():
            await self._start_fade_out(min(self.options.fade_time.total_seconds(), _END_FADE), snoozes=False)
        elif self._plays_built_in:
            if ring_time >= self._max_chime_time():
                await self._end(f"not stopped for {format_seconds(ring_time)}")
        elif duration is None and fade_done and status is PlaybackStatus.SOUND:
            self.finish(
                "the user changed the volume; the music continues"
                if checkpoint.user_took_volume
                else "the music continues"
            )

    async def _start_fade_out(self, seconds: float, *, snoozes: bool) -> None:
        volume = (await self.player.state()).volume or 0
        self.start_phase(Phase.FADING_OUT, seconds, start_volume=volume, snoozes=snoozes)
        self.volume.assume(0, volume)

    async def _fade_out(self) -> None:
        checkpoint, state = self.checkpoint, await self.poll_player()
        if state is None:
            return
        if state.playback is PlaybackState.PLAYING and self.phase_age() < checkpoint.seconds:
            if self.volume.raised_by_user(state):
                self.finish("the user raised the volume, so the music continues")
                return
            fade = Fade(start=checkpoint.start_volume, end=0, seconds=checkpoint.seconds)
            level = fade.at(self.phase_age())
            await self.volume.set(level if state.volume is None else min(level, state.volume))
        elif checkpoint.snoozes:
            await self.silence(state)
            await self.restore()
            self.start_phase(Phase.SNOOZING, self.options.snooze.total_seconds(), previous_volume=None, modes=None)
        else:
            await self._end(_DURATION_OVER)

    def _snooze(self) -> None:
        if self._signal == "snooze":
            self.save(phase_started=self.context.timestamp())
        remaining = self.checkpoint.seconds - self.phase_age()
        self.context.progress(None, f"snoozing for {format_seconds(remaining)}")
        if remaining <= 0:
            self._monitor, self._owns_playback, self._resumed = None, False, False
            self.volume = self.new_volume()
            self.start_phase(
                Phase.RINGING,
                self.options.fade_time.total_seconds(),
                snoozes=False,
                session_started=self.context.timestamp(),
                start_volume=self.options.start_volume,
                heard=False,
                user_took_volume=False,
            )

    # Player away, end

    async def _continue_without_player(self, error: Unavailable) -> None:
        """Wait for the player; after `PLAYER_TIMEOUT`, play the chime on this machine.

        Raises:
            Unavailable: This machine cannot play a sound either.
        """
        self._player_lost_at = self.now() if self._player_lost_at is None else self._player_lost_at
        self._monitor, self.volume = None, self.new_volume()
        self.context.progress(None, str(error))
        timed_out = self.now() - self._player_lost_at >= PLAYER_TIMEOUT
        if self.end_reason:  # the session has ended, and only has to restore the volume
            self._wait_to_restore()
        elif self.checkpoint.phase is Phase.SNOOZING or not timed_out:
            return
        elif self.checkpoint.phase is Phase.FADING_OUT:  # without a player, the music has ended already
            if self.checkpoint.snoozes:
                self.start_phase(Phase.SNOOZING, self.options.snooze.total_seconds())
            else:
                self.end_reason = _DURATION_OVER
        elif self._signal == "snooze":
            self.start_phase(Phase.SNOOZING, self.options.snooze.total_seconds())
        elif self._ring_time() >= self._max_chime_time():
            self.finish(f"not stopped for {format_seconds(self._ring_time())}")
        else:
            await self._play_without_player(error)

    def _wait_to_restore(self) -> None:
        """Wait for the player, but not while another alarm waits for this one to end."""
        assert self._player_lost_at is not None
        if self.checkpoint.phase is not Phase.FADING_OUT:  # saved, so that no later run rings again
            self.start_phase(Phase.FADING_OUT, 0.0, snoozes=False)
        patience = PLAYER_TIMEOUT if self._signal == PREEMPT else MAX_AGE
        if self.now() - self._player_lost_at >= patience:
            self.finish(self.end_reason)

    async def _play_without_player(self, error: Unavailable) -> None:
        started, level = self.context.timestamp(), self._level()
        try:
            await sounds.play_chime(min(level, self.context.max_volume()))
        except Unavailable as local_error:
            raise Unavailable(f"the alarm is silent: {error}; this machine cannot ring either: {local_error}") from None
        self._last_level = level  # the volume at which the player continues
        if not self.checkpoint.heard:
            self.save(heard=True, phase_started=started)

    async def _end(self, reason: str, *, stop_player: bool = True) -> None:
        """Stop the music, restore volume and modes, and finish. Safe to repeat."""
        self.end_reason, self._stops_player = reason, stop_player
        if stop_player:
            with contextlib.suppress(Refused):
                await self.player.stop()
        await self.restore()
        self.finish(reason)

    async def restore(self) -> None:
        """Restore the volume, and the modes that the built-in sound changed."""
        await super().restore()
        if self.checkpoint.modes is not None and self._plays_built_in:
            await self.set_modes(self.checkpoint.modes)

    def _result(self) -> Result:
        name = self._sources.label(self.checkpoint.source)
        failures = f" (failed: {', '.join(self._failed_sources)})" if self._failed_sources else ""
        details: dict[str, str | int | bool] = {
            "source": name,
            "heard": self.checkpoint.heard,
            "user_took_volume": self.checkpoint.user_took_volume,
            "failed_sources": len(self._failed_sources),
        }
        return Result(f"{name}: {self.end_reason}{failures}", details)

    def _ring_time(self) -> float:
        return self.context.timestamp().seconds_since(self.checkpoint.session_started)

    def _max_chime_time(self) -> float:
        return max(_MAX_CHIME_TIME, self.checkpoint.seconds)

    def _phase_length(self) -> float:
        duration = self.options.duration
        ring_time = duration.total_seconds() if duration and self.checkpoint.phase is Phase.RINGING else 0.0
        return max(self.checkpoint.seconds, ring_time)


def _describe_bug(error: Exception) -> str:
    return f"internal error: {type(error).__name__}: {error}"
