"""Announcement session: fade the music out, play a text or sound, and restore everything."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms import sounds
from pi_appliance.music.alarms.fade import Fade
from pi_appliance.music.alarms.music_job import MusicContext, Options
from pi_appliance.music.alarms.music_session import (
    MAX_AGE,
    POLL_INTERVAL,
    Checkpoint,
    MusicSession,
    Phase,
    PlaybackPosition,
    modes_of,
    with_retries,
)
from pi_appliance.music.alarms.sounds import SoundServer
from pi_appliance.music.model import Capability, Mode, PlaybackState, PlayerState, QueuePosition, Uri
from pi_appliance.music.player import Player
from pi_appliance.storage.model import Result

CHIME = "chime"
"""The source that stands for a part of the built-in sound of alarms."""
_CHIME_SECONDS = 7.2
_FADE_TIME = 1.0  # seconds of the fade before the announcement, and of the one after it
_FADE_STEP = 0.25  # seconds between two steps of the fade
_POLL_INTERVAL = 0.25  # seconds between two reads of the player's state
_START_TIMEOUT = 12.0  # seconds in which the announcement must start to play
_MAX_LENGTH = 120.0  # seconds after which the announcement is ended
_PLAYER_TIMEOUT = 30.0  # seconds to wait for a lost player before restoring is given up


async def announce(options: Options, context: MusicContext, player: Player, checkpoint: Checkpoint | None) -> Result:
    """Announce, or restore the state from before the announcement of `checkpoint`.

    Raises:
        Refused: The player or this machine cannot announce it.
        Unavailable: The player cannot be reached.
    """
    now = context.timestamp()
    new = Checkpoint(phase=Phase.ANNOUNCING, phase_started=now, session_started=now)
    session = AnnouncementSession(options, context, player, checkpoint or new)
    with ExitStack() as stack:
        return await (session.resume() if checkpoint else session.run(stack))


class AnnouncementSession(MusicSession):
    """A session that announces a text or a sound."""

    async def run(self, stack: ExitStack) -> Result:
        """Announce, then restore the player. Closing `stack` ends the server of the spoken text."""
        if Capability.REMOVE not in await self.player.capabilities():
            raise Refused("this player cannot remove tracks from its queue, so an announcement would destroy the queue")
        wav = None if self.options.text is None else await sounds.synthesize(self.options.text)
        if self.options.source == CHIME:
            wav = await asyncio.to_thread(lambda: sounds.wav_file(sounds.chime(seconds=_CHIME_SECONDS)))
        uris = [self.options.source or ""]
        if wav is not None:
            server = stack.enter_context(SoundServer(wav, "announcement"))
            uris = [server.serve_at(host) for host in server.hosts]
        state = await self._wait_for_other_announcement()
        self.save(previous_volume=state.volume, modes=modes_of(state), player_position=_position_of(state))
        plain_player, self.player = self.player, with_retries(self.player, self.context.sleep, self.now)
        self.volume = self.new_volume()
        try:
            await self._announce_first(state, uris)
        finally:
            self.player = plain_player
            self.volume = self.new_volume()
            await self._restore_all()
        return Result("announced")

    async def resume(self) -> Result:
        """Restore the state from before an interrupted announcement, without repeating it."""
        if self.phase_age() > MAX_AGE:
            self.finish("interrupted too long ago; the player stays as it is")
            return Result(self.end_reason)
        await self._restore_all()
        return Result("an interrupted announcement was undone; the music is as before")

    async def _wait_for_other_announcement(self) -> PlayerState:
        started = self.now()
        while (state := await self.poll_player()) is None and self.now() - started < _MAX_LENGTH + _PLAYER_TIMEOUT:
            self.context.progress(None, "waiting for another announcement")
            await self.context.sleep(POLL_INTERVAL)
        return state or await self.player.state()

    async def _announce_first(self, state: PlayerState, uris: list[str]) -> None:
        """Play the first of `uris` that works. All of them lead to the same sound.

        Raises:
            Refused: None was heard.
        """
        if state.playback is PlaybackState.PLAYING:
            await self._fade(Fade(start=state.volume or 0, end=0, seconds=_FADE_TIME))
            await self.player.pause()
            self._save_elapsed(await self.player.state())
        assert self.checkpoint.modes is not None
        await self.set_modes(replace(self.checkpoint.modes, repeat=False, single=Mode.ON, consume=Mode.OFF))
        volume = self.checkpoint.previous_volume if self.options.volume is None else self.options.volume
        if volume is not None:
            await self.volume.set(volume)
        reason = ""
        for uri in uris:
            reason = await self._play(uri)
            if not reason:
                return
            await self.player.remove_tracks(await self._queue_ids())
        raise Refused(f"the announcement was not heard ({reason}); the music is as before")

    def _save_elapsed(self, state: PlayerState) -> None:
        position = self.checkpoint.player_position
        if position is not None and state.track is not None and state.track.id == position.id:
            self.save(player_position=replace(position, elapsed=state.elapsed))

    async def _play(self, uri: str) -> str:
        """Play `uri` from the end of the queue; return '', or why it was not heard."""
        self.save(uri=uri, queue_id=None)
        added = await self.player.add_source(Uri(uri=uri, title="Announcement"), QueuePosition.END)
        track = (await self.player.list_queue(added.position, 1)).tracks[0]
        if added.count != 1 or track.id is None:
            raise Refused(f"{added.name} has {added.count} tracks; announce one of them")
        self.save(queue_id=track.id)
        self.context.progress(None, "announcing")
        await self.player.play_id(track.id)
        started, heard = self.now(), False
        while True:
            await self.context.sleep(_POLL_INTERVAL)
            state, elapsed = await self.player.state(), self.now() - started
            is_current = state.track is not None and state.track.id == track.id
            if is_current and state.playback is PlaybackState.PLAYING:
                heard = heard or bool(state.elapsed)
                if elapsed < (_MAX_LENGTH if heard else _START_TIMEOUT) and self.context.next_signal() != "stop":
                    continue
            if heard or not state.error:
                # A sound may be so short that it starts and ends between two polls.
                return "" if heard or not is_current or state.playback is PlaybackState.STOPPED else "it did not start"
            return state.error

    async def _fade(self, fade: Fade) -> None:
        started = self.now()
        while (elapsed := self.now() - started) < fade.seconds:
            await self.volume.set(fade.at(elapsed))
            await self.context.sleep(_FADE_STEP)
        await self.volume.set(fade.end)

    # Restoring

    async def _restore_all(self) -> None:
        """Restore everything. If the player goes away meanwhile, wait for it.

        Raises:
            Unavailable: The player did not come back.
        """
        lost_at = None
        while not self.finished:
            try:
                await self._try_restore()
                self.finish("restored")
            except Unavailable:
                lost_at = self.now() if lost_at is None else lost_at
                self.volume = self.new_volume()
                if self.now() - lost_at >= _PLAYER_TIMEOUT:
                    raise
                await self.context.sleep(POLL_INTERVAL)

    async def _try_restore(self) -> None:
        """Restore from any point of the announcement. Safe to repeat."""
        checkpoint, position, state = self.checkpoint, self.checkpoint.player_position, await self.player.state()
        if position is None:  # the announcement was interrupted before it changed anything
            return
        announcement_ids = await self._queue_ids()
        playing_id = state.track.id if state.track is not None and state.playback is PlaybackState.PLAYING else None
        # Other music plays if the user chose it meanwhile, or if the fade had not ended.
        other_music = playing_id is not None and playing_id not in announcement_ids
        if not other_music:
            await self.volume.set(0)
            # at the end of a track that is not the last one, MPD pauses
            if state.playback is not PlaybackState.STOPPED:
                await self.player.stop()
        # Removed while it does not play, or MPD would start it again as the next track.
        await self.player.remove_tracks(announcement_ids)
        if checkpoint.modes is not None:
            await self.set_modes(checkpoint.modes)
        if not other_music:
            await self._restore_position(position)
        if checkpoint.previous_volume is not None:
            start = state.volume or 0 if other_music else 0
            audible = other_music or position.play == PlaybackState.PLAYING
            await self._fade(Fade(start=start, end=checkpoint.previous_volume, seconds=_FADE_TIME if audible else 0))

    async def _queue_ids(self) -> list[int]:
        """Return the queue ids of the announcement; a restarted player gives it new ones."""
        checkpoint, position = self.checkpoint, self.checkpoint.player_position
        if position is None or not checkpoint.uri:
            return []
        added_tracks = (await self.player.list_queue(position.queue_length, 100)).tracks
        ids = {each.id for each in added_tracks if each.uri == checkpoint.uri and each.id is not None}
        if checkpoint.queue_id is not None:
            ids.add(checkpoint.queue_id)
        return sorted(ids)

    async def _restore_position(self, position: PlaybackPosition) -> None:
        number = await self._find_position(position)
        if number is None:
            await self.player.stop()
            return
        await self.player.play(number, at=position.elapsed if position.is_file and position.elapsed else 0.0)
        if position.play == PlaybackState.STOPPED:
            await self.player.stop()
        elif position.play == PlaybackState.PAUSED:
            await self.player.pause()

    async def _find_position(self, position: PlaybackPosition) -> int | None:
        """Return the current queue position of the track that played before."""
        if position.position is None:
            return None
        nearby = (await self.player.list_queue(max(0, position.position - 50), 100)).tracks
        matches = [each.position for each in nearby if each.id == position.id and each.uri == position.uri]
        matches += [each.position for each in nearby if each.position == position.position and each.uri == position.uri]
        return next((each for each in matches if each is not None), None)


def _position_of(state: PlayerState) -> PlaybackPosition:
    track = state.track
    return PlaybackPosition(
        play=state.playback,
        id=track.id if track else None,
        position=track.position if track else None,
        uri=track.uri if track else "",
        elapsed=state.elapsed,
        is_file=track is not None and track.duration is not None,
        queue_length=state.queue_length,
    )
