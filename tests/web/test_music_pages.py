"""The pages of the music as a browser without a script sees them: what they show, and what their forms do."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pi_appliance.music.model import Capability, Mode, ReplayGainMode, Track, TrackRating
from tests.web.list_player import OTHER, SONG, ListMusic, ListPlayer
from tests.web.served_appliance import Answer, World, configuration, served

STATIONS = '- {name: Groove, url: "http://radio.example/groove", genre: Jazz}\n'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with served(configuration(tmp_path, stations=STATIONS)) as found:
        yield found


def press(world: World, path: str, fields: Mapping[str, object], page: str = "/music/queue") -> Answer:
    """Send a form of `page`, and return the page it leads to."""
    answer = world.ask(f"/do/{path}", urlencode(fields), Referer=f"{world.origin}{page}")
    assert answer.status == 303, answer.text
    return world.ask(answer.headers["location"])


def uris(world: World) -> list[str]:
    return [track.uri for track in world.player.tracks]


def test_the_queue_shows_what_plays_and_what_is_next(world: World) -> None:
    text = world.ask("/music/queue").text
    assert text.index("Blue Train") < text.index("Moment&#39;s Notice")
    assert text.count('aria-current="true"') == 1
    assert "<bdi>John Coltrane</bdi> · 10:43" in text


def test_a_long_queue_comes_in_parts(tmp_path: Path) -> None:
    tracks = [
        Track(uri=f"{number}.ogg", title=f"Number {number}.", position=number, id=number) for number in range(250)
    ]
    with served(configuration(tmp_path), ListMusic(ListPlayer(tracks))) as world:
        first = world.ask("/music/queue").text
        assert "Number 99." in first
        assert "Number 100." not in first
        assert "1 to 100 of 250" in first
        assert 'href="/music/queue?start=100"' in first
        last = world.ask("/music/queue?start=200").text
        assert "Number 249." in last
        assert "start=300" not in last


@pytest.mark.parametrize("start", ["-1", "x", "1e3", "9" * 12])
def test_a_start_that_is_no_number_is_told(world: World, start: str) -> None:
    answer = world.ask(f"/music/queue?start={start}")
    assert answer.status == 400
    assert "must be a whole number" in html.unescape(answer.text)


@pytest.mark.parametrize(
    ("title", "label", "after"),
    [
        ("Blue Train", "Remove", ["b.ogg", "c.ogg"]),
        ("Blue Train", "Down", ["b.ogg", "a.ogg", "c.ogg"]),
        ("Moment&#39;s Notice", "Up", ["b.ogg", "a.ogg", "c.ogg"]),
        ("Third", "Play next", ["a.ogg", "c.ogg", "b.ogg"]),
        ("", "Clear", []),
    ],
)
def test_the_queue_is_edited(tmp_path: Path, title: str, label: str, after: list[str]) -> None:
    third = Track(uri="c.ogg", title="Third", position=2, id=9)
    with served(configuration(tmp_path), ListMusic(ListPlayer([SONG, OTHER, third]))) as world:
        menu = world.ask("/music/queue").text.partition(f"What to do with {title}")[2]
        form, _, _ = menu.partition(f">{label}</button>")
        action, button = form.rpartition(' action="')[2].partition('"')[0], form.rpartition("<button")[2]
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', button))
        fields = {attributes["name"]: attributes["value"]} if "name" in attributes else {}
        press(world, attributes.get("formaction", action).removeprefix("/do/"), fields)
        assert uris(world) == after


def test_a_track_of_the_queue_is_played_by_its_id(world: World) -> None:
    press(world, "player/play", {"id": 2})
    assert world.player.now.track is not None
    assert world.player.now.track.uri == "b.ogg"


def test_a_queue_is_kept_as_a_playlist_that_can_be_edited(world: World) -> None:
    page = press(world, "player/queue/save", {"name": "Sunday & more", "return_to": "/music/playlists"})
    assert "Sunday &amp; more" in page.text
    address, form = "/music/playlists?name=Sunday%20%26%20more", "player/playlists/Sunday%20%26%20more"
    assert f'formaction="/do/{form}/remove?positions=0"' in world.ask(address).text
    page = press(world, f"{form}/move?position=0", {"to": 1}, address)
    assert page.text.index("Moment&#39;s Notice") < page.text.index("Blue Train")
    page = press(world, f"{form}/remove?positions=0", {}, address)
    assert "Moment&#39;s Notice" not in page.text
    page = press(world, f"{form}/rename", {"to": "Monday & more", "return_to": "/music/playlists?name={to}"})
    assert "<h1>Monday &amp; more</h1>" in page.text
    form = "player/playlists/Monday%20%26%20more"
    page = press(world, form, {"method": "DELETE", "return_to": "/music/playlists"})
    assert "There are none yet" in page.text


def test_the_library_is_walked_from_the_artist_to_the_track(world: World) -> None:
    assert "/music/library?by=album&amp;artist=Miles%20Davis" in world.ask("/music/library?by=artist").text
    assert "Kind of Blue" in world.ask("/music/library?by=album&artist=Miles+Davis").text
    tracks = world.ask("/music/library?by=track&album=Kind+of+Blue&artist=Miles+Davis").text
    assert "So What" in tracks
    assert "Blue Train" not in tracks.split('id="bar"')[0]
    assert '<a class="back" href="/music/library?by=album&amp;artist=Miles+Davis"' in tracks


def test_folders_lead_down_and_back_up(world: World) -> None:
    assert 'href="/music/library?path=Albums"' in world.ask("/music/library").text
    inside = world.ask("/music/library?path=Albums/Kind%20of%20Blue").text
    assert "So What" in inside
    assert '<a class="back" href="/music/library?path=Albums"' in inside


def test_a_search_finds_artists_albums_and_tracks(world: World) -> None:
    text = world.ask("/music/library?text=blue").text
    assert text.index("<h2>Artists</h2>") < text.index("<h2>Albums</h2>") < text.index("<h2>Tracks</h2>")
    assert "Blue in Green" in text
    assert "There is nothing here" in world.ask("/music/library?text=zither").text


@pytest.mark.parametrize(
    ("path", "fields", "after", "plays"),
    [
        (
            "queue/add?where=next&play=true",
            {"uri": "Albums/Kind of Blue/1.ogg"},
            ["a.ogg", "Albums/Kind of Blue/1.ogg", "b.ogg"],
            "1.ogg",
        ),
        (
            "queue/add",
            {"uri": "Albums/Kind of Blue/1.ogg", "where": "next"},
            ["a.ogg", "Albums/Kind of Blue/1.ogg", "b.ogg"],
            "a.ogg",
        ),
        (
            "queue/add",
            {"uri": "Albums/Kind of Blue/1.ogg", "where": "end"},
            ["a.ogg", "b.ogg", "Albums/Kind of Blue/1.ogg"],
            "a.ogg",
        ),
        (
            "play-now",
            {"album": "Kind of Blue", "artist": "Miles Davis"},
            ["Albums/Kind of Blue/1.ogg", "Albums/Kind of Blue/2.ogg"],
            "1.ogg",
        ),
    ],
)
def test_what_is_found_goes_into_the_queue(
    world: World, path: str, fields: Mapping[str, object], after: list[str], plays: str
) -> None:
    page = press(world, f"player/{path}", fields, "/music/library?by=album")
    assert uris(world) == after
    assert world.player.now.track is not None
    assert world.player.now.track.uri.endswith(plays)
    assert 'aria-current="page">Albums</a>' in page.text


@pytest.mark.parametrize(
    ("path", "fields", "why"),
    [
        ("player/queue/add", {"uri": "a.ogg", "where": "here"}, "'where' must be one of end, next, replace"),
        ("player/queue/add", {"where": "end"}, "nothing is named to play"),
        ("player/queue/remove", {"ids": "first"}, "'ids' must be a list"),
        ("player/queue/save", {"name": ""}, "'name' must be a line of at most 200 characters"),
        ("player/playlists/a/rename", {"to": ""}, "'to' must be a line of at most 200 characters"),
        ("player/playlists/a", {"method": "PATCH"}, "'method' must be one of DELETE"),
        ("player/playlists/a", {"name": "b"}, "'name' in its address, and nowhere else"),
        ("stations", {"name": "x", "url": ""}, "'url' must be a line of at most 2000 characters"),
        ("player/modes", {"single": "often"}, "'single' must be one of off, on, once"),
        ("player/modes", {"repeat": "yes"}, "'repeat' must be on or off"),
        ("player/modes", {"bass": "on"}, "modes takes no 'bass'"),
    ],
)
def test_a_wrong_form_is_told_and_changes_nothing(
    world: World, path: str, fields: Mapping[str, object], why: str
) -> None:
    before = world.player.now
    answer = world.ask(f"/do/{path}", urlencode(fields))
    assert answer.status == 400
    assert why in html.unescape(answer.text)
    assert (world.player.now, uris(world)) == (before, ["a.ogg", "b.ogg"])


def test_how_it_sounds_is_set(world: World) -> None:
    for path, fields in {
        "modes": {"repeat": "on"},
        "modes?repeat=on": {"single": "once"},
        "crossfade": {"seconds": "5"},
        "replay-gain": {"gain": "album"},
        "outputs/1": {"on": "on"},
    }.items():
        page = press(world, f"player/{path}", fields, "/music/sound")
    assert 'value="once" aria-pressed="true"' in page.text
    state = world.player.now
    assert (state.repeat, state.single, state.crossfade, state.replay_gain) == (
        True,
        Mode.ONCE,
        5,
        ReplayGainMode.ALBUM,
    )
    assert [output.enabled for output in world.player.sockets] == [True, True]
    press(world, "player/update", {})
    assert world.player.updated == [""]


def test_what_the_player_cannot_is_said_and_not_offered(world: World) -> None:
    world.player.can -= {
        Capability.CROSSFADE,
        Capability.OUTPUTS,
        Capability.MOVE,
        Capability.SHUFFLE,
        Capability.SEARCH,
    }
    text = world.ask("/music/sound").text
    assert (
        "What this player cannot do: crossfade tracks; switch outputs; move tracks in the queue; shuffle the queue"
        in text
    )
    assert "/do/player/crossfade" not in text
    assert "Kitchen" not in text
    queue = world.ask("/music/queue").text
    assert "/do/player/queue/shuffle" not in queue
    assert ">Up<" not in queue
    assert 'type="search"' not in world.ask("/music/library").text


def test_stations_are_changed_removed_and_brought_back(world: World) -> None:
    page = press(world, "stations/Groove", {"method": "DELETE"}, "/music/radio")
    assert "There are no stations yet" in page.text
    assert "Bring back" in page.text
    page = press(world, "stations/Groove/restore", {}, "/music/radio")
    assert 'value="Groove"' in page.text
    page = press(
        world,
        "stations/Groove",
        {"method": "PATCH", "name": "60s/70s <2>", "url": "http://radio.example/groove", "genre": "Soul"},
        "/music/radio",
    )
    assert "60s/70s &lt;2&gt;" in page.text
    assert "Soul" in page.text
    assert 'action="/do/stations/60s%2F70s%20%3C2%3E"' in page.text
    page = press(world, "stations/60s%2F70s%20%3C2%3E", {"method": "PATCH", "genre": ""}, "/music/radio")
    assert "Soul" not in page.text
    press(world, "player/play-station", {"station": "60s/70s <2>"})
    assert world.player.now.track is not None
    assert world.player.now.track.title == "60s/70s <2>"


def test_without_a_player_the_page_says_why(tmp_path: Path) -> None:
    with served(configuration(tmp_path), ListMusic(None, "MPD is gone; start it")) as world:
        for page in ("queue", "library", "playlists", "sound"):
            answer = world.ask(f"/music/{page}")
            assert answer.status == 503
            assert "MPD is gone; start it" in answer.text
        assert world.ask("/music/radio").status == 200


def test_the_bar_goes_on_from_any_page_and_comes_back_to_it(world: World) -> None:
    answer = world.ask("/do/player/next", "", Referer=f"{world.origin}/music/library?by=album")
    assert (answer.status, answer.headers["location"]) == (303, "/music/library?by=album")
    assert world.player.now.track is not None
    assert world.player.now.track.uri == "b.ogg"
    elsewhere = world.ask("/do/player/next", urlencode({"return_to": "//evil.example/"}))
    assert elsewhere.headers["location"] == "/"


def test_a_favourite_is_marked_listed_and_given_up(world: World) -> None:
    world.player.thought["a.ogg"] = TrackRating(rating=8)
    page = press(world, "player/like", {"uri": "a.ogg"})
    assert page.text.count('aria-label="a favourite"') == 1
    assert world.player.thought["a.ogg"] == TrackRating(rating=8, favourite=True)
    listed = world.ask("/music/library?by=favourites").text
    assert "Blue Train" in listed
    assert "Moment" not in listed.split('id="bar"')[0]
    press(world, "player/unlike", {"uri": "a.ogg"})
    assert "There is nothing here" in world.ask("/music/library?by=favourites").text
    assert world.player.thought["a.ogg"] == TrackRating(rating=8)
