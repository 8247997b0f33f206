"""An alarm: it rises from a whisper, and does not rest until something really sounds."""

import contextlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from pi_appliance.errors import ApplianceError, ConfigError, Refused, Unavailable, Uncertain
from pi_appliance.music import sources
from pi_appliance.music.alarms import chime, sounds
from pi_appliance.music.alarms import session as _music_session
from pi_appliance.music.alarms.options import Options
from pi_appliance.music.alarms.playback import Fade, PlaybackMonitor, PlaybackStatus
from pi_appliance.music.alarms.session import MAX_AGE, POLL_INTERVAL, MusicSession, Phase, Session, words
from pi_appliance.music.alarms.sounds import SoundServer
from pi_appliance.music.context import MusicContext
from pi_appliance.music.model import Mode, Play, PlayerState, QueuePosition, Source, Uri
from pi_appliance.music.player import Player
from pi_appliance.storage.model import PREEMPT, Result

BUNDLED = "the bundled sound"


class SourceList:
    """The sources by number. Those beyond the owner's are the bundled sound, once by each way it reaches the player."""

    def __init__(self, names: Sequence[str], context: MusicContext, stack: ExitStack) -> None:
        """Serve the bundled sound, where it comes to that, until STACK is closed."""
        self._names, self._context, self._stack = names, context, stack
        self._served: SoundServer | None = None
        self._hosts: Sequence[str] = ("127.0.0.1",)

    def is_bundled(self, number: int) -> bool:
        """Say whether NUMBER is no source of the owner."""
        return number >= len(self._names)

    def there_is(self, number: int) -> bool:
        """Say whether there is a source NUMBER."""
        return number < len(self._names) + len(self._hosts)

    def label(self, number: int) -> str:
        """Return what to call the source NUMBER."""
        return BUNDLED if self.is_bundled(number) else self._names[number]

    def source(self, number: int) -> Source:
        """Return the source NUMBER. Raises UnknownName, ConfigError or Refused if it is none."""
        if not self.is_bundled(number):
            try:
                stations = self._context.stations()
            except ConfigError:
                # A slip in that file must not silence what needs no station.
                if not self._names[number].startswith(("http://", "https://", "playlist:", "album:")):
                    raise
                stations = ()
            return self._context.resolve_stream(sources.parse(self._names[number], stations))
        if self._served is None:
            self._served = self._stack.enter_context(SoundServer(chime.wav(chime.chime()), "chime"))
            self._hosts = self._served.hosts
        host = self._hosts[min(number - len(self._names), len(self._hosts) - 1)]
        try:
            return Uri(uri=self._served.at(host), title="Alarm")
        except OSError as error:
            raise Refused(f"the bundled sound cannot be served at {host}: {error.strerror}") from None


PATIENCE = 30.0  # seconds without a player after which the sound is made without it
_NO_JUMP = 3  # how much louder it may become at once
_GENTLE = 60.0  # seconds that it rises at least, where it had fallen silent


class AlarmPlayback(MusicSession):
    """Something that is to sound, whatever fails."""

    def __init__(
        self, options: Options, context: MusicContext, player: Player, session: Session, *, cut: bool, stack: ExitStack
    ) -> None:
        """CUT: the session was begun by another run. STACK is closed when nothing need be served any more."""
        super().__init__(options, context, player, session)
        self.tunes = SourceList(options.play or (), context, stack)
        self.hearing: PlaybackMonitor | None = None  # None: nothing was started yet, or it must be seen to anew
        self.fresh = not cut  # whether whatever plays has nothing to do with us
        self.cut = cut
        self.lost: float | None = None  # since when there is no player that sounds
        self.failed: list[str] = []
        self.reached: int | None = None  # the volume that was set last
        self._version = 0  # of the queue, at the last look
        self._allowed = 100  # how loud it might be at the last look
        self.stops = True  # whether its end stops the music; a hand may have done so

    @property
    def bundled(self) -> bool:
        """Whether it is not the owner's music."""
        return self.tunes.is_bundled(self.session.source)

    def level(self) -> int:
        """Return how loud it is to be at this second; where a hand has the volume, not louder than that."""
        session, end = self.session, self.options.loudness
        if session.hand and session.before is not None:
            return min(session.before, end)
        if not session.sounded:  # nobody hears it yet: it does not rise
            return session.start
        return Fade(start=session.start, end=end, seconds=session.seconds).at(self.age())

    async def set_up(self, state: PlayerState) -> PlaybackMonitor | None:
        """See to it that something plays, at the volume of this second. None: it was started just now, or ended."""
        if self._plays_on(state):
            self.hearing = PlaybackMonitor(self.now())
            return self.hearing
        if self.cut and self._left_by_hand(state):
            self.how, self.stops = "stopped by hand", False
            return None
        if self.cut and self.session.sounded:
            self._begin_gently(self.options.from_)
        elif self.reached is not None and not self.session.hand and self.level() > self.reached + _NO_JUMP:
            self._begin_gently(self.reached)  # the player was away for a while
        self.cut = False
        if state.muted:
            state = await self._unmuted(state)
        if self.session.before is None:
            self.keep(before=state.volume, modes=_music_session.modes_of(state))
        # Before anything plays: afterwards would be too late. What we set last counts no more: a player that was
        # started anew has a volume of its own.
        self.volume = self.new_volume()
        await self.volume.set(self.level())
        await self._start()
        return None

    async def _start(self) -> None:
        try:
            source = self.tunes.source(self.session.source)
            if self.bundled and self.session.modes is not None:
                await self.set_modes(replace(self.session.modes, repeat=True, single=Mode.OFF, consume=Mode.OFF))
            await self.player.add(source, QueuePosition.INSTEAD, play=True)
        except Unavailable:
            raise
        except Uncertain:
            pass  # perhaps it plays: that is heard soon
        except ApplianceError as error:
            self.give_up_source(str(error))
            return
        self.fresh, self.hearing = False, PlaybackMonitor(self.now())

    def lost_its_queue(self, state: PlayerState) -> bool:
        """Say whether the player was started anew since the last look, so quickly that nobody missed it."""
        before, self._version = self._version, state.queue_version
        return state.play is Play.STOPPED and state.queue_length == 0 and state.queue_version < before

    def _plays_on(self, state: PlayerState) -> bool:
        """Say whether our music plays though we were away; if so, its volume is ours, unless a hand was on it."""
        if self.fresh or self.bundled or state.play is not Play.PLAYING:
            return False
        if self.cut:
            if self.context.timestamp().boot != self.session.since.boot:
                return False  # the player found its way back by itself, as loud as it was once
            self.volume.adopt(min(self.session.start, self.level()), self.level())
            self.cut = False
        self._catch_up(state)
        return True

    def _catch_up(self, state: PlayerState) -> None:
        """Let it rise from where it is: while we were away, it did not."""
        session, level = self.session, self.level()
        shown = level if state.volume is None else state.volume
        if not session.hand and session.start <= shown < min(level, self.context.max_volume()) - _NO_JUMP:
            self._begin_gently(shown)

    def mind_what_is_allowed(self) -> None:
        """Where more is allowed than at the last look, let it rise to that as slowly as to anything."""
        allowed = self.context.max_volume()
        if not self.session.hand and self._allowed < min(allowed, self.level() - _NO_JUMP):
            self._begin_gently(self._allowed)
        self._allowed = allowed

    def _left_by_hand(self, state: PlayerState) -> bool:
        """Say whether somebody ended it while we were away. After a power cut nothing plays, by nobody's hand."""
        same = self.context.timestamp().boot == self.session.since.boot
        silent = state.play is not Play.PLAYING and state.track is not None and not state.error
        return same and silent and self.session.sounded

    def _begin_gently(self, start: int) -> None:
        """Let it rise from the volume START, where the house is silent or not louder; faster, if the time is over."""
        seconds = max(self.session.seconds - self.age(), min(_GENTLE, self.options.fading.total_seconds()))
        self.keep(since=self.context.timestamp(), seconds=seconds, start=start)

    async def _unmuted(self, state: PlayerState) -> PlayerState:
        """Let it be heard, and return how it is then. Whatever plays is stopped first: it would be loud at once."""
        if state.play is Play.PLAYING:
            await self.player.stop()
        with contextlib.suppress(Refused):
            await self.player.set_mute(False)
        return await self.player.state()

    def give_up_source(self, why: str) -> None:
        """Go on with the next source. Raises Unavailable where there is none."""
        session = self.session
        self.failed.append(f"{self.tunes.label(session.source)}: {why}")
        self.hearing, self.fresh = None, True
        if not self.tunes.there_is(session.source + 1):
            # The machine sounds by itself now, and the player is tried again behind each chime.
            self.lost = self.now() - PATIENCE
            raise Unavailable(self.failed[-1])
        self.keep(source=session.source + 1)

    async def sound_alone(self, error: Unavailable) -> None:
        """Play the bundled sound once, without the player. Raises Unavailable where that is not possible either."""
        try:
            await sounds.play_once(self.level())
        except Unavailable as nothing:
            raise Unavailable(f"nothing sounds: {error}; and {nothing}") from None

    async def restore(self) -> None:
        """Put the volume and the modes back to what they were."""
        await self.restore_volume()
        if self.session.modes is not None and self.bundled:
            await self.set_modes(self.session.modes)


_LONGEST_CHIME = 1800.0  # seconds that the bundled sound goes on
_SNOOZE_FADE = 3.0  # seconds that the music takes to go where it is asked to snooze
_END_FADE = 30.0  # seconds that it takes at most where the alarm ends by itself


async def ring(options: Options, context: MusicContext, session: Session | None) -> Result:
    """Ring, or go on with SESSION. Raises Unavailable where nothing could be made to sound."""
    now, fade = context.timestamp(), options.fading.total_seconds()
    new = Session(phase=Phase.RINGING, since=now, began=now, start=options.from_, seconds=fade)
    player = context.player()
    with ExitStack() as stack:
        try:
            alarm = _Alarm(options, context, player, session or new, cut=session is not None, stack=stack)
            return await alarm.run()
        finally:
            await player.close()


class _Alarm(AlarmPlayback):
    word = ""  # what a person asks of it, until it is done

    async def run(self) -> Result:
        if self.cut and self.age() > self._lasts() + MAX_AGE:
            return await self._let_go()
        self.keep()
        while True:
            self.word = self.context.next_signal() or self.word
            try:
                await self._step()
                self.lost = None
            except Unavailable as error:
                await self._without_player(error)
            if self.over:
                return self._result()
            await self.context.sleep(POLL_INTERVAL)

    async def _step(self) -> None:
        snoozing = self.session.phase is Phase.SNOOZING
        if self.how:
            await self._end(self.how, stops=self.stops)
        elif self.word == PREEMPT:
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
            await self._begin_to_fall(_SNOOZE_FADE, snoozes=True)
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
            case PlaybackStatus.PAUSED:
                await self._end("paused by hand", stops=False)
            case PlaybackStatus.STOPPED:
                await self._end("stopped by hand", stops=False)
            case PlaybackStatus.SILENCE:
                self.give_up_source(state.error or "no sound")
            case PlaybackStatus.THE_END:
                await self._play_again()
            case heard:
                await self._rise(heard)

    async def _play_again(self) -> None:
        """Begin the album or the list anew: it was shorter than the alarm."""
        try:
            await self.player.play(0)
            self.hearing = PlaybackMonitor(self.now())
        except Refused as error:
            self.give_up_source(str(error))

    async def _rise(self, heard: PlaybackStatus) -> None:
        """Set the volume of this second, and see whether it is over."""
        if heard is PlaybackStatus.SOUND and not self.session.sounded:
            self.keep(sounded=True, since=self.context.timestamp())
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
            await self._begin_to_fall(min(self.options.fading.total_seconds(), _END_FADE), snoozes=False)
        elif self.bundled:
            if rung >= self._longest_chime():
                await self._end(f"nobody stopped it for {words(rung)}")
        elif for_ is None and risen and heard is PlaybackStatus.SOUND:
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
            self.keep(since=self.context.timestamp())
        left = self.session.seconds - self.age()
        self.context.progress(None, f"snoozing for {words(left)}")
        if left <= 0:
            self.hearing, self.fresh, self.cut = None, True, False
            self.volume = self.new_volume()
            new = {"began": self.context.timestamp(), "start": self.options.from_, "sounded": False, "hand": False}
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
        return self.context.timestamp().seconds_since(self.session.began)

    def _longest_chime(self) -> float:
        return max(_LONGEST_CHIME, self.session.seconds)

    def _lasts(self) -> float:
        """Return how many seconds the phase is to last."""
        for_ = self.options.for_
        return max(self.session.seconds, for_.total_seconds() if for_ and self.session.phase is Phase.RINGING else 0.0)
