"""The web radio stations: those of the owner's file, and the household's own in the state folder.

The owner's file is never written: it has comments, and may be read-only. A station of it that is edited or removed is
covered by the own file, and can be brought back. Names are unique; capitals do not count.
"""

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from pi_appliance.config.loader import load_stations
from pi_appliance.errors import ApplianceError, ConfigError, Problem, Refused, Unavailable, UnknownName
from pi_appliance.music.model import Source, Station, Uri
from pi_appliance.system import files, locks
from pi_appliance.system.http import fetch, is_web_address

ENDINGS = (".m3u", ".m3u8", ".pls")
"""How the addresses of such lists end."""
TYPES = frozenset(
    {
        "application/pls+xml",
        "application/vnd.apple.mpegurl",
        "application/x-mpegurl",
        "audio/mpegurl",
        "audio/scpls",
        "audio/x-mpegurl",
        "audio/x-scpls",
        "text/x-scpls",
    }
)
"""What web servers call them."""
_MOST = 50  # addresses of one list; a station has a handful
_FILE = re.compile(r"file(\d{1,6})\s*=\s*(.+)", re.IGNORECASE)


def is_address_of_list(url: str) -> bool:
    """Say whether URL looks like that of a list, by its end."""
    try:
        return urlsplit(url).path.lower().endswith(ENDINGS)
    except ValueError:
        return False


def is_hls(text: str) -> bool:
    """Say whether TEXT is no list of streams but a stream itself, cut into parts (HLS)."""
    return any(line.startswith("#EXT-X-") for line in text.splitlines())


def streams(text: str, address: str) -> list[str]:
    """Return the web addresses in the list TEXT, which came from ADDRESS, in its order, each once.

    Relative ones are those of a file beside it. What is no web address is left out.
    """
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    found = _of_pls(lines) if any(line.lower() == "[playlist]" for line in lines) else _of_m3u(lines)
    joined = (_joined(address, each) for each in found)
    return list(dict.fromkeys(each for each in joined if is_web_address(each)))[:_MOST]


def _of_pls(lines: list[str]) -> list[str]:
    numbered = [(int(match[1]), match[2].strip()) for match in map(_FILE.fullmatch, lines) if match]
    return [address for _, address in sorted(numbered, key=lambda each: each[0])]


def _of_m3u(lines: list[str]) -> list[str]:
    return [line for line in lines if line and not line.startswith("#")]


def _joined(address: str, found: str) -> str:
    try:
        return found if "://" in found else urljoin(address, found)
    except ValueError:
        return ""


_LEVELS = 3  # lists that lead to lists
_PAGES = ("text/html", "application/xhtml+xml")
_AT_PLAY = 3.0  # seconds that somebody who has pressed a button waits
_AT_ONCE = 3  # addresses; each keeps one of the few threads that pictures and names of hosts need as well
_places = threading.BoundedSemaphore(_AT_ONCE)


def tune(url: str, *, seconds: float = 5.0) -> str:
    """Return the address of the stream that URL leads to: itself, unless a list answers there.

    A stream that is cut into parts (HLS) is played by its list. Raises Unavailable if URL is not reached in so many
    SECONDS, or too many others are being tried; Refused if what answers is no, or a list without a stream. It waits for
    the network: call it in a thread.
    """
    if not _places.acquire(blocking=False):
        raise Unavailable(f"{_AT_ONCE} other addresses are being tried just now; try again in a moment")
    try:
        return _tuned(url, time.monotonic() + seconds)
    finally:
        _places.release()


def _tuned(url: str, until: float) -> str:
    first = url
    for _ in range(_LEVELS):
        got = fetch(
            url,
            read_body=lambda head: _answers_with_list(head.url, head.mime),
            seconds=max(0.1, until - time.monotonic()),
        )
        if got.mime in _PAGES and not _answers_with_list(got.url, got.mime):
            raise Refused(f"{url} is a web page; give the address of the stream, which it may name")
        if not _answers_with_list(got.url, got.mime) or is_hls(got.text):
            return url
        found = streams(got.text, got.url)
        if not found:
            raise Refused(f"{url} is a list without the address of a stream")
        url = found[0]
        if not is_address_of_list(url):
            return url
    raise Refused(f"{first} leads from list to list; give the address of the stream itself")


def tune_to_play(url: str) -> str:
    """As `tune`, for who is about to play URL: what cannot be found out is left to the player itself."""
    try:
        return tune(url, seconds=_AT_PLAY)
    except ApplianceError:
        return url


def _answers_with_list(url: str, mime: str) -> bool:
    if mime in TYPES:
        return True
    # Many servers call a list plain text, or nothing at all.
    return is_address_of_list(url) and not mime.startswith(("audio/", "video/"))


NAME = "stations.json"
_MOST_STATIONS = 2000  # of the household's own
_LONGEST = 200  # characters of a name, a genre, a country
_LONGEST_URL = 2000
_PATIENCE = 5.0  # seconds for another process to have written


@dataclass(frozen=True, slots=True, kw_only=True)
class StationView:
    """A station, and where it comes from."""

    station: Station
    own: bool  # the household's own: added, or edited
    covers: str = ""  # the name in the owner's file of what it stands in for


@dataclass(slots=True)
class _Own:
    """What the own file holds: stations by their folded names, what they stand in for, and who is hidden."""

    stations: dict[str, Station] = field(default_factory=dict)
    instead: dict[str, str] = field(default_factory=dict)  # folded name of an own one: folded name in the file
    hidden: set[str] = field(default_factory=set)  # folded names in the file
    lists: set[str] = field(default_factory=set)  # addresses that lead to lists, though they do not look like it


class Stations:
    """The stations in FILE, which may be none, and the own ones in the folder STATE. Each call reads what changed."""

    def __init__(self, file: Path | None, state: Path) -> None:
        self._file, self._own_file = file, state / NAME
        self._read: tuple[object, tuple[Station, ...]] = (None, ())
        self._read_own: tuple[object, _Own] = (None, _Own())

    def all(self) -> tuple[Station, ...]:
        """Return the stations, the household's own ones first. Raises ConfigError with every problem of the files."""
        return tuple(shown.station for shown in self.shown())

    def shown(self) -> list[StationView]:
        """Return the stations and where each comes from, in the order of `all`."""
        known, own = _by_name(self._of_file()), self._own()
        covers = {name: of for name, of in own.instead.items() if of in known}
        in_place = {of: name for name, of in covers.items()}
        found = [StationView(station=own.stations[name], own=True) for name in own.stations if name not in covers]
        for name, station in known.items():
            if name in in_place:
                mine = own.stations[in_place[name]]
                found.append(StationView(station=mine, own=True, covers=station.name))
            elif name not in own.hidden and name not in own.stations:
                found.append(StationView(station=station, own=False))
        return found

    def gone(self) -> tuple[Station, ...]:
        """Return the stations of the owner's file that are hidden or stood in for, as they are in it."""
        there = {_fold(each.station.name) for each in self.shown() if not each.own}
        return tuple(each for name, each in _by_name(self._of_file()).items() if name not in there)

    def one(self, name: str) -> Station:
        """Return the station called NAME. Raises UnknownName."""
        return self._one(name).station

    def to_play(self, name: str) -> Station:
        """Return the station called NAME with the address to play, looked up if it is that of a list.

        It may wait for the network: call it in a thread. Raises UnknownName.
        """
        station = self.one(name)
        if is_address_of_list(station.url) or station.url in self._own().lists:
            return replace(station, url=tune_to_play(station.url))
        return station

    def add(self, station: Station, *, check: bool = True) -> Station:
        """Keep STATION as one of the household's own and return it as it is kept.

        With CHECK its address is tried first, so call it in a thread. Raises Refused if there is one of that name, or
        what the address answers is no; Unavailable if it is not reached, or the disk does not take it.
        """
        station = _tidy(station)
        is_list = check and _is_list(station)
        with self._writing() as own:
            self._require_free(station.name)
            if len(own.stations) >= _MOST_STATIONS:
                raise Refused(f"there are {_MOST_STATIONS} stations of your own already; remove some first")
            own.stations[_fold(station.name)] = station
            own.lists |= {station.url} if is_list else set()
        return station

    def edit(self, name: str, station: Station, *, check: bool = True) -> Station:
        """Let STATION take the place of the one called NAME, whose name may change. Raises as `add`; UnknownName."""
        before, station = self._one(name), _tidy(station)
        is_list = check and before.station.url != station.url and _is_list(station)
        with self._writing() as own:
            before = self._one(name)
            if _fold(station.name) != _fold(name):
                self._require_free(station.name)
            own.stations.pop(_fold(name), None)
            own.instead.pop(_fold(name), None)
            own.stations[_fold(station.name)] = station
            covered = _fold(before.covers or ("" if before.own else before.station.name))
            if covered:
                own.instead[_fold(station.name)] = covered
            own.lists |= {station.url} if is_list else set()
        return station

    def remove(self, name: str) -> None:
        """Take the station called NAME away. One of the owner's file is hidden. Raises UnknownName, Unavailable."""
        with self._writing() as own:
            before = self._one(name)
            own.stations.pop(_fold(name), None)
            own.instead.pop(_fold(name), None)
            if before.covers or not before.own:
                own.hidden.add(_fold(before.covers or before.station.name))

    def restore(self, name: str) -> Station:
        """Bring back the station called NAME in the owner's file, as it is there; what stood in for it goes.

        Raises UnknownName if none of that name was removed or edited; Unavailable.
        """
        with self._writing() as own:
            gone = {_fold(each.name): each for each in self.gone()}
            if _fold(name) not in gone:
                raise UnknownName("station that was removed or edited", name, [each.name for each in gone.values()])
            own.hidden.discard(_fold(name))
            for mine in [mine for mine, of in own.instead.items() if of == _fold(name)]:
                del own.instead[mine], own.stations[mine]
            own.stations.pop(_fold(name), None)  # an own one that bears its name
        return gone[_fold(name)]

    def _one(self, name: str) -> StationView:
        found = {_fold(each.station.name): each for each in self.shown()}
        if _fold(name) not in found:
            raise UnknownName("station", name, [each.station.name for each in found.values()])
        return found[_fold(name)]

    def _require_free(self, name: str) -> None:
        taken = {_fold(each.station.name): each.station.name for each in self.shown()}
        if _fold(name) in taken:
            raise Refused(f"there is a station {taken[_fold(name)]!r} already; choose another name, or edit it")

    def _of_file(self) -> tuple[Station, ...]:
        if self._file is None:
            return ()
        seen = _seen(self._file)  # None: reading it will say why
        if seen is None or seen != self._read[0]:
            self._read = (seen, load_stations(self._file))
        return self._read[1]

    def _own(self) -> _Own:
        seen = _seen(self._own_file)
        if seen != self._read_own[0]:
            self._read_own = (seen, _load(self._own_file) if seen else _Own())
        return self._read_own[1] if seen else _Own()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[_Own]:
        """Give what the own file holds, to be changed, and keep it if the block ends well; nobody else writes then."""
        folder = files.make_directory(self._own_file.parent)
        with locks.acquire(folder / f"{NAME}.lock", patience=_PATIENCE) as lock:
            if lock is None:
                raise Unavailable("another program is writing the stations; try again")
            own = _load(self._own_file)
            yield own
            files.write_file(self._own_file, _dumped(own))
            self._read_own = (None, _Own())


def tuned(known: Stations, source: Source) -> Source:
    """Return SOURCE; for one of the KNOWN stations, or an address of a list, with the address of the stream itself.

    It may wait for the network: call it in a thread.
    """
    if not isinstance(source, Uri):
        return source
    if source.title:
        return Uri(uri=known.to_play(source.title).url, title=source.title)
    if is_web_address(source.uri) and is_address_of_list(source.uri):
        return Uri(uri=tune_to_play(source.uri))
    return source


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()


def _by_name(stations: Iterable[Station]) -> dict[str, Station]:
    """Return STATIONS by their folded names; of two that differ in their capitals, the first."""
    found: dict[str, Station] = {}
    for each in stations:
        found.setdefault(_fold(each.name), each)
    return found


def _seen(path: Path) -> object:
    """Return what tells one state of the file PATH from another; None if it is not there."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _tidy(station: Station) -> Station:
    """Return STATION without needless spaces. Raises Refused for what no station can be."""
    texts = {name: " ".join(text.split()) for name, text in asdict(station).items()}
    if not texts["name"]:
        raise Refused("a station needs a name")
    for name, text in texts.items():
        longest = _LONGEST_URL if name == "url" else _LONGEST
        if len(text) > longest or not text.isprintable():
            raise Refused(f"the {name} of a station is at most {longest} characters, all of them to be seen")
    if not is_web_address(texts["url"]):
        raise Refused(f"{texts['url']!r} is no web address; begin it with http:// or https://")
    return Station(**texts)


def _is_list(station: Station) -> bool:
    """Try the address of STATION and say whether it leads to another one."""
    return tune(station.url) != station.url


def _load(path: Path) -> _Own:
    """Read the own file. Raises ConfigError if it is damaged: what it holds is the household's, not to be lost."""
    try:
        told = json.loads(path.read_bytes())
        own = _Own(hidden=set(map(str, told["hidden"])), lists=set(map(str, told["lists"])))
        for each in told["stations"]:
            station = Station(**{key: _text(each[key]) for key in ("name", "url", "genre", "country")})
            own.stations[_fold(station.name)] = station
            if each["instead"]:
                own.instead[_fold(station.name)] = str(each["instead"])
    except FileNotFoundError:
        return _Own()
    except OSError as error:
        raise ConfigError([Problem(str(path), 1, 1, f"cannot be read: {error.strerror}", "check its rights")]) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        right = "move it away, and add your stations again"
        raise ConfigError([Problem(str(path), 1, 1, "this is not what was written here", right)]) from None
    return own


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _dumped(own: _Own) -> bytes:
    urls = {each.url for each in own.stations.values()}
    told = {
        "stations": [{**asdict(each), "instead": own.instead.get(name, "")} for name, each in own.stations.items()],
        "hidden": sorted(own.hidden),
        "lists": sorted(own.lists & urls),
    }
    return json.dumps(told, ensure_ascii=False, indent=1).encode() + b"\n"
