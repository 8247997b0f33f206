"""A sleep timer, and a stop: the music goes on for its time, fades out and ends, and the volume is as it was."""

import contextlib
from datetime import datetime

from pi_appliance.errors import Unavailable
from pi_appliance.music.alarms.options import Action, Finish, Options
from pi_appliance.music.alarms.playback import Fade
from pi_appliance.music.alarms.session import MAX_AGE, POLL_INTERVAL, MusicSession, Phase, Session, words
from pi_appliance.music.context import MusicContext
from pi_appliance.music.model import Play, PlayerState, Track
from pi_appliance.scheduling import schedule
from pi_appliance.storage.model import PREEMPT, Result

_PATIENCE = 300.0  # seconds without a player after which nothing plays that could be put to sleep

_BEFORE_THE_END = 0.5  # seconds of a track that are left out, so that the next one does not begin


async def sleep(options: Options, context: MusicContext, session: Session | None) -> Result:
    """Let the music sleep, or go on with SESSION. Raises Unavailable where the player stays away."""
    now, until = context.timestamp(), ""
    if options.at is not None:
        until = schedule.next_time(options.at, context.local_time()).isoformat()
    new = Session(phase=Phase.WAITING, since=now, began=now, seconds=options.lasting.total_seconds(), until=until)
    player = context.player()
    try:
        return await _Sleep(options, context, player, session or new).run(cut=session is not None)
    finally:
        await player.close()


class _Sleep(MusicSession):
    lost: float | None = None

    async def run(self, *, cut: bool) -> Result:
        if cut and self._late() > MAX_AGE:
            return await self._let_go()
        self.keep()
        if cut and self.session.phase is Phase.FALLING:
            self.volume.adopt(0, self.session.start)
        while True:
            word = self.context.next_signal()
            if word == "stop" and not self.how:
                await self._cancel()
                return self._result()
            if word == PREEMPT and self.session.phase is not Phase.WAITING:
                self.how = "asleep; an alarm rings now"
                if cut:  # what plays is perhaps the alarm's already
                    self.finish(self.how)
                    return self._result()
            cut = False
            try:
                wait = await self._step()
                self.lost = None
            except Unavailable:
                wait = self._without_player()
            if self.over:
                return self._result()
            await self.context.sleep(wait)

    async def _step(self) -> float:
        """Do what this second wants, and return how many seconds there are until the next."""
        if self.how:
            await self._end(self.how)
            return POLL_INTERVAL
        match self.session.phase:
            case Phase.WAITING:
                return await self._wait()
            case Phase.FINISHING:
                return await self._play_out()
        return await self._fall()

    async def _wait(self) -> float:
        left, fade = self._left(), self.options.fading.total_seconds()
        first = 0.0 if self.options.finish or self.options.do is Action.STOP else fade
        if left > first:
            self.context.progress(None, f"asleep in {words(left)}")
            # A step of the clock, and a word, are noticed soon.
            return min(left - first, 2 * POLL_INTERVAL)
        state = await self.look()
        if state is None:
            return POLL_INTERVAL
        if self.options.finish is None or state.track is None or state.track.duration is None:
            # What is stopped goes on falling for its time; what sleeps is asleep when the time has come.
            return await self._begin_to_fall(state, fade if first == 0.0 else min(fade, max(left, 0.0)))
        self.begin(Phase.FINISHING, 0.0, uri=state.track.uri, album=state.track.album)
        return 0.0

    async def _play_out(self) -> float:
        """Wait for the end of what is played out; the fade ends with it."""
        state = await self.look()
        if state is None:
            return POLL_INTERVAL
        track = state.track
        if state.play is Play.STOPPED or track is None or track.duration is None or self._is_past(track):
            return await self._begin_to_fall(state, 0.0)
        left = track.duration - (state.elapsed or 0.0) if await self._is_last(state, track) else None
        if left is not None and left <= self.options.fading.total_seconds() and state.play is Play.PLAYING:
            return await self._begin_to_fall(state, max(left - _BEFORE_THE_END, 0.0))
        self.context.progress(None, f"asleep {f'in {words(left)}' if left else f'after this {self.options.finish}'}")
        return POLL_INTERVAL

    def _is_past(self, track: Track) -> bool:
        """Say whether TRACK is no part any more of what is played out."""
        match self.options.finish:
            case Finish.TRACK:
                return track.uri != self.session.uri
            case Finish.ALBUM:
                return track.album != self.session.album
        return False

    async def _is_last(self, state: PlayerState, track: Track) -> bool:
        """Say whether with TRACK it is played out. What comes next at random, nobody knows."""
        position = track.position or 0
        match self.options.finish:
            case Finish.QUEUE:
                return not state.random and position + 1 >= state.queue_length
            case Finish.ALBUM if not state.random:
                following = (await self.player.queue(position + 1, 1)).tracks
                return not following or following[0].album != track.album
        return True

    async def _begin_to_fall(self, state: PlayerState, seconds: float) -> float:
        self.begin(Phase.FALLING, seconds, start=state.volume or 0, before=state.volume)
        self.volume.adopt(0, state.volume or 0)
        return 0.0

    async def _fall(self) -> float:
        session, state, age = self.session, await self.look(), self.age()
        if state is None:
            return POLL_INTERVAL
        if state.play is Play.STOPPED and (state.error or state.track is None) and age < session.seconds:
            return POLL_INTERVAL  # it broke off; who brings it back leaves it alone until this is over
        if state.play is not Play.PLAYING:
            await self._end("nothing played any more")
            return POLL_INTERVAL
        if self.volume.was_raised(state):
            self.finish("a hand made it louder; the music goes on")
            return POLL_INTERVAL
        if age >= session.seconds:
            await self._end("stopped" if self.options.do is Action.STOP else "asleep")
            return POLL_INTERVAL
        # A hand may make it more silent still.
        level = Fade(start=session.start, end=0, seconds=session.seconds).at(age)
        await self.volume.set(level if state.volume is None else min(level, state.volume))
        self.context.progress(age / session.seconds, f"fading out, at volume {level}")
        return min(POLL_INTERVAL, max(session.seconds - age, 0.0))

    async def _end(self, how: str) -> None:
        """End the music and restore the volume. May be repeated."""
        self.how = how
        state = await self.player.state()
        if self.options.do is Action.STOP:
            await self.player.stop()
        else:
            await self.silence(state)
        await self.restore_volume()
        self.finish(how)

    async def _cancel(self) -> None:
        """Let the music go on. Where it was on its way to silence, it comes back."""
        if self.session.phase is Phase.FALLING:
            with contextlib.suppress(Unavailable):
                await self.restore_volume()
        self.finish("cancelled; the music goes on")

    def _without_player(self) -> float:
        """Wait for the player. One that stays away is as silent as one that sleeps, but for its volume."""
        self.lost = self.now() if self.lost is None else self.lost
        self.volume = self.new_volume()
        if self.now() - self.lost >= _PATIENCE:
            self.finish("the player went away and did not come back")
        return POLL_INTERVAL

    async def _let_go(self) -> Result:
        """End what is too old; the volume is restored where nothing grows louder by that."""
        state = await self.player.state()
        before = self.session.before
        if before is not None and (state.play is not Play.PLAYING or before < (state.volume or 0)):
            await self.restore_volume()
        self.finish("cut off too long ago; the music is left alone")
        return self._result()

    def _left(self) -> float:
        """Return how many seconds there are until the time has come."""
        if self.session.until:
            return schedule.seconds_until(datetime.fromisoformat(self.session.until), self.context.local_time())
        return self.session.seconds - self.age()

    def _late(self) -> float:
        """Return for how many seconds it should be over."""
        if self.session.phase is Phase.WAITING:
            return -self._left()
        return 0.0 if self.session.phase is Phase.FINISHING else self.age() - self.session.seconds

    def _result(self) -> Result:
        return Result(self.how, {"finish": self.options.finish, "volume": self.session.before})
