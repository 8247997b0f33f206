"""The volume, set at its time: at once, or within a while."""

from pi_appliance.core.fades import Fade
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.jobs import _music_patience as patience
from pi_appliance.jobs._music_options import Options
from pi_appliance.jobs._music_session import Phase, Session
from pi_appliance.jobs._music_sitting import LATE, TICK, Sitting
from pi_appliance.model.run import Result
from pi_appliance.ports import MAKE_ROOM, Context

_PATIENCE = 300.0  # seconds without a player after which its volume is of no use


async def turn(options: Options, context: Context, session: Session | None) -> Result:
    """Turn the volume, or go on with SESSION. Raises Unavailable without a player, Refused without a mixer."""
    player = context.player()
    try:
        if session is None:
            state = await player.state()
            if state.volume is None:
                raise Refused("the player has no volume that could be set; see its mixer")
            now, seconds = context.moment(), options.fading.total_seconds()
            session = Session(phase=Phase.TURNING, since=now, began=now, seconds=seconds, start=state.volume)
            return await _Turn(options, context, player, session).run(cut=False)
        return await _Turn(options, context, player, session).run(cut=True)
    finally:
        await player.close()


class _Turn(Sitting):
    async def run(self, *, cut: bool) -> Result:
        end = self.options.loudness
        if cut and self.age() > self.session.seconds + LATE:
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
                    self.context.hold(None)
                    raise
            if not self.over:
                await self.context.rest(min(TICK, max(fade.seconds - self.age(), 0.1)))
        return Result(self.how, {"volume": end})

    async def _step(self, fade: Fade) -> None:
        state, age = await self.look(), self.age()
        if state is None:
            return
        if self.context.asked() in ("stop", MAKE_ROOM):
            self.finish(f"stopped at volume {state.volume} when asked to")
        elif not self.volume.is_ours(state):
            self.finish(f"a hand took the volume, at {state.volume}")
        else:
            await self.volume.set(fade.at(age))
            if age >= fade.seconds:
                shown = (await self.player.state()).volume
                self.finish(f"volume {shown}" + (f", not {fade.end}: no more is allowed" if shown != fade.end else ""))
