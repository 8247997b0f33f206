"""The part of an alarm that makes something sound: a source, the next, the bundled sound, this machine by itself."""

import contextlib
from contextlib import ExitStack
from dataclasses import replace

from pi_appliance.core.fades import Fade
from pi_appliance.core.hearing import Hearing
from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.jobs import _music_aloud, _music_session
from pi_appliance.jobs._music_options import Options
from pi_appliance.jobs._music_session import Session
from pi_appliance.jobs._music_sitting import Sitting
from pi_appliance.jobs._music_tunes import Tunes
from pi_appliance.model.music import Mode, Play, PlayerState, Where
from pi_appliance.ports import Context
from pi_appliance.ports_player import Player

PATIENCE = 30.0  # seconds without a player after which the sound is made without it
_NO_JUMP = 3  # how much louder it may become at once
_GENTLE = 60.0  # seconds that it rises at least, where it had fallen silent


class Sounding(Sitting):
    """Something that is to sound, whatever fails."""

    def __init__(
        self, options: Options, context: Context, player: Player, session: Session, *, cut: bool, stack: ExitStack
    ) -> None:
        """CUT: the session was begun by another run. STACK is closed when nothing need be served any more."""
        super().__init__(options, context, player, session)
        self.tunes = Tunes(options.play or (), context, stack)
        self.hearing: Hearing | None = None  # None: nothing was started yet, or it must be seen to anew
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

    async def set_up(self, state: PlayerState) -> Hearing | None:
        """See to it that something plays, at the volume of this second. None: it was started just now, or ended."""
        if self._plays_on(state):
            self.hearing = Hearing(self.now())
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
            await self.player.add(source, Where.INSTEAD, play=True)
        except Unavailable:
            raise
        except Uncertain:
            pass  # perhaps it plays: that is heard soon
        except ApplianceError as error:
            self.give_up_source(str(error))
            return
        self.fresh, self.hearing = False, Hearing(self.now())

    def lost_its_queue(self, state: PlayerState) -> bool:
        """Say whether the player was started anew since the last look, so quickly that nobody missed it."""
        before, self._version = self._version, state.queue_version
        return state.play is Play.STOPPED and state.queue_length == 0 and state.queue_version < before

    def _plays_on(self, state: PlayerState) -> bool:
        """Say whether our music plays though we were away; if so, its volume is ours, unless a hand was on it."""
        if self.fresh or self.bundled or state.play is not Play.PLAYING:
            return False
        if self.cut:
            if self.context.moment().boot != self.session.since.boot:
                return False  # the player found its way back by itself, as loud as it was once
            self.volume.adopt(min(self.session.start, self.level()), self.level())
            self.cut = False
        self._catch_up(state)
        return True

    def _catch_up(self, state: PlayerState) -> None:
        """Let it rise from where it is: while we were away, it did not."""
        session, level = self.session, self.level()
        shown = level if state.volume is None else state.volume
        if not session.hand and session.start <= shown < min(level, self.context.loudest()) - _NO_JUMP:
            self._begin_gently(shown)

    def mind_what_is_allowed(self) -> None:
        """Where more is allowed than at the last look, let it rise to that as slowly as to anything."""
        allowed = self.context.loudest()
        if not self.session.hand and self._allowed < min(allowed, self.level() - _NO_JUMP):
            self._begin_gently(self._allowed)
        self._allowed = allowed

    def _left_by_hand(self, state: PlayerState) -> bool:
        """Say whether somebody ended it while we were away. After a power cut nothing plays, by nobody's hand."""
        same = self.context.moment().boot == self.session.since.boot
        silent = state.play is not Play.PLAYING and state.track is not None and not state.error
        return same and silent and self.session.sounded

    def _begin_gently(self, start: int) -> None:
        """Let it rise from the volume START, where the house is silent or not louder; faster, if the time is over."""
        seconds = max(self.session.seconds - self.age(), min(_GENTLE, self.options.fading.total_seconds()))
        self.keep(since=self.context.moment(), seconds=seconds, start=start)

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
            await _music_aloud.play_once(self.level())
        except Unavailable as nothing:
            raise Unavailable(f"nothing sounds: {error}; and {nothing}") from None

    async def restore(self) -> None:
        """Put the volume and the modes back to what they were."""
        await self.restore_volume()
        if self.session.modes is not None and self.bundled:
            await self.set_modes(self.session.modes)
