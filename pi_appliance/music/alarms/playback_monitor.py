"""Whether the player really plays: judged by the elapsed time, which must advance."""

from enum import StrEnum

from pi_appliance.music.model import PlaybackState, PlayerState

MIN_ADVANCE = 3.0  # seconds of sound that prove that a source works
SILENCE_TIMEOUT = 12.0  # seconds without progress that count as silence, also while the player buffers
_START_TIMEOUT = 3.0  # seconds from the command until the player reports that it plays


class PlaybackStatus(StrEnum):
    """The result of one observation of a source."""

    STARTING = "starting"  # no sound has been heard yet
    SOUND = "sound"
    SILENCE = "silence"  # it did not start, failed, or stalls
    ENDED = "ended"  # a file ended after it was heard, or the last of several
    PAUSED = "paused"  # the user paused it
    STOPPED = "stopped"  # the user stopped it


class PlaybackMonitor:
    """Observes one source from the moment it was started.

    Args:
        now: The time of the start: seconds by the monotonic clock, as in `observe`.
    """

    def __init__(self, now: float) -> None:
        self.proved = False
        self._started_at = self._advanced_at = self._observed_at = now
        self._heard_seconds = 0.0
        self._last: tuple[int | None, str, float] | None = None  # id, address and elapsed time at the last observation
        self._is_file = False
        self._has_played = False
        self._old_error = ""  # error of an earlier track, which was skipped while others played

    def observe(self, now: float, state: PlayerState) -> PlaybackStatus:
        """Evaluate the player's `state`. Call it about once a second."""
        failed = state.error not in ("", self._old_error)
        match state.playback:
            case PlaybackState.PLAYING:
                self._old_error = state.error
                return self._observe_playing(now, state)
            case PlaybackState.PAUSED:
                # If its sound card is gone, a player pauses by itself and reports an error.
                return PlaybackStatus.SILENCE if failed else PlaybackStatus.PAUSED
        if failed:
            return PlaybackStatus.SILENCE
        if not self._has_played:
            return PlaybackStatus.SILENCE if now - self._started_at >= _START_TIMEOUT else PlaybackStatus.STARTING
        if state.track is not None:
            return PlaybackStatus.STOPPED
        # After the last track, a player has no current track. A stream never ends, so it broke off.
        return PlaybackStatus.ENDED if self._is_file and self.proved else PlaybackStatus.SILENCE

    def _observe_playing(self, now: float, state: PlayerState) -> PlaybackStatus:
        self._has_played = True
        track, elapsed = state.track, state.elapsed
        if track is not None and elapsed is not None:
            self._is_file = track.duration is not None
            current = (track.id, track.uri, elapsed)
            if self._last is not None:
                same_track = current[:2] == self._last[:2]
                step = elapsed - self._last[2] if same_track else elapsed
                # After a seek, the position jumps; only the time since the last observation was
                # heard.
                self._heard_seconds += min(max(step, 0.0), now - self._observed_at)
                self._advanced_at = now if step > 0 else self._advanced_at
            self._last = current
        self._observed_at = now
        self.proved = self.proved or self._heard_seconds >= MIN_ADVANCE
        if now - self._advanced_at >= SILENCE_TIMEOUT:
            return PlaybackStatus.SILENCE
        return PlaybackStatus.SOUND if self.proved else PlaybackStatus.STARTING
