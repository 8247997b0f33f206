"""Job kind 'music': an alarm, a sleep timer, a volume at its time, a stop, an announcement."""

import asyncio
from datetime import timedelta

from pi_appliance.jobs._music_options import Do, Finish, Options
from pi_appliance.model.run import Result
from pi_appliance.ports import Context

__all__ = ["DEADLINE", "LEAVES", "Do", "Finish", "Options", "run"]

DEADLINE = timedelta(hours=25)
"""A sleep timer may be set a day before; it is no run that hangs."""
LEAVES = True
"""A run may leave something for a later one to finish."""


def run(options: Options, context: Context) -> Result:
    """Do what is asked with the music, or go on with what another run was in the middle of.

    Raises Unavailable where the player is not reached, Refused where it will not, or something is missing.
    """
    from pi_appliance.jobs import _music_all  # noqa: PLC0415 - only a run needs what plays, speaks and serves

    return asyncio.run(_music_all.do(options, context))
