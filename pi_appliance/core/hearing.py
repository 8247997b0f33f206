"""Whether a player really sounds: not what it says it does, but that the time of its track advances."""

from enum import StrEnum

from pi_appliance.model.music import Play, PlayerState

PROOF = 3.0  # seconds that the elapsed time must have advanced
PATIENCE = 12.0  # seconds without any advance after which nothing sounds, a buffer that fills included
_SLOW = 3.0  # seconds that a player may take from the command to saying that it plays


class Heard(StrEnum):
    """What is heard of what was started."""

    NOTHING_YET = "nothing-yet"  # it may still come
    SOUND = "sound"  # it is proved, and goes on
    SILENCE = "silence"  # it never began, has failed, or stands still
    THE_END = "the-end"  # a file or the last of several came to its end after it was heard
    PAUSED = "paused"  # by a hand
    STOPPED = "stopped"  # by a hand


class Hearing:
    """Listens to one source, from the moment it was started."""

    def __init__(self, now: float) -> None:
        """NOW, as all times here, is in seconds by the steady clock."""
        self.proved = False
        self._began = self._advanced = self._looked = now
        self._heard = 0.0  # seconds of sound
        self._last: tuple[int | None, str, float] | None = None  # id, address and elapsed time at the last look
        self._file = False
        self._played = False
        self._old_error = ""  # of a track that was left out while others went on

    def look(self, now: float, state: PlayerState) -> Heard:
        """Take in the STATE at NOW and say what is heard. To be asked every second or so."""
        failed = state.error not in ("", self._old_error)
        match state.play:
            case Play.PLAYING:
                self._old_error = state.error
                return self._playing(now, state)
            case Play.PAUSED:
                # A player whose sound card is gone pauses by itself, and says why.
                return Heard.SILENCE if failed else Heard.PAUSED
        if failed:
            return Heard.SILENCE
        if not self._played:
            return Heard.SILENCE if now - self._began >= _SLOW else Heard.NOTHING_YET
        if state.track is not None:
            return Heard.STOPPED
        # Who runs out of tracks has no current one. A stream has no end: one that is over was cut off.
        return Heard.THE_END if self._file and self.proved else Heard.SILENCE

    def _playing(self, now: float, state: PlayerState) -> Heard:
        self._played = True
        track, elapsed = state.track, state.elapsed
        if track is not None and elapsed is not None:
            self._file = track.duration is not None
            place = (track.id, track.uri, elapsed)
            if self._last is not None:
                same = place[:2] == self._last[:2]
                step = elapsed - self._last[2] if same else elapsed
                # A jump within the track is no sound of that length.
                self._heard += min(max(step, 0.0), now - self._looked)
                self._advanced = now if step > 0 else self._advanced
            self._last = place
        self._looked = now
        self.proved = self.proved or self._heard >= PROOF
        if now - self._advanced >= PATIENCE:
            return Heard.SILENCE
        return Heard.SOUND if self.proved else Heard.NOTHING_YET
