"""An announcement: the music steps back, something is said or played, and everything is as it was."""

from contextlib import ExitStack
from dataclasses import replace

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms import session as _music_session
from pi_appliance.music.alarms import sounds
from pi_appliance.music.alarms.options import Options
from pi_appliance.music.alarms.playback import Fade
from pi_appliance.music.alarms.session import MAX_AGE, POLL_INTERVAL, MusicSession, Phase, Place, Session, with_retries
from pi_appliance.music.alarms.sounds import SoundServer
from pi_appliance.music.context import MusicContext
from pi_appliance.music.model import Capability, Mode, Play, PlayerState, QueuePosition, Uri
from pi_appliance.storage.model import Result

_DUCK = 1.0  # seconds that the music takes to step back, and to come again
_STEP = 0.25  # seconds between two steps of that
_LOOK = 0.25  # seconds between two looks whether it is said
_BEGINS = 12.0  # seconds within which it must begin
_LONGEST = 120.0  # seconds; what is longer is no announcement
_PATIENCE = 30.0  # seconds that a player which went away is waited for, to restore what was


async def announce(options: Options, context: MusicContext, session: Session | None) -> Result:
    """Announce, or restore what was before the announcement that SESSION is.

    Raises Refused where the player or this machine cannot; Unavailable where the player is not reached.
    """
    if options.say is None and options.sound is None:
        raise Refused('nothing is to be announced; say it: pi-appliance music announce "dinner is ready"')
    player = context.player()
    with ExitStack() as stack:
        try:
            now = context.timestamp()
            new = Session(phase=Phase.SPEAKING, since=now, began=now)
            announcement = _Announcement(options, context, player, session or new)
            return await (announcement.restored() if session else announcement.made(stack))
        finally:
            await player.close()


class _Announcement(MusicSession):
    async def made(self, stack: ExitStack) -> Result:
        if Capability.REMOVE not in await self.player.abilities():
            raise Refused("this player cannot take an announcement out of its queue again, so the queue would be lost")
        wav = None if self.options.say is None else await sounds.synthesize(self.options.say)
        uris = [self.options.sound or ""]
        if wav is not None:
            served = stack.enter_context(SoundServer(wav, "announcement"))
            uris = [served.at(host) for host in served.hosts]
        state = await self._turn_has_come()
        self.keep(before=state.volume, modes=_music_session.modes_of(state), place=_place_of(state))
        bare, self.player = self.player, with_retries(self.player, self.context.sleep, self.now)
        self.volume = self.new_volume()
        try:
            how = await self._heard(state, uris)
        finally:
            self.player = bare
            self.volume = self.new_volume()
            await self._restore()
        return Result(how)

    async def _turn_has_come(self) -> PlayerState:
        """Wait until no other announcement is made, and return what the player does then."""
        began = self.now()
        while (state := await self.look()) is None and self.now() - began < _LONGEST + _PATIENCE:
            self.context.progress(None, "waiting for another announcement")
            await self.context.sleep(POLL_INTERVAL)
        return state or await self.player.state()

    async def restored(self) -> Result:
        """Put back what an earlier run left: nobody wants to hear now what was to be heard then."""
        if self.age() > MAX_AGE:
            self.finish("cut off too long ago; the player is left alone")
            return Result(self.how)
        await self._restore()
        return Result("an announcement was cut off; everything is as it was before it")

    async def _heard(self, state: PlayerState, uris: list[str]) -> str:
        """Let one of URIS be heard, each another way to the same sound. Raises Refused if none was."""
        if state.play is Play.PLAYING:
            await self._go(Fade(start=state.volume or 0, end=0, seconds=_DUCK))
            await self.player.pause()
            self._remember_place(await self.player.state())
        assert self.session.modes is not None
        await self.set_modes(replace(self.session.modes, repeat=False, single=Mode.ON, consume=Mode.OFF))
        loud = self.session.before if self.options.volume is None else self.options.volume
        if loud is not None:
            await self.volume.set(loud)
        why = ""
        for uri in uris:
            why = await self._played(uri)
            if not why:
                return "announced"
            await self.player.remove(await self._ours())
        raise Refused(f"the announcement was not heard ({why}); everything is as it was before it")

    def _remember_place(self, state: PlayerState) -> None:
        """Keep to which second the music goes back: it stands still now."""
        place = self.session.place
        if place is not None and state.track is not None and state.track.id == place.id:
            self.keep(place=replace(place, elapsed=state.elapsed))

    async def _played(self, uri: str) -> str:
        """Play URI from the end of the queue to its end, and return why not, '' if it was heard."""
        self.keep(uri=uri, added=None)
        added = await self.player.add(Uri(uri=uri, title="Announcement"), QueuePosition.END)
        track = (await self.player.queue(added.position, 1)).tracks[0]
        if added.count != 1 or track.id is None:
            raise Refused(f"{added.name} is {added.count} tracks; announce one of them")
        self.keep(added=track.id)
        self.context.progress(None, "announcing")
        await self.player.play_id(track.id)
        began, heard = self.now(), False
        while True:
            await self.context.sleep(_LOOK)
            state, took = await self.player.state(), self.now() - began
            here = state.track is not None and state.track.id == track.id
            if here and state.play is Play.PLAYING:
                heard = heard or bool(state.elapsed)
                if took < (_LONGEST if heard else _BEGINS) and self.context.next_signal() != "stop":
                    continue
            if heard or not state.error:
                # One so short that it was over between two looks was heard, too.
                return "" if heard or not here or state.play is Play.STOPPED else "it did not begin"
            return state.error

    async def _go(self, fade: Fade) -> None:
        """Turn the volume, in steps too small to be heard one by one."""
        began = self.now()
        while (age := self.now() - began) < fade.seconds:
            await self.volume.set(fade.at(age))
            await self.context.sleep(_STEP)
        await self.volume.set(fade.end)

    # Back to what was

    async def _restore(self) -> None:
        """Put everything back, however often the player goes away meanwhile. Raises Unavailable if it stays away."""
        lost = None
        while not self.over:
            try:
                await self._put_back()
                self.finish("restored")
            except Unavailable:
                lost = self.now() if lost is None else lost
                self.volume = self.new_volume()
                if self.now() - lost >= _PATIENCE:
                    raise
                await self.context.sleep(POLL_INTERVAL)

    async def _put_back(self) -> None:
        """May be repeated, from any point of the announcement."""
        session, place, state = self.session, self.session.place, await self.player.state()
        if place is None:  # it had not begun
            return
        ours = await self._ours()
        plays = state.track.id if state.track is not None and state.play is Play.PLAYING else None
        # Somebody has chosen something else meanwhile, or it had not come to silence yet.
        goes_on = plays is not None and plays not in ours
        if not goes_on:
            await self.volume.set(0)
            if state.play is not Play.STOPPED:  # MPD pauses at the end of a track that is not the last
                await self.player.stop()
        # While nothing plays: else MPD would read the announcement again already, as the track that comes next.
        await self.player.remove(ours)
        if session.modes is not None:
            await self.set_modes(session.modes)
        if not goes_on:
            await self._go_back_to(place)
        if session.before is not None:
            start = state.volume or 0 if goes_on else 0
            plays_now = goes_on or place.play == Play.PLAYING
            await self._go(Fade(start=start, end=session.before, seconds=_DUCK if plays_now else 0))

    async def _ours(self) -> list[int]:
        """Return the ids of the announcement in the queue; after a restart of the player they are new ones."""
        session, place = self.session, self.session.place
        if place is None or not session.uri:
            return []
        behind = (await self.player.queue(place.length, 100)).tracks
        found = {each.id for each in behind if each.uri == session.uri and each.id is not None}
        if session.added is not None:
            found.add(session.added)
        return sorted(found)

    async def _go_back_to(self, place: Place) -> None:
        """Have the player where it was: the track, the second in it, playing or not."""
        number = await self._number(place)
        if number is None:
            await self.player.stop()
            return
        at = place.elapsed if place.file and place.elapsed else 0.0
        await self.player.play(number, at=at)
        if place.play == Play.STOPPED:
            await self.player.stop()
            return
        if place.play == Play.PAUSED:
            await self.player.pause()

    async def _number(self, place: Place) -> int | None:
        """Return at which position the track of PLACE is now: where it was, if nobody has moved it."""
        if place.position is None:
            return None
        start = max(0, place.position - 50)
        near = (await self.player.queue(start, 100)).tracks
        same = [each.position for each in near if each.id == place.id and each.uri == place.uri]
        same += [each.position for each in near if each.position == place.position and each.uri == place.uri]
        return next((each for each in same if each is not None), None)


def _place_of(state: PlayerState) -> Place:
    track = state.track
    return Place(
        play=state.play,
        id=track.id if track else None,
        position=track.position if track else None,
        uri=track.uri if track else "",
        elapsed=state.elapsed,
        file=track is not None and track.duration is not None,
        length=state.queue_length,
    )
