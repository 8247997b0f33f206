"""Job kind `music`: alarm, sleep timer, stop, volume change and announcement."""

from datetime import timedelta

from pi_appliance.music.alarms import active
from pi_appliance.music.alarms.options import Action, Options, PlayOut
from pi_appliance.music.context import MusicContext
from pi_appliance.storage.model import Result

__all__ = ["RESUMABLE", "TIMEOUT", "Action", "Context", "Options", "PlayOut", "is_preemptible", "preempts", "run"]

TIMEOUT = timedelta(hours=25)
"""Long, because a sleep timer may be set a day ahead."""
RESUMABLE = True
"""A run may leave a checkpoint for a later run."""

Context = MusicContext
preempts = active.is_alarm


def is_preemptible(checkpoint: str) -> bool:
    """Return whether the session of `checkpoint` must end before an alarm can ring."""
    return active.phase_of(checkpoint) in active.BLOCKS_ALARM


def run(options: Options, context: MusicContext) -> Result:
    """Do the action of `options`, or resume the session of the checkpoint.

    Raises:
        Unavailable: The player cannot be reached.
        Refused: The player rejects it, or something is missing.

    """
    import asyncio  # noqa: PLC0415  # loading a configuration loads this module

    return asyncio.run(_run(options, context))


async def _run(options: Options, context: MusicContext) -> Result:
    from pi_appliance.music.alarms import alarm, announce, session, sleep  # noqa: PLC0415  # they load asyncio

    actions = {
        Action.ALARM: alarm.ring,
        Action.SLEEP: sleep.sleep,
        Action.STOP: sleep.sleep,
        Action.VOLUME: sleep.change_volume,
        Action.ANNOUNCE: announce.announce,
    }
    checkpoint: session.Checkpoint | None = None
    if context.resume_only:
        text = context.load_checkpoint()
        if text is None:
            return Result("there was no session to resume")
        loaded = session.load(text)
        if loaded is None:
            context.clear_checkpoint()
            return Result("the checkpoint of another release was deleted")
        options, checkpoint = loaded
    return await actions[options.action](options, context, checkpoint)
