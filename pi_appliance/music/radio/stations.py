"""Web radio stations: the ones in the owner's file, and custom ones in the state folder.

The owner's file is never written. If a station of this file is edited or removed, the custom file
overrides or hides it, and it can be restored. Names are unique; upper and lower case do not matter.
"""

import contextlib
import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pi_appliance.config import loader
from pi_appliance.config.binding import structure
from pi_appliance.config.options import Config
from pi_appliance.errors import ConfigError, Problem, Refused, Unavailable, UnknownName
from pi_appliance.music.model import Source, Station, Uri, extended
from pi_appliance.music.radio.streams import (
    AddressCheck,
    allow_all,
    is_playlist_url,
    resolve_stream,
    try_resolve_stream,
)
from pi_appliance.system import files
from pi_appliance.system.http import is_web_address

CUSTOM_FILE = "stations.json"
_MAX_CUSTOM = 2000  # stations
_MAX_TEXT = 200  # characters of each field except the address
_MAX_URL = 2000  # characters of the address
_LOCK_TIMEOUT = 5.0  # seconds to wait for another writer


def load_stations(path: Path | None) -> tuple[Station, ...]:
    """Read the owner's file of stations, in its order.

    Raises:
        ConfigError: With every problem of the file.
    """
    if path is None:
        return ()
    tree = loader.read_yaml(path)
    problems = list(tree.problems)
    if not isinstance(tree.data, list):
        raise ConfigError([*problems, tree.problem((), "this is not a list of stations", "begin each with - name: …")])
    stations: list[Station] = []
    for number, item in enumerate(tree.data):
        station, errors = structure(tree, (number,), item, Station, path.parent)
        problems += errors
        if station is None:
            continue
        if not station.url.startswith(("http://", "https://")):
            problems.append(
                tree.problem((number, "url"), f"{station.url!r} is not a web address", "begin it with http")
            )
        if station.name in (other.name for other in stations):
            problems.append(tree.problem((number, "name"), f"a second station {station.name!r}", "names are unique"))
        stations.append(station)
    if problems:
        raise ConfigError(problems)
    return tuple(stations)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStation(Station):
    """A station, and where it comes from."""

    custom: Annotated[bool, "added or edited by the user"]
    overrides: Annotated[str, "the name of the station in the owner's file that it replaces"] = ""

    @property
    def station(self) -> Station:
        """The station alone."""
        return Station(**{each.name: getattr(self, each.name) for each in fields(Station)})


@dataclass(slots=True)
class _CustomStations:
    """The content of the custom file. Its keys are names in lower case."""

    stations: dict[str, Station] = field(default_factory=dict)
    overrides: dict[str, str] = field(default_factory=dict)  # key: custom name; value: name in the owner's file
    hidden: set[str] = field(default_factory=set)  # names in the owner's file that are hidden
    playlist_urls: set[str] = field(default_factory=set)  # addresses of playlist files that have no typical suffix


class Stations:
    """The stations of the owner's `file`, and the custom ones in the folder `state`.

    `file` may be None. Each call reads a file again if it has changed.
    """

    def __init__(self, file: Path | None, state: Path) -> None:
        self._file, self._custom_file = file, state / CUSTOM_FILE
        self._file_cache: tuple[object, tuple[Station, ...]] = (None, ())
        self._custom_cache: tuple[object, _CustomStations] = (None, _CustomStations())

    def all(self) -> tuple[Station, ...]:
        """Return the stations, custom ones first. Raises `ConfigError` with every problem."""
        return tuple(view.station for view in self.views())

    def views(self) -> list[ListedStation]:
        """Return the stations with their origin, in the order of `all`."""
        owners, custom = _by_name(self._owners_stations()), self._custom()
        overrides = {name: target for name, target in custom.overrides.items() if target in owners}
        replacements = {target: name for name, target in overrides.items()}
        views = [
            extended(ListedStation, station, custom=True)
            for name, station in custom.stations.items()
            if name not in overrides
        ]
        for name, station in owners.items():
            if name in replacements:
                replacement = custom.stations[replacements[name]]
                views.append(extended(ListedStation, replacement, custom=True, overrides=station.name))
            elif name not in custom.hidden and name not in custom.stations:
                views.append(extended(ListedStation, station, custom=False))
        return views

    def removed(self) -> tuple[Station, ...]:
        """Return the stations of the owner's file that are hidden or overridden."""
        visible = {_fold(view.name) for view in self.views() if not view.custom}
        return tuple(each for name, each in _by_name(self._owners_stations()).items() if name not in visible)

    def get(self, name: str) -> Station:
        """Return the station `name`."""
        return self._view(name).station

    def find(self, text: str) -> Station:
        """Return the station called `text`, else the only one whose name contains it.

        Raises:
            UnknownName: There is none.
            Refused: Several names contain it.
        """
        query, names = text.casefold(), [each.name for each in self.all()]
        matches = [name for name in names if name.casefold() == query] or [
            name for name in names if query in name.casefold()
        ]
        if len(matches) > 1:
            raise Refused(f"{len(matches)} stations have {text!r} in their name: {', '.join(matches)}; say more of it")
        if not matches:
            raise UnknownName("station", text, names)
        return self.get(matches[0])

    def resolved(self, name: str, check_address: AddressCheck = allow_all) -> Station:
        """Return the station `name` with the address of its stream.

        It may wait for the network: call it in a thread. The station's own host was allowed when
        the station was added.
        """
        station = self.get(name)

        def check_other_hosts(url: str) -> None:
            if urlsplit(url).netloc != urlsplit(station.url).netloc:
                check_address(url)

        if is_playlist_url(station.url) or station.url in self._custom().playlist_urls:
            return replace(station, url=try_resolve_stream(station.url, check_other_hosts))
        return station

    def add(self, station: Station, *, check: bool = True, check_address: AddressCheck = allow_all) -> Station:
        """Add a custom station, and return it as it is stored.

        Args:
            check: Whether its address must answer. Call it in a thread then.
            check_address: Called for each address that it leads to.

        Raises:
            Refused: The name exists already, or the address does not answer or lead to a stream.
            Unavailable: The disk cannot be written.
        """
        station = _normalized(station)
        is_playlist = check and _is_playlist(station, check_address)
        with self._edit_custom() as custom:
            self._require_free(station.name)
            if len(custom.stations) >= _MAX_CUSTOM:
                raise Refused(f"there are {_MAX_CUSTOM} custom stations already; remove some first")
            custom.stations[_fold(station.name)] = station
            custom.playlist_urls |= {station.url} if is_playlist else set()
        return station

    def edit(
        self, name: str, station: Station, *, check: bool = True, check_address: AddressCheck = allow_all
    ) -> Station:
        """Replace the station `name`, whose name may change. Raises as `add`, and `UnknownName`."""
        current, station = self._view(name), _normalized(station)
        is_playlist = check and current.url != station.url and _is_playlist(station, check_address)
        with self._edit_custom() as custom:
            current = self._view(name)
            if _fold(station.name) != _fold(name):
                self._require_free(station.name)
            custom.stations.pop(_fold(name), None)
            custom.overrides.pop(_fold(name), None)
            custom.stations[_fold(station.name)] = station
            target = _fold(current.overrides or ("" if current.custom else current.name))
            if target:
                custom.overrides[_fold(station.name)] = target
            custom.playlist_urls |= {station.url} if is_playlist else set()
        return station

    def remove(self, name: str) -> None:
        """Remove a custom station, or hide one of the owner's file."""
        with self._edit_custom() as custom:
            view = self._view(name)
            custom.stations.pop(_fold(name), None)
            custom.overrides.pop(_fold(name), None)
            if view.overrides or not view.custom:
                custom.hidden.add(_fold(view.overrides or view.name))

    def restore(self, name: str) -> Station:
        """Restore the station `name` of the owner's file, and delete the one that overrides it.

        Raises:
            UnknownName: No such station was removed or edited.
        """
        with self._edit_custom() as custom:
            removed = {_fold(each.name): each for each in self.removed()}
            if _fold(name) not in removed:
                raise UnknownName("station that was removed or edited", name, [each.name for each in removed.values()])
            custom.hidden.discard(_fold(name))
            for key in [key for key, target in custom.overrides.items() if target == _fold(name)]:
                del custom.overrides[key], custom.stations[key]
            custom.stations.pop(_fold(name), None)  # a custom station with the name of the restored one
        return removed[_fold(name)]

    def _view(self, name: str) -> ListedStation:
        views = {_fold(each.name): each for each in self.views()}
        if _fold(name) not in views:
            raise UnknownName("station", name, [each.name for each in views.values()])
        return views[_fold(name)]

    def _require_free(self, name: str) -> None:
        names = {_fold(each.name): each.name for each in self.views()}
        if _fold(name) in names:
            raise Refused(f"there is a station {names[_fold(name)]!r} already; choose another name, or edit it")

    def _owners_stations(self) -> tuple[Station, ...]:
        if self._file is None:
            return ()
        version = _file_version(self._file)  # if the file is missing, reading it raises the error
        if version is None or version != self._file_cache[0]:
            self._file_cache = (version, load_stations(self._file))
        return self._file_cache[1]

    def _custom(self) -> _CustomStations:
        version = _file_version(self._custom_file)
        if version != self._custom_cache[0]:
            self._custom_cache = (version, _load_custom(self._custom_file) if version else _CustomStations())
        return self._custom_cache[1] if version else _CustomStations()

    @contextlib.contextmanager
    def _edit_custom(self) -> Iterator[_CustomStations]:
        """Lock and load the custom file; write it if the block succeeds."""
        folder = files.make_directory(self._custom_file.parent)
        with files.acquire_lock(folder / f"{CUSTOM_FILE}.lock", patience=_LOCK_TIMEOUT) as lock:
            if lock is None:
                raise Unavailable("another program is writing the stations; try again")
            custom = _load_custom(self._custom_file)
            yield custom
            files.write_file(self._custom_file, _dump_custom(custom))
            self._custom_cache = (None, _CustomStations())


def stations_of(config: Config) -> Stations:
    """Return the web radio stations of `config`."""
    return _cached_stations(config.stations, config.state_dir)


_cached_stations = functools.lru_cache(maxsize=2)(Stations)  # a cached object reads the files again when they change


def resolve_source(stations: Stations, source: Source, check_address: AddressCheck = allow_all) -> Source:
    """Return `source`.

    The address of a station or of a playlist on the web becomes that of its stream.

    It may wait for the network: call it in a thread.
    """
    if not isinstance(source, Uri):
        return source
    if source.title:
        return Uri(uri=stations.resolved(source.title, check_address).url, title=source.title)
    if is_web_address(source.uri) and is_playlist_url(source.uri):
        return Uri(uri=try_resolve_stream(source.uri, check_address))
    return source


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()


def _by_name(stations: Iterable[Station]) -> dict[str, Station]:
    """Return `stations` by their names in lower case. Of equal names the first counts."""
    result: dict[str, Station] = {}
    for each in stations:
        result.setdefault(_fold(each.name), each)
    return result


def _file_version(path: Path) -> object:
    """Return a value that changes with the file; None if it does not exist."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _normalized(station: Station) -> Station:
    """Return `station` without extra spaces. Raises `Refused` if it is not valid."""
    texts = {name: " ".join(text.split()) for name, text in asdict(station).items()}
    if not texts["name"]:
        raise Refused("a station needs a name")
    for name, text in texts.items():
        limit = _MAX_URL if name == "url" else _MAX_TEXT
        if len(text) > limit or not text.isprintable():
            raise Refused(f"the {name} of a station must be at most {limit} printable characters")
    if not is_web_address(texts["url"]):
        raise Refused(f"{texts['url']!r} is not a web address; begin it with http:// or https://")
    return Station(**texts)


def _is_playlist(station: Station, check_address: AddressCheck) -> bool:
    try:
        return resolve_stream(station.url, check_address=check_address) != station.url
    except Unavailable as error:  # the station does not answer; this machine is fine
        raise Refused(str(error)) from None


def _load_custom(path: Path) -> _CustomStations:
    """Read the custom file. Raises `ConfigError` so that a damaged file is not overwritten."""
    try:
        data = json.loads(path.read_bytes())
        custom = _CustomStations(
            hidden=set(map(str, data["hidden"])), playlist_urls=set(map(str, data["playlist_urls"]))
        )
        for each in data["stations"]:
            station = Station(
                **{key.name: _require_text(each[key.name]) for key in fields(Station) if key.name in each}
            )
            custom.stations[_fold(station.name)] = station
            if each["overrides"]:
                custom.overrides[_fold(station.name)] = str(each["overrides"])
    except FileNotFoundError:
        return _CustomStations()
    except OSError as error:
        raise ConfigError([Problem(str(path), 1, 1, f"cannot be read: {error.strerror}", "check its rights")]) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        hint = "move it away, and add your stations again"
        raise ConfigError([Problem(str(path), 1, 1, "the file is damaged", hint)]) from None
    return custom


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _dump_custom(custom: _CustomStations) -> bytes:
    urls = {each.url for each in custom.stations.values()}
    data = {
        "stations": [
            {**asdict(each), "overrides": custom.overrides.get(name, "")} for name, each in custom.stations.items()
        ],
        "hidden": sorted(custom.hidden),
        "playlist_urls": sorted(custom.playlist_urls & urls),
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode() + b"\n"
