"""A session that goes on: its player, its volume, the clock, and what of it is kept so that another run can finish it."""

import contextlib
from dataclasses import replace
from datetime import timedelta

from pi_appliance.core import durations
from pi_appliance.errors import Refused
from pi_appliance.jobs import _music_session
from pi_appliance.jobs._music_options import Options
from pi_appliance.jobs._music_session import Modes, Phase, Session
from pi_appliance.jobs._music_volume import Volume
from pi_appliance.model.music import Play, PlayerState
from pi_appliance.ports import Context
from pi_appliance.ports_player import Player

LATE = 3600.0  # seconds after which what was cut off is not gone on with
TICK = 1.0  # seconds between two looks, and so between two steps of the volume


class Sitting:
    """What an alarm, a sleep and a turn of the volume have in common."""

    def __init__(self, options: Options, context: Context, player: Player, session: Session) -> None:
        self.options, self.context, self.player, self.session = options, context, player, session
        self.volume = Volume(player)
        self.how = ""  # how it ends, once that is known
        self.over = False

    def now(self) -> float:
        """Return the steady clock's seconds."""
        return self.context.moment().steady

    def age(self) -> float:
        """Return for how many seconds the phase goes on."""
        return self.context.moment().seconds_since(self.session.since)

    def keep(self, **changes: object) -> None:
        """Change the session, durably."""
        self.session = replace(self.session, **changes)  # type: ignore[arg-type] # each name is a field
        self.context.hold(_music_session.dump(self.options, self.session))

    def begin(self, phase: Phase, seconds: float, **changes: object) -> None:
        """Begin PHASE, which takes so many SECONDS."""
        self.keep(phase=phase, since=self.context.moment(), seconds=seconds, **changes)

    def finish(self, how: str) -> None:
        """Be through with it: HOW is told to people."""
        self.how, self.over = how, True
        self.context.hold(None)

    async def silence(self, state: PlayerState) -> None:
        """Pause, so that it can go on; stop a stream, which would only fall behind."""
        if state.play is Play.PLAYING and state.track is not None and state.track.duration is not None:
            await self.player.pause()
        elif state.play is not Play.STOPPED:
            await self.player.stop()

    async def restore_volume(self) -> None:
        """Put the volume back to what it was."""
        if self.session.before is not None:
            await self.volume.set(self.session.before)

    async def set_modes(self, modes: Modes) -> None:
        """Have the queue played so; as far as this player can."""
        await self.player.set_modes(repeat=modes.repeat, random=modes.random)
        for part in ({"single": modes.single}, {"consume": modes.consume}):
            with contextlib.suppress(Refused):  # it has no such mode
                await self.player.set_modes(**part)


def words(seconds: float) -> str:
    """Return a length of time as people say it."""
    if seconds >= 90:
        return f"{round(seconds / 60)} min"
    return durations.render(timedelta(seconds=max(0, round(seconds))))
