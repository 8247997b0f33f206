"""The operations on the queue, the library, the playlists and USB drives."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pi_appliance.music.operations import COUNT, ID, MAX_COUNT, MAX_POSITION, NUMBER, START, words
from pi_appliance.operations import Argument, Group, Operation, array, boolean, choice, integer, text
from pi_appliance.roles import Role

_API = "pi_appliance.music.api_library"
_TEXT = "pi_appliance.music.text"
_LONG_BODY = 128 * 1024  # bytes: room for 5000 positions
_SPAN = r"[1-9][0-9]{0,6}(-([1-9][0-9]{0,6})?)?"
_COMPLETE = "pi_appliance.music.cli:complete_station"
_FORMS = "a station, playlist:NAME, album:NAME, artist:NAME, genre:NAME, search:WORDS, an address, a file or a folder"


def _parse_span(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(_SPAN, value):
        raise ValueError
    first, _, last = value.partition("-")
    if last and int(last) < int(first):
        raise ValueError
    return value


_SPANS = Argument(
    name="numbers",
    help="the tracks, counted from 1, such as 3, 3-5 or 3-",
    expected="a number of the queue: 3, 3-5 or 3-",
    parse=_parse_span,
    schema={"type": "string", "pattern": "^[1-9][0-9]{0,6}-?$"},
    positional=True,
)
_TO = integer("to", "the new position, counted from 0", 0, MAX_POSITION)
_TO_NUMBER = integer("to_number", "the new number, counted from 1", 1, MAX_POSITION, positional=True)
_ONE_TARGET = Group(("to_number", "to"))
_FOLDER = text(
    "folder", "a folder of the library; default: all of it", 2000, default="", example="Albums", positional=True
)
_ARTIST, _ALBUM, _GENRE = (text(name, f"only this {name}", may_be_empty=False) for name in ("artist", "album", "genre"))
_SEARCH = text("search", "words that may be in any tags", may_be_empty=False)
_TAGS = (_ARTIST, _ALBUM, _GENRE, _SEARCH)
_SOURCE = (
    replace(
        array(text("source", _FORMS, may_be_empty=False, example="artist:Miles Davis", positional=True), 200),
        complete=_COMPLETE,
    ),
    text("uri", "a file, a folder or a stream", 2000, may_be_empty=False),
    text("title", "the display name of the stream in `uri`"),
    text("playlist", "a saved playlist", may_be_empty=False),
    *_TAGS,
)
_ONE_SOURCE = Group(
    ("source", "uri", "playlist", "artist", "album", "genre", "search"),
    exclusive=False,
    message=f"nothing is named to play; write {_FORMS}",
)
_SOURCE_HELP = (
    f"Each SOURCE is {_FORMS}. The options --artist, --album, --genre and --search together name one more source."
)


_QUEUE: Sequence[Operation] = (
    Operation(
        command="music queue",
        method="GET",
        path="/player/queue",
        role=Role.GUEST,
        summary="List the queue.",
        handler=f"{_API}:list_queue",
        arguments=(START, COUNT),
        show=f"{_TEXT}:queue",
    ),
    Operation(
        command="music add",
        path="/player/queue/add",
        role=Role.GUEST,
        summary="Add sources to the queue.",
        details=_SOURCE_HELP,
        handler=f"{_API}:add_to_queue",
        arguments=(
            *_SOURCE,
            choice(
                "where",
                "end, next (after the current track), or replace (in place of the queue)",
                ("end", "next", "replace"),
                default="end",
                role=Role.CONTROL,
            ),
            boolean("play", "whether the first one is played at once", default=False, role=Role.CONTROL),
        ),
        groups=(_ONE_SOURCE,),
        show=f"{_TEXT}:added",
        answer=f"{_TEXT}:added_answer",
        example={"source": ["artist:Miles Davis"], "where": "next"},
    ),
    Operation(
        command="music play-now",
        path="/player/play-now",
        role=Role.CONTROL,
        summary="Play sources in place of the queue.",
        details=_SOURCE_HELP,
        handler=f"{_API}:play_now",
        arguments=_SOURCE,
        groups=(_ONE_SOURCE,),
        show=f"{_TEXT}:playing",
        answer=f"{_TEXT}:playing_answer",
        example={"album": "Kind of Blue"},
    ),
    Operation(
        command="music move",
        path="/player/queue/move",
        role=Role.CONTROL,
        summary="Move a track of the queue.",
        handler=f"{_API}:move_track",
        arguments=(NUMBER, _TO_NUMBER, ID, _TO),
        groups=(Group(("number", "id")), _ONE_TARGET),
        show=f"{_TEXT}:moved",
        example={"id": 2, "to": 0},
    ),
    Operation(
        command="music remove",
        path="/player/queue/remove",
        role=Role.CONTROL,
        summary="Remove tracks from the queue.",
        details="Write 3, or 3-5 for several, or 3- for all from the third on.",
        handler=f"{_API}:remove_tracks",
        arguments=(
            array(_SPANS, 200),
            array(integer("ids", "the tracks by their ids; unknown ones are ignored", 0, 2**31), MAX_COUNT),
        ),
        groups=(Group(("numbers", "ids")),),
        max_body=_LONG_BODY,
        show=f"{_TEXT}:removed",
        answer=f"{_TEXT}:removed",
        example={"ids": [2]},
    ),
    Operation(
        command="music prioritize",
        path="/player/queue/prioritize",
        role=Role.CONTROL,
        summary="Play tracks of the queue before the others while random is on.",
        handler=f"{_API}:prioritize_tracks",
        arguments=(
            array(replace(_SPANS, required=True), 200),
            integer("priority", "0 to 255; a higher one is played first, and 0 is the usual one", 0, 255, default=10),
        ),
        show=f"{_TEXT}:player_line",
        example={"numbers": ["1"]},
    ),
    Operation(
        command="music clear",
        path="/player/queue/clear",
        role=Role.CONTROL,
        summary="Empty the queue.",
        handler=f"{_API}:clear_queue",
        answer="the queue is empty",
        show=f"{_TEXT}:player_line",
    ),
    Operation(
        command="music shuffle",
        path="/player/queue/shuffle",
        role=Role.CONTROL,
        summary="Put the queue into a random order.",
        details="`random` leaves the order as it is and only plays it randomly.",
        handler=f"{_API}:shuffle_queue",
        answer="shuffled the queue",
        show=f"{_TEXT}:player_line",
    ),
    Operation(
        command="music save",
        path="/player/queue/save",
        role=Role.CONTROL,
        summary="Save the queue as a playlist.",
        handler=f"{_API}:save_queue",
        arguments=(
            text("name", "the name of the playlist", 200, required=True, positional=True),
            boolean("replace", "whether a playlist of that name may be replaced", default=False),
        ),
        done="saved {playlist}, {tracks} tracks",
        example={"name": "Evening", "replace": True},
    ),
)


def _list_operation(name: str, summary: str, *arguments: Argument, **more: Any) -> Operation:
    settings = {
        "handler": f"{_API}:{name}",
        "show": f"{_TEXT}:{name}",
        "path": f"/player/{name}",
        "role": Role.GUEST,
        **more,
    }
    return Operation(
        command=f"music {name}", method="GET", summary=summary, arguments=(*arguments, START, COUNT), **settings
    )


_LIBRARY: Sequence[Operation] = (
    _list_operation("browse", "List a folder of the library.", _FOLDER, show=f"{_TEXT}:entries"),
    _list_operation("artists", "List the artists of the library, or of an album or genre.", *_TAGS),
    _list_operation("albums", "List the albums of the library, or of an artist or genre.", *_TAGS),
    _list_operation("genres", "List the genres of the library, or of an artist or album.", *_TAGS),
    _list_operation("tracks", "List the tracks of the library, or of an artist, album or genre.", *_TAGS),
    _list_operation(
        "search",
        "List the tracks whose tags have all the words, in upper or lower case.",
        words("words", "words that may be in any tags", required=True, positional=True, example="blue"),
        _ARTIST,
        _ALBUM,
        _GENRE,
        show=f"{_TEXT}:tracks",
    ),
    _list_operation("favourites", "List the favourite tracks with their ratings."),
    Operation(
        command="music stats",
        method="GET",
        path="/player/stats",
        role=Role.GUEST,
        summary="Show the size of the library, or of a folder of it.",
        handler=f"{_API}:stats",
        arguments=(_FOLDER,),
        show=f"{_TEXT}:stats",
    ),
    Operation(
        method="GET",
        path="/player/update",
        role=Role.GUEST,
        summary="Return whether the library is being updated, and how many tracks it has so far.",
        handler=f"{_API}:update_progress",
        arguments=(_FOLDER,),
    ),
    Operation(
        path="/player/update",
        role=Role.CONTROL,
        summary="Start a scan of the library for new, changed and deleted files.",
        handler=f"{_API}:update",
        arguments=(_FOLDER,),
        status=202,
        example={"folder": "Albums"},
    ),
    Operation(
        method="GET",
        path="/player/picture",
        role=Role.GUEST,
        summary="Return the picture of a track as it is in its file or folder, as base64.",
        handler=f"{_API}:picture",
        arguments=(text("track", "as for `like`", 2000, example="a.ogg"),),
    ),
)

_NAME = text("name", "the name of the playlist", 200, required=True, positional=True)


def _playlist_operation(command: str, path: str, summary: str, *arguments: Argument, **more: Any) -> Operation:
    settings = {
        "handler": f"{_API}:{command}_playlist",
        "role": Role.CONTROL,
        **more,
    }
    return Operation(
        command=f"music playlists {command}",
        path=f"/player/playlists/{{name}}{path}",
        summary=summary,
        arguments=(_NAME, *arguments),
        **settings,
    )


_PLAYLISTS: Sequence[Operation] = (
    Operation(
        command="music playlists list",
        method="GET",
        path="/player/playlists",
        role=Role.GUEST,
        summary="List the saved playlists.",
        handler=f"{_API}:list_playlists",
        arguments=(START, COUNT),
        show=f"{_TEXT}:playlists",
    ),
    _playlist_operation(
        "show",
        "",
        "List the entries of a playlist.",
        START,
        COUNT,
        role=Role.GUEST,
        method="GET",
        show=f"{_TEXT}:playlist",
        example={"name": "Evening"},
    ),
    _playlist_operation(
        "play",
        "/play",
        "Play a playlist in place of the queue, or add it to the queue.",
        choice("where", "replace, next or end", ("end", "next", "replace"), default="replace"),
        show=f"{_TEXT}:playlist_played",
        example={"name": "Evening"},
    ),
    _playlist_operation(
        "add",
        "/add",
        "Append sources to a playlist, which is created if it does not exist.",
        *_SOURCE,
        groups=(_ONE_SOURCE,),
        handler=f"{_API}:add_to_playlist",
        show=f"{_TEXT}:playlist_extended",
        details=_SOURCE_HELP,
        example={"name": "Evening", "uri": "a.ogg"},
    ),
    _playlist_operation(
        "remove",
        "/remove",
        "Remove entries from a playlist.",
        array(integer("numbers", "the entries, counted from 1", 1, MAX_POSITION, positional=True), MAX_COUNT),
        array(integer("positions", "the entries by their positions, counted from 0", 0, MAX_POSITION), MAX_COUNT),
        groups=(Group(("numbers", "positions")),),
        handler=f"{_API}:remove_from_playlist",
        show=f"{_TEXT}:playlist_reduced",
        max_body=_LONG_BODY,
        example={"name": "Evening", "positions": [1]},
    ),
    _playlist_operation(
        "move",
        "/move",
        "Move an entry of a playlist.",
        integer("number", "the entry, counted from 1", 1, MAX_POSITION, positional=True),
        _TO_NUMBER,
        integer("position", "the entry by its position, counted from 0", 0, MAX_POSITION),
        _TO,
        groups=(Group(("number", "position")), _ONE_TARGET),
        handler=f"{_API}:move_in_playlist",
        show=f"{_TEXT}:entry_moved",
        example={"name": "Evening", "position": 1, "to": 0},
    ),
    _playlist_operation(
        "rename",
        "/rename",
        "Rename a playlist.",
        text("to", "its new name", 200, required=True, positional=True),
        done="{name} is now {playlist}",
        example={"name": "Evening", "to": "Night"},
    ),
    _playlist_operation(
        "delete",
        "",
        "Delete a playlist. The tracks stay in the library.",
        method="DELETE",
        done="deleted {playlist}",
        example={"name": "Evening"},
    ),
)

_USB_DRIVES: Sequence[Operation] = (
    Operation(
        command="music usb list",
        method="GET",
        path="/usb",
        role=Role.CONTROL,
        summary="List the USB drives: mounted or not, their size, and how many tracks the player knows.",
        handler=f"{_API}:list_drives",
        show=f"{_TEXT}:usb_drives",
    ),
    Operation(
        command="music usb eject",
        path="/usb/{name}/eject",
        role=Role.CONTROL,
        summary="Eject a USB drive, so that it can be unplugged.",
        details="Playback from the drive stops. Its tracks stay in the library.",
        handler=f"{_API}:eject_drive",
        arguments=(text("name", "the name of the drive", 200, required=True, positional=True),),
        done="{name} can be unplugged",
        example={"name": "MUSIC"},
    ),
)

OPERATIONS: Sequence[Operation] = (*_QUEUE, *_LIBRARY, *_PLAYLISTS, *_USB_DRIVES)
