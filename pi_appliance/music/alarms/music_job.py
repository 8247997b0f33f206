"""What a music job does, by its `do`; or what an earlier run was in the middle of."""

import asyncio
from datetime import timedelta

from pi_appliance.music.alarms import alarm, announce, playback, sleep
from pi_appliance.music.alarms import session as _music_session
from pi_appliance.music.alarms.options import Action, Finish, Options
from pi_appliance.music.alarms.session import Session
from pi_appliance.music.context import MusicContext
from pi_appliance.storage.model import Result

_ALL = {
    Action.ALARM: alarm.ring,
    Action.SLEEP: sleep.sleep,
    Action.STOP: sleep.sleep,
    Action.VOLUME: playback.change_volume,
    Action.ANNOUNCE: announce.announce,
}


async def do(options: Options, context: MusicContext) -> Result:
    """Do it. Raises what `music.run` does."""
    session: Session | None = None
    if context.resume_only:
        held = context.load_checkpoint()
        if held is None:
            return Result("nothing was left to finish")
        left = _music_session.load(held)
        if left is None:
            context.clear_checkpoint()
            return Result("what was left was written by another release, and is let go")
        options, session = left
    return await _ALL[options.do](options, context, session)


__all__ = ["DEADLINE", "LEAVES", "Action", "Context", "Finish", "Options", "run"]

DEADLINE = timedelta(hours=25)
"""A sleep timer may be set a day before; it is no run that hangs."""
Context = MusicContext
LEAVES = True
"""A run may leave something for a later one to finish."""


def run(options: Options, context: MusicContext) -> Result:
    """Do what is asked with the music, or go on with what another run was in the middle of.

    Raises Unavailable where the player is not reached, Refused where it will not, or something is missing.
    """
    return asyncio.run(do(options, context))
