"""What a music job does, by its `do`; or what an earlier run was in the middle of."""

from pi_appliance.jobs import _music_alarm, _music_announce, _music_session, _music_sleep, _music_turn
from pi_appliance.jobs._music_options import Do, Options
from pi_appliance.jobs._music_session import Session
from pi_appliance.model.run import Result
from pi_appliance.ports import Context

_ALL = {
    Do.ALARM: _music_alarm.ring,
    Do.SLEEP: _music_sleep.sleep,
    Do.STOP: _music_sleep.sleep,
    Do.VOLUME: _music_turn.turn,
    Do.ANNOUNCE: _music_announce.announce,
}


async def do(options: Options, context: Context) -> Result:
    """Do it. Raises what `music.run` does."""
    session: Session | None = None
    if context.only_left:
        held = context.held()
        if held is None:
            return Result("nothing was left to finish")
        left = _music_session.load(held)
        if left is None:
            context.hold(None)
            return Result("what was left was written by another release, and is let go")
        options, session = left
    return await _ALL[options.do](options, context, session)
