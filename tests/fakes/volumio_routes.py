"""The commands and REST routes of the fake Volumio."""
# ruff: noqa: ARG005 - every line of a table takes the same arguments

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from tests.fakes.volumio_box import Box

NOT_JSON = {"error": "Request type must be application/json"}


def _truth(query: Mapping[str, str]) -> bool | None:
    return {"true": True, "false": False}.get(query.get("value", ""))


def _play(box: Box, query: Mapping[str, str]) -> None:
    box.play(int(query["N"]) if "N" in query else None)


def _nothing(box: Box, query: Mapping[str, str]) -> None:
    """Ignore commands for AirPlay and USB sound cards."""


COMMANDS: Mapping[str, Callable[[Box, Mapping[str, str]], None]] = {
    "play": _play,
    "pause": lambda box, query: box.pause(),
    "toggle": lambda box, query: box.toggle(),
    "stop": lambda box, query: box.stop(),
    "prev": lambda box, query: box.previous(),
    "next": lambda box, query: box.next(),
    "clearQueue": lambda box, query: box.clear(),
    "volume": lambda box, query: box.set_volume(query["volume"]),
    "seek": lambda box, query: box.seek_to(query["position"]),
    "repeat": lambda box, query: box.set_repeat(_truth(query)),
    "random": lambda box, query: box.set_random(_truth(query)),
    "playplaylist": lambda box, query: box.play_playlist(query.get("name")),
    **dict.fromkeys(("startAirplayPlayback", "stopAirplayPlayback", "airplayActive", "airplayInactive"), _nothing),
    **dict.fromkeys(("usbAudioAttach", "usbAudioDetach"), _nothing),
}


def _post_of(act: Callable[[Box, Any], object]) -> Callable[[Box, Any], Any]:
    def posted(box: Box, data: Any) -> Any:
        if data is None:
            return NOT_JSON
        try:
            act(box, data)
        except LookupError:
            return {"error": {}}  # an Error object has nothing to show in JSON
        return {"response": "success"}

    return posted


def _or(call: Callable[[Box, Any], Any]) -> Callable[[Box, Any], Any]:
    def answered(box: Box, query: Any) -> Any:
        try:
            return call(box, query)
        except LookupError:
            return {"error": "No Result"}

    return answered


def _search(box: Box, query: Mapping[str, str]) -> Any:
    words = unquote(query.get("query", ""))
    return box.library.search(words) if words else {"error": "No search query provided"}


def _stats(box: Box, query: Any) -> Any:
    songs = box.library.songs
    seconds = sum(song.seconds for song in songs)
    return {
        "artists": len({song.artist for song in songs}),
        "albums": len({song.album for song in songs}),
        "songs": len(songs),
        "playtime": f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}",
    }


def _zone(box: Box) -> dict[str, Any]:
    state = box.state()
    shown = {key: state[key] for key in ("status", "volume", "mute", "artist", "albumart")}
    return {
        "id": "0f9e",
        "host": "http://127.0.0.1",
        "name": "Volumio",
        "type": "device",
        "state": {**shown, "track": state["title"]},
    }


def _listen(box: Box, data: Any) -> Any:
    url = (data or {}).get("url")
    if not url:
        return {"error": "Missing URL parameter"}
    if url in box.urls:
        return {"error": "URL already present"}
    box.urls.append(url)
    return {"success": True}


def _listen_no_more(box: Box, data: Any) -> Any:
    url = (data or {}).get("url")
    if not url:
        return {"error": "Missing URL parameter"}
    if url not in box.urls:
        return {"error": "No such URL is present"}
    box.urls.remove(url)
    return {"success": True}


_VERSION = {"systemversion": "3.703", "builddate": "Tue May 14 2024", "variant": "volumio", "hardware": "pi"}
_NO_PLUGIN = {"success": False, "error": "No valid Plugin REST Endpoint"}
ROUTES: Mapping[tuple[str, str], Callable[[Box, Any], Any]] = {
    ("GET", "getState"): lambda box, query: box.state(),
    ("GET", "getQueue"): lambda box, query: {"queue": box.queue},
    ("POST", "addToQueue"): _post_of(Box.add),
    ("POST", "addPlay"): _post_of(Box.add_play),
    ("POST", "replaceAndPlay"): _post_of(Box.replace_and_play),
    ("GET", "browse"): _or(lambda box, query: box.browse(query.get("uri") or "/")),
    ("GET", "search"): _search,
    ("GET", "superSearch"): _search,
    ("GET", "listplaylists"): lambda box, query: list(box.library.playlists),
    ("GET", "collectionstats"): _stats,
    ("GET", "getzones"): lambda box, query: {"zones": [{**_zone(box), "isSelf": True}]},
    ("GET", "getSystemVersion"): lambda box, query: _VERSION,
    ("GET", "getSystemInfo"): lambda box, query: {**_zone(box), "serviceName": "Volumio", **_VERSION, "hwUuid": "5"},
    ("GET", "getInstalledPlugins"): lambda box, query: [],
    ("GET", "pluginEndpoint"): lambda box, query: _NO_PLUGIN,
    ("POST", "pluginEndpoint"): lambda box, query: _NO_PLUGIN,
    ("GET", "pushNotificationUrls"): lambda box, query: list(box.urls),
    ("POST", "pushNotificationUrls"): _listen,
    ("DELETE", "pushNotificationUrls"): _listen_no_more,
    ("GET", "host"): lambda box, query: {"host": "http://127.0.0.1"},
}
