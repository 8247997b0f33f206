"""An alarm: it rises from a whisper, and does not rest until something really sounds."""

import contextlib
from contextlib import ExitStack

from pi_appliance.core.fades import Fade
from pi_appliance.core.hearing import Heard, Hearing
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.jobs._music_options import Options
from pi_appliance.jobs._music_session import Phase, Session
from pi_appliance.jobs._music_sitting import LATE, TICK, words
from pi_appliance.jobs._music_sounding import PATIENCE, Sounding
from pi_appliance.model.music import Play
from pi_appliance.model.run import Result
from pi_appliance.ports import MAKE_ROOM, Context

_LONGEST_CHIME = 1800.0  # seconds that the bundled sound goes on
_HUSH = 3.0  # seconds that the music takes to go where it is asked to snooze
_FALL = 30.0  # seconds that it takes at most where the alarm ends by itself


async def ring(options: Options, context: Context, session: Session | None) -> Result:
    """Ring, or go on with SESSION. Raises Unavailable where nothing could be made to sound."""
    now, fade = context.moment(), options.fading.total_seconds()
    new = Session(phase=Phase.RINGING, since=now, began=now, start=options.from_, seconds=fade)
    player = context.player()
    with ExitStack() as stack:
        try:
            alarm = _Alarm(options, context, player, session or new, cut=session is not None, stack=stack)
            return await alarm.run()
        finally:
            await player.close()


class _Alarm(Sounding):
    word = ""  # what a person asks of it, until it is done

    async def run(self) -> Result:
        if self.cut and self.age() > self._lasts() + LATE:
            return await self._let_go()
        self.keep()
        while True:
            self.word = self.context.asked() or self.word
            try:
                await self._step()
                self.lost = None
            except Unavailable as error:
                await self._without_player(error)
            if self.over:
                return self._result()
            await self.context.rest(TICK)

    async def _step(self) -> None:
        snoozing = self.session.phase is Phase.SNOOZING
        if self.how:
            await self._end(self.how, stops=self.stops)
        elif self.word == MAKE_ROOM:
            await self._make_room(touched=not (snoozing or self.cut or self.session.modes is None))
        elif self.word == "stop":
            if snoozing:
                self.finish("stopped while it snoozed")
            else:
                await self._end("stopped when asked to")
        elif snoozing:
            self._snooze()
        elif self.session.phase is Phase.FALLING:
            await self._fall()
        elif self.word == "snooze":
            await self._begin_to_fall(_HUSH, snoozes=True)
        else:
            await self._ring()
        self.word = ""

    async def _make_room(self, *, touched: bool) -> None:
        """Let another alarm ring; if the player is TOUCHED by this one, as if nobody had rung before."""
        if touched:
            await self._end("another alarm rings now")
        else:
            self.finish("another alarm rings now")

    async def _ring(self) -> None:
        state = await self.look()
        if state is None:
            self.hearing = None  # it is begun anew, at what it has come to
            return
        if self.lost_its_queue(state):
            self.hearing, self.volume = None, self.new_volume()
        hearing = self.hearing or await self.set_up(state)
        if hearing is None:
            return
        if state.play is Play.PLAYING and not self.session.hand and not self.volume.is_ours(state):
            self.keep(hand=True, before=state.volume)
        match hearing.look(self.now(), state):
            case Heard.PAUSED:
                await self._end("paused by hand", stops=False)
            case Heard.STOPPED:
                await self._end("stopped by hand", stops=False)
            case Heard.SILENCE:
                self.give_up_source(state.error or "no sound")
            case Heard.THE_END:
                await self._play_again()
            case heard:
                await self._rise(heard)

    async def _play_again(self) -> None:
        """Begin the album or the list anew: it was shorter than the alarm."""
        try:
            await self.player.play(0)
            self.hearing = Hearing(self.now())
        except Refused as error:
            self.give_up_source(str(error))

    async def _rise(self, heard: Heard) -> None:
        """Set the volume of this second, and see whether it is over."""
        if heard is Heard.SOUND and not self.session.sounded:
            self.keep(sounded=True, since=self.context.moment())
        self.mind_what_is_allowed()
        session, for_, rung = self.session, self.options.for_, self._rung()
        level = self.level()
        if not session.hand:
            await self.volume.set(level)
            self.reached = level
        name = self.tunes.label(session.source)
        risen = session.hand or (session.sounded and self.age() >= session.seconds)
        self.context.progress(None, name if risen else f"{name} at volume {level}")
        if for_ is not None and rung >= for_.total_seconds():
            await self._begin_to_fall(min(self.options.fading.total_seconds(), _FALL), snoozes=False)
        elif self.bundled:
            if rung >= self._longest_chime():
                await self._end(f"nobody stopped it for {words(rung)}")
        elif for_ is None and risen and heard is Heard.SOUND:
            self.finish("a hand took the volume; the music goes on" if session.hand else "the music goes on")

    async def _begin_to_fall(self, seconds: float, *, snoozes: bool) -> None:
        start = (await self.player.state()).volume or 0
        self.begin(Phase.FALLING, seconds, start=start, snoozes=snoozes)
        self.volume.adopt(0, start)

    async def _fall(self) -> None:
        session, state = self.session, await self.look()
        if state is None:
            return
        if state.play is Play.PLAYING and self.age() < session.seconds:
            if self.volume.was_raised(state):
                self.finish("made louder by hand, so the music goes on")
                return
            level = Fade(start=session.start, end=0, seconds=session.seconds).at(self.age())
            await self.volume.set(level if state.volume is None else min(level, state.volume))
        elif session.snoozes:
            await self.silence(state)
            await self.restore()
            self.begin(Phase.SNOOZING, self.options.snooze.total_seconds(), before=None, modes=None)
        else:
            await self._end("it has rung for its time")

    def _snooze(self) -> None:
        if self.word == "snooze":
            self.keep(since=self.context.moment())
        left = self.session.seconds - self.age()
        self.context.progress(None, f"snoozing for {words(left)}")
        if left <= 0:
            self.hearing, self.fresh, self.cut = None, True, False
            self.volume = self.new_volume()
            new = {"began": self.context.moment(), "start": self.options.from_, "sounded": False, "hand": False}
            self.begin(Phase.RINGING, self.options.fading.total_seconds(), snoozes=False, **new)

    async def _without_player(self, error: Unavailable) -> None:
        """Wait for the player, and where it stays away, sound without it. Raises Unavailable where that fails."""
        self.lost = self.now() if self.lost is None else self.lost
        self.hearing, self.volume = None, self.new_volume()
        self.context.progress(None, str(error))
        if self.how:  # there is nothing left to do but to restore the volume
            if self.now() - self.lost >= PATIENCE:
                self.finish(self.how)
        elif self.session.phase is Phase.SNOOZING or self.now() - self.lost < PATIENCE:
            return
        elif self.session.phase is Phase.FALLING:  # a player that stays away is as silent as was wanted
            if self.session.snoozes:
                self.begin(Phase.SNOOZING, self.options.snooze.total_seconds())
            else:
                self.finish("it has rung for its time")
        elif self.word == "snooze":
            self.begin(Phase.SNOOZING, self.options.snooze.total_seconds())
        elif self._rung() >= self._longest_chime():
            self.finish(f"nobody stopped it for {words(self._rung())}")
        else:
            await self.sound_alone(error)

    async def _end(self, how: str, *, stops: bool = True) -> None:
        """Stop it, unless a hand did, and restore the volume. May be repeated."""
        self.how, self.stops = how, stops
        if stops:
            with contextlib.suppress(Refused):
                await self.player.stop()
        await self.restore()
        self.finish(how)

    async def _let_go(self) -> Result:
        """End what is too old to wake anybody; the volume is restored where nothing grows louder by that."""
        state = await self.player.state()
        before = self.session.before
        if before is not None and (state.play is not Play.PLAYING or before < (state.volume or 0)):
            await self.restore()
        self.finish("cut off too long ago to ring still")
        return self._result()

    def _result(self) -> Result:
        session = self.session
        name = self.tunes.label(session.source)
        tried = f" ({'; '.join(self.failed)})" if self.failed else ""
        facts: dict[str, str | int | bool] = {
            "source": name,
            "sounded": session.sounded,
            "by-hand": session.hand,
            "tried": len(self.failed),
        }
        return Result(f"{name}: {self.how}{tried}", facts)

    def _rung(self) -> float:
        """Return for how many seconds it rings, whatever plays."""
        return self.context.moment().seconds_since(self.session.began)

    def _longest_chime(self) -> float:
        return max(_LONGEST_CHIME, self.session.seconds)

    def _lasts(self) -> float:
        """Return how many seconds the phase is to last."""
        for_ = self.options.for_
        return max(self.session.seconds, for_.total_seconds() if for_ and self.session.phase is Phase.RINGING else 0.0)
