"""Sleep timer, stop and volume change: sessions that fade the volume.

A sleep timer lets the music play for its time, fades it out, stops it and restores the volume.
"""

import contextlib
from datetime import datetime

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms.fade import Fade
from pi_appliance.music.alarms.music_job import Action, MusicContext, Options, PlayOut
from pi_appliance.music.alarms.music_session import (
    MAX_AGE,
    POLL_INTERVAL,
    RETRY_TIMEOUT,
    Checkpoint,
    MusicSession,
    Phase,
    format_seconds,
)
from pi_appliance.music.model import PlaybackState, PlayerState, Track
from pi_appliance.music.player import Player
from pi_appliance.scheduling import schedule
from pi_appliance.storage.model import PREEMPT, Result

_PLAYER_TIMEOUT = 300.0  # seconds without a player after which the session ends
_END_MARGIN = 0.5  # seconds cut from the last track, so that the next one does not start


async def sleep(options: Options, context: MusicContext, player: Player, checkpoint: Checkpoint | None) -> Result:
    """Run a sleep timer or a stop, or resume from `checkpoint`."""
    now, until = context.timestamp(), ""
    if options.at is not None:
        until = schedule.next_time(options.at, context.local_time()).isoformat()
    seconds = options.time_until_sleep.total_seconds()
    new = Checkpoint(phase=Phase.WAITING, phase_started=now, session_started=now, seconds=seconds, until=until)
    return await SleepSession(options, context, player, checkpoint or new).run(resumed=checkpoint is not None)


async def change_volume(
    options: Options, context: MusicContext, player: Player, checkpoint: Checkpoint | None
) -> Result:
    """Change the volume, or resume from `checkpoint`.

    Raises:
        Unavailable: The player cannot be reached.
        Refused: It has no mixer.
    """
    if checkpoint is not None:
        return await VolumeSession(options, context, player, checkpoint).run(resumed=True)
    state = await player.state()
    if state.volume is None:
        raise Refused("the player has no volume to set; check its mixer settings")
    now, seconds = context.timestamp(), options.fade_time.total_seconds()
    new = Checkpoint(
        phase=Phase.CHANGING_VOLUME,
        phase_started=now,
        session_started=now,
        seconds=seconds,
        start_volume=state.volume,
    )
    return await VolumeSession(options, context, player, new).run(resumed=False)


class SleepSession(MusicSession):
    """A sleep timer, or a job that stops the music."""

    _player_lost_at: float | None = None

    async def run(self, *, resumed: bool) -> Result:
        """Run until the music has stopped or the timer is cancelled."""
        if resumed and self._overdue() > MAX_AGE:
            await self.end_outdated("interrupted too long ago; the music continues")
            return self._result()
        self.save()
        if resumed and self.checkpoint.phase is Phase.FADING_OUT:
            self.volume.assume(0, self.checkpoint.start_volume)
        while True:
            signal = self.context.next_signal()
            if signal == "stop" and not self.end_reason:
                await self._cancel()
                return self._result()
            if signal == PREEMPT and self.checkpoint.phase is not Phase.WAITING:
                self.end_reason = "asleep; an alarm rings now"
                if resumed:  # after a resumption, an alarm may have started other music
                    self.finish(self.end_reason)
                    return self._result()
            resumed = False
            try:
                delay = await self._step()
                self._player_lost_at = None
            except Unavailable:
                delay = self._wait_for_player()
            if self.finished:
                return self._result()
            await self.context.sleep(delay)

    async def _step(self) -> float:
        """Do the work of this moment and return the seconds until the next step."""
        if self.end_reason:
            await self._end(self.end_reason)
            return POLL_INTERVAL
        match self.checkpoint.phase:
            case Phase.WAITING:
                return await self._wait()
            case Phase.PLAYING_OUT:
                return await self._play_out()
        return await self._fade_out()

    async def _wait(self) -> float:
        remaining, fade = self._remaining(), self.options.fade_time.total_seconds()
        fade_before_end = 0.0 if self.options.play_out or self.options.action is Action.STOP else fade
        if remaining > fade_before_end:
            self.context.progress(None, f"asleep in {format_seconds(remaining)}")
            # Slept in short steps, so that clock changes and signals are noticed soon.
            return min(remaining - fade_before_end, 2 * POLL_INTERVAL)
        state = await self.poll_player()
        if state is None:
            return POLL_INTERVAL
        if self.options.play_out is None or state.track is None or state.track.duration is None:
            # A stop begins its fade after its time. The fade of a sleep timer ends when its time is
            # over.
            seconds = fade if fade_before_end == 0.0 else min(fade, max(remaining, 0.0))
            return await self._start_fade_out(state, seconds)
        self.start_phase(Phase.PLAYING_OUT, 0.0, uri=state.track.uri, album=state.track.album)
        return 0.0

    async def _play_out(self) -> float:
        """Wait for the end of the track, album or queue; the fade ends with it."""
        state = await self.poll_player()
        if state is None:
            return POLL_INTERVAL
        track = state.track
        if state.playback is PlaybackState.STOPPED or track is None or track.duration is None or self._is_past(track):
            return await self._start_fade_out(state, 0.0)
        remaining = track.duration - (state.elapsed or 0.0) if await self._is_last(state, track) else None
        if (
            remaining is not None
            and remaining <= self.options.fade_time.total_seconds()
            and state.playback is PlaybackState.PLAYING
        ):
            return await self._start_fade_out(state, max(remaining - _END_MARGIN, 0.0))
        when = f"in {format_seconds(remaining)}" if remaining else f"after this {self.options.play_out}"
        self.context.progress(None, f"asleep {when}")
        return POLL_INTERVAL

    def _is_past(self, track: Track) -> bool:
        match self.options.play_out:
            case PlayOut.TRACK:
                return track.uri != self.checkpoint.uri
            case PlayOut.ALBUM:
                return track.album != self.checkpoint.album
        return False

    async def _is_last(self, state: PlayerState, track: Track) -> bool:
        """Return whether the music ends after `track`.

        With random playback, a queue never ends, and only this track of an album is played.
        """
        position = track.position or 0
        match self.options.play_out:
            case PlayOut.QUEUE:
                return not state.random and position + 1 >= state.queue_length
            case PlayOut.ALBUM if not state.random:
                next_tracks = (await self.player.list_queue(position + 1, 1)).tracks
                return not next_tracks or next_tracks[0].album != track.album
        return True

    async def _start_fade_out(self, state: PlayerState, seconds: float) -> float:
        self.start_phase(Phase.FADING_OUT, seconds, start_volume=state.volume or 0, previous_volume=state.volume)
        self.volume.assume(0, state.volume or 0)
        return 0.0

    async def _fade_out(self) -> float:
        checkpoint, state, age = self.checkpoint, await self.poll_player(), self.phase_age()
        if state is None:
            return POLL_INTERVAL
        if (
            state.playback is PlaybackState.STOPPED
            and (state.error or state.track is None)
            and age < checkpoint.seconds
        ):
            return POLL_INTERVAL  # the stream broke off; the watchdog reconnects it after this session
        if state.playback is not PlaybackState.PLAYING:
            await self._end("nothing was playing")
            return POLL_INTERVAL
        if self.volume.raised_by_user(state):
            self.finish("the user raised the volume; the music continues")
            return POLL_INTERVAL
        if age >= checkpoint.seconds:
            await self._end("stopped" if self.options.action is Action.STOP else "asleep")
            return POLL_INTERVAL
        level = Fade(start=checkpoint.start_volume, end=0, seconds=checkpoint.seconds).at(age)
        # A volume that the user has lowered further is kept.
        await self.volume.set(level if state.volume is None else min(level, state.volume))
        self.context.progress(age / checkpoint.seconds, f"fading out, at volume {level}")
        return min(POLL_INTERVAL, max(checkpoint.seconds - age, 0.0))

    async def _end(self, reason: str) -> None:
        """Stop the music, restore the volume and finish. Safe to repeat."""
        self.end_reason = reason
        state = await self.player.state()
        if self.options.action is Action.STOP:
            await self.player.stop()
        else:
            await self.silence(state)
        await self.restore()
        self.finish(reason)

    async def _cancel(self) -> None:
        if self.checkpoint.phase is Phase.FADING_OUT:
            with contextlib.suppress(Unavailable):
                await self.restore()
        self.finish("cancelled; the music continues")

    def _wait_for_player(self) -> float:
        self._player_lost_at = self.now() if self._player_lost_at is None else self._player_lost_at
        self.volume = self.new_volume()
        # Once the fade has begun, the old volume must be restored, so the player is awaited longer.
        patience = _PLAYER_TIMEOUT if self.checkpoint.previous_volume is None else MAX_AGE
        if self.now() - self._player_lost_at >= patience:
            self.finish("the player went away and did not come back")
        return POLL_INTERVAL

    def _remaining(self) -> float:
        if self.checkpoint.until:
            return schedule.seconds_until(datetime.fromisoformat(self.checkpoint.until), self.context.local_time())
        return self.checkpoint.seconds - self.phase_age()

    def _overdue(self) -> float:
        if self.checkpoint.phase is Phase.WAITING:
            return -self._remaining()
        return 0.0 if self.checkpoint.phase is Phase.PLAYING_OUT else self.phase_age() - self.checkpoint.seconds

    def _result(self) -> Result:
        return Result(self.end_reason, {"play_out": self.options.play_out, "volume": self.checkpoint.previous_volume})


class VolumeSession(MusicSession):
    """A change of the volume, at once or as a fade."""

    async def run(self, *, resumed: bool) -> Result:
        """Run until the volume is reached, or the user changes the volume."""
        checkpoint, end = self.checkpoint, self.options.final_volume
        if resumed and self.phase_age() > checkpoint.seconds + MAX_AGE:
            self.finish("interrupted too long ago; the volume stays as it is")
            return Result(self.end_reason)
        self.save()
        fade = Fade(start=checkpoint.start_volume, end=end, seconds=checkpoint.seconds)
        level = fade.at(self.phase_age()) if resumed else fade.start
        self.volume.assume(min(fade.start, level), max(fade.start, level))
        lost_at = None
        while not self.finished:
            try:
                await self._step(fade)
                lost_at = None
            except Unavailable:
                lost_at = self.now() if lost_at is None else lost_at
                if self.now() - lost_at >= (_PLAYER_TIMEOUT if fade.seconds else RETRY_TIMEOUT):
                    self.context.clear_checkpoint()
                    raise
            if not self.finished:
                await self.context.sleep(min(POLL_INTERVAL, max(fade.seconds - self.phase_age(), 0.1)))
        return Result(self.end_reason, {"volume": end})

    async def _step(self, fade: Fade) -> None:
        state, age = await self.poll_player(), self.phase_age()
        if state is None:
            return
        if self.context.next_signal() in ("stop", PREEMPT):
            self.finish(f"stopped at volume {state.volume} on request")
        elif not self.volume.is_ours(state):
            self.finish(f"the user changed the volume to {state.volume}")
        else:
            await self.volume.set(fade.at(age))
            if age >= fade.seconds:
                volume = (await self.player.state()).volume
                is_limited = volume != fade.end
                self.finish(
                    f"volume {volume}, not {fade.end}: the volume is limited" if is_limited else f"volume {volume}"
                )
