"""What plays, and lists of music, as people read it on a terminal."""

from pi_appliance.music.model import (
    Entry,
    EntryType,
    Mode,
    PlaybackState,
    PlayerState,
    ReplayGainMode,
    Track,
    TrackRating,
)

_WORDS = {PlaybackState.PLAYING: "playing", PlaybackState.PAUSED: "paused", PlaybackState.STOPPED: "stopped"}


def line(state: PlayerState) -> str:
    """Return STATE in one line."""
    parts = [_WORDS[state.playback]]
    if (track := state.track) is not None:
        parts[0] += f": {called(track)}"
        parts.append(f"{(track.position or 0) + 1} of {state.queue_length}")
        if state.elapsed is not None:
            parts.append(f"{format_time(state.elapsed)}{f'/{format_time(track.duration)}' if track.duration else ''}")
    else:
        parts.append(f"{state.queue_length} in the queue" if state.queue_length else "the queue is empty")
    if state.volume is not None:
        parts.append(f"volume {state.volume}%")
    return ", ".join([*parts, *_settings(state)]) + (f"; {plain(state.error)}" if state.error else "")


def details(state: PlayerState, opinion: TrackRating) -> list[tuple[str, str]]:
    """Return what else there is to know of STATE, and OPINION of its track: pairs of a word and what it is."""
    track = state.track
    album = ", ".join(part for part in (track.album, track.album_artist, track.date) if part) if track else ""
    sound = ", ".join(part for part in (state.audio_format, f"{state.bitrate} kbit/s" if state.bitrate else "") if part)
    found = [
        ("album", album),
        ("genre", track.genre if track else ""),
        ("file", track.uri if track else ""),
        ("sound", sound),
        ("rating", f"{opinion.rating} of 10" if opinion.rating else ""),
        ("favourite", "yes" if opinion.favourite else ""),
        ("partition", state.partition if state.partition != "default" else ""),
        ("library", "is being updated" if state.updating is not None else ""),
    ]
    return [(name, plain(text)) for name, text in found if text]


def _settings(state: PlayerState) -> list[str]:
    modes = {"single": state.single, "consume": state.consume}
    return [
        *(word for word in ("muted", "repeat", "random") if getattr(state, word)),
        *(name if mode is Mode.ON else f"{name} once" for name, mode in modes.items() if mode is not Mode.OFF),
        *([f"crossfade {state.crossfade} s"] if state.crossfade else []),
        *([f"gain by {state.replay_gain}"] if state.replay_gain is not ReplayGainMode.OFF else []),
    ]


def called(track: Track) -> str:
    """Return the artist, where there is one, and the name of TRACK."""
    return plain(f"{track.artist} - {track.label}" if track.artist else track.label)


def track_row(track: Track) -> tuple[str, ...]:
    """Return TRACK as a row of a table: TITLE, ARTIST, ALBUM, TIME, FILE."""
    cells = (track.label, track.artist, track.album, format_time(track.duration), track.uri)
    return tuple(plain(cell) for cell in cells)


def entry_row(entry: Entry) -> tuple[str, ...]:
    """Return ENTRY of a folder or playlist as a row of a table: KIND, NAME, ARTIST, TIME, FILE."""
    track = entry.track
    name = track.label if track else entry.name
    artist = track.artist if track else entry.artist
    end = "/" if entry.kind is EntryType.FOLDER and not entry.uri.endswith("/") else ""
    address = track.uri if track else f"{entry.uri}{end}"
    return (str(entry.kind), plain(name), plain(artist), format_time(track.duration if track else None), plain(address))


def format_time(seconds: float | None) -> str:
    """Return SECONDS as 3:05 or 1:02:03; a dash where nobody knows."""
    if seconds is None:
        return "-"
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def plain(text: str) -> str:
    """Return TEXT with a space for what would move the cursor: what a station calls a song comes from far away."""
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)
