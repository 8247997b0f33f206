"""A session that goes on: its player, its volume, the clock, and what is kept so that another run can finish it."""

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
_SPEECH = 300.0  # seconds after which an announcement is none any more, whatever became of it
TICK = 1.0  # seconds between two looks, and so between two steps of the volume


class Sitting:
    """What an alarm, a sleep and a turn of the volume have in common."""

    def __init__(self, options: Options, context: Context, player: Player, session: Session) -> None:
        self.options, self.context, self.player, self.session = options, context, player, session
        self.volume = self.new_volume()
        self._spoke = False
        self.how = ""  # how it ends, once that is known
        self.over = False

    def new_volume(self) -> Volume:
        """Return the volume as one of which nothing is known yet."""
        return Volume(self.player, self.context.loudest)

    def now(self) -> float:
        """Return the steady clock's seconds."""
        return self.context.moment().steady

    async def look(self) -> PlayerState | None:
        """Return what the player does; None while an announcement is made: what it does then is not our music's."""
        before, state, now = self._spoke or self._speaks(), await self.player.state(), self._speaks()
        self._spoke = now
        return None if before or now else state

    def _speaks(self) -> bool:
        others = self.context.others()
        return bool(others) and Phase.SPEAKING in _music_session.phases(others, self.context.moment(), _SPEECH)

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
        with contextlib.suppress(Refused):  # it has no such mode
            await self.player.set_modes(single=modes.single)
        with contextlib.suppress(Refused):
            await self.player.set_modes(consume=modes.consume)


def words(seconds: float) -> str:
    """Return a length of time as people say it."""
    if seconds >= 90:
        return f"{round(seconds / 60)} min"
    return durations.render(timedelta(seconds=max(0, round(seconds))))
