"""Whether a player really sounds: not what it says it does, but that the time of its track advances."""

import math
from dataclasses import dataclass
from enum import StrEnum

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms import session as patience
from pi_appliance.music.alarms.options import Options
from pi_appliance.music.alarms.session import MAX_AGE, POLL_INTERVAL, MusicSession, Phase, Session
from pi_appliance.music.context import MusicContext
from pi_appliance.music.model import Play, PlayerState
from pi_appliance.storage.model import PREEMPT, Result

MIN_ADVANCE = 3.0  # seconds that the elapsed time must have advanced
SILENCE_TIMEOUT = 12.0  # seconds without any advance after which nothing sounds, a buffer that fills included
_SLOW = 3.0  # seconds that a player may take from the command to saying that it plays


class PlaybackStatus(StrEnum):
    """What is heard of what was started."""

    NOTHING_YET = "nothing-yet"  # it may still come
    SOUND = "sound"  # it is proved, and goes on
    SILENCE = "silence"  # it never began, has failed, or stands still
    THE_END = "the-end"  # a file or the last of several came to its end after it was heard
    PAUSED = "paused"  # by a hand
    STOPPED = "stopped"  # by a hand


class PlaybackMonitor:
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

    def look(self, now: float, state: PlayerState) -> PlaybackStatus:
        """Take in the STATE at NOW and say what is heard. To be asked every second or so."""
        failed = state.error not in ("", self._old_error)
        match state.play:
            case Play.PLAYING:
                self._old_error = state.error
                return self._playing(now, state)
            case Play.PAUSED:
                # A player whose sound card is gone pauses by itself, and says why.
                return PlaybackStatus.SILENCE if failed else PlaybackStatus.PAUSED
        if failed:
            return PlaybackStatus.SILENCE
        if not self._played:
            return PlaybackStatus.SILENCE if now - self._began >= _SLOW else PlaybackStatus.NOTHING_YET
        if state.track is not None:
            return PlaybackStatus.STOPPED
        # Who runs out of tracks has no current one. A stream has no end: one that is over was cut off.
        return PlaybackStatus.THE_END if self._file and self.proved else PlaybackStatus.SILENCE

    def _playing(self, now: float, state: PlayerState) -> PlaybackStatus:
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
        self.proved = self.proved or self._heard >= MIN_ADVANCE
        if now - self._advanced >= SILENCE_TIMEOUT:
            return PlaybackStatus.SILENCE
        return PlaybackStatus.SOUND if self.proved else PlaybackStatus.NOTHING_YET


_BEND = 25.0
"""Of the volume scale. MPD's own mixer makes the amplitude exp(volume / 25) - 1; sound cards' mixers are bent alike."""
_NOTHING = 0.5  # stands for a volume of 0 where its decibels are asked for: those of silence are infinite


@dataclass(frozen=True, slots=True, kw_only=True)
class Fade:
    """From one volume to another, 0 to 100 each, within `seconds`: by the same number of decibels each second."""

    start: int
    end: int
    seconds: float

    def at(self, elapsed: float) -> int:
        """Return the volume at ELAPSED seconds. It never turns back, and never leaves the way from start to end."""
        if elapsed >= self.seconds:
            return self.end
        if elapsed <= 0 or self.start == self.end:
            return self.start
        low, high = decibels(self.start), decibels(self.end)
        reached = low + (high - low) * elapsed / self.seconds
        volume = _BEND * math.log1p(10 ** (reached / 20))
        # Rounded towards the start: whoever wakes up hears each step late rather than early.
        step = math.floor(volume + 1e-9) if self.end > self.start else math.ceil(volume - 1e-9)
        return min(max(step, min(self.start, self.end)), max(self.start, self.end))


def decibels(volume: int) -> float:
    """Return how loud VOLUME is, beside any other."""
    return 20 * math.log10(math.expm1(max(volume, _NOTHING) / _BEND))


def amplitude(volume: int) -> float:
    """Return what a wave is multiplied by to sound as VOLUME does where 100 leaves it as it is: 0 to 1."""
    return math.expm1(min(max(volume, 0), 100) / _BEND) / math.expm1(100 / _BEND)


_PATIENCE = 300.0  # seconds without a player after which its volume is of no use


async def change_volume(options: Options, context: MusicContext, session: Session | None) -> Result:
    """Turn the volume, or go on with SESSION. Raises Unavailable without a player, Refused without a mixer."""
    player = context.player()
    try:
        if session is None:
            state = await player.state()
            if state.volume is None:
                raise Refused("the player has no volume that could be set; see its mixer")
            now, seconds = context.timestamp(), options.fading.total_seconds()
            session = Session(phase=Phase.TURNING, since=now, began=now, seconds=seconds, start=state.volume)
            return await _Turn(options, context, player, session).run(cut=False)
        return await _Turn(options, context, player, session).run(cut=True)
    finally:
        await player.close()


class _Turn(MusicSession):
    async def run(self, *, cut: bool) -> Result:
        end = self.options.loudness
        if cut and self.age() > self.session.seconds + MAX_AGE:
            self.finish("cut off too long ago; the volume is left alone")
            return Result(self.how)
        self.keep()
        fade = Fade(start=self.session.start, end=end, seconds=self.session.seconds)
        reached = fade.at(self.age()) if cut else self.session.start
        self.volume.adopt(min(self.session.start, reached), max(self.session.start, reached))
        lost = None
        while not self.over:
            try:
                await self._step(fade)
                lost = None
            except Unavailable:
                lost = self.now() if lost is None else lost
                if self.now() - lost >= (_PATIENCE if fade.seconds else patience.PATIENCE):
                    self.context.clear_checkpoint()
                    raise
            if not self.over:
                await self.context.sleep(min(POLL_INTERVAL, max(fade.seconds - self.age(), 0.1)))
        return Result(self.how, {"volume": end})

    async def _step(self, fade: Fade) -> None:
        state, age = await self.look(), self.age()
        if state is None:
            return
        if self.context.next_signal() in ("stop", PREEMPT):
            self.finish(f"stopped at volume {state.volume} when asked to")
        elif not self.volume.is_ours(state):
            self.finish(f"a hand took the volume, at {state.volume}")
        else:
            await self.volume.set(fade.at(age))
            if age >= fade.seconds:
                shown = (await self.player.state()).volume
                self.finish(f"volume {shown}" + (f", not {fade.end}: no more is allowed" if shown != fade.end else ""))
