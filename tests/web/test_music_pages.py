"""The music pages in a browser without scripts, and their forms."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pi_appliance.music.model import Capability, Mode, PlaybackState, ReplayGainMode, Track, TrackRating
from tests.web.list_player import OTHER, SONG, ListMusic, ListPlayer
from tests.web.served_appliance import Response, ServedAppliance, configuration, serving

STATIONS = '- {name: Groove, url: "http://radio.example/groove", genre: Jazz}\n'


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(configuration(tmp_path, stations=STATIONS)) as result:
        yield result


def submit_form(
    appliance: ServedAppliance, path: str, fields: Mapping[str, object], page: str = "/music/queue"
) -> Response:
    """Send a form of `page` and return the resulting page."""
    answer = appliance.request(f"/do/{path}", urlencode(fields), Referer=f"{appliance.origin}{page}")
    assert answer.status == 303, answer.text
    return appliance.request(answer.headers["location"])


def uris(appliance: ServedAppliance) -> list[str]:
    return [track.uri for track in appliance.player.tracks]


def test_the_queue_shows_the_current_and_the_next_tracks(appliance: ServedAppliance) -> None:
    text = appliance.request("/music/queue").text
    assert text.index("Blue Train") < text.index("Moment&#39;s Notice")
    assert text.count('<li class="entry" aria-current="true"') == 1
    assert "<bdi>John Coltrane</bdi> · 10:43" in text


@pytest.mark.parametrize("path", ["/", "/music/queue", "/music/library", "/music/sound", "/music/alarms"])
def test_the_pages_are_there_without_a_current_track(appliance: ServedAppliance, path: str) -> None:
    appliance.call_in_loop(lambda: appliance.player.set_state(track=None, playback=PlaybackState.STOPPED))
    assert appliance.request(path).status == 200


def test_long_tags_are_cut_in_lists_and_whole_in_their_titles(tmp_path: Path) -> None:
    long = Track(uri="long.ogg", title="T" * 4000, artist="A" * 4000, album="Z", position=0, id=1)
    with serving(configuration(tmp_path), ListMusic(ListPlayer([long], [long]))) as appliance:
        for path in ("/music/queue", "/music/library?by=track"):
            text = appliance.request(path).text
            entry = text[text.index('<li class="entry"') :].partition("</li>")[0]
            assert entry.count("T" * 4000) == 1, "in its title"
            assert "T" * 120 not in entry.replace("T" * 4000, "")
            assert f">{'T' * 119}…" in entry
            assert f'<bdi title="{"A" * 4000}">{"A" * 119}…</bdi>' in entry


def test_an_error_that_the_radio_explains_is_shown_once(appliance: ServedAppliance) -> None:
    error = "http://radio.example/groove cannot be played: nothing listens there"
    appliance.call_in_loop(lambda: appliance.player.set_state(error=error))
    assert appliance.request("/").text.count(error) == 1
    appliance.daemon.hub.status_text = f"Groove broke off ({error}); reconnecting"
    shown = re.sub(r'<p class="note" id="player-error" hidden>[^<]*', "", appliance.request("/").text)
    assert shown.count(error) == 1


def test_a_long_queue_is_paged(tmp_path: Path) -> None:
    tracks = [
        Track(uri=f"{number}.ogg", title=f"Number {number}.", position=number, id=number) for number in range(250)
    ]
    with serving(configuration(tmp_path), ListMusic(ListPlayer(tracks))) as appliance:
        first = appliance.request("/music/queue").text
        assert "Number 99." in first
        assert "Number 100." not in first
        assert "1 to 100 of 250" in first
        assert 'href="/music/queue?start=100"' in first
        last = appliance.request("/music/queue?start=200").text
        assert "Number 249." in last
        assert "start=300" not in last


@pytest.mark.parametrize("start", ["-1", "x", "1e3", "9" * 12])
def test_an_invalid_start_is_reported(appliance: ServedAppliance, start: str) -> None:
    answer = appliance.request(f"/music/queue?start={start}")
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
    with serving(configuration(tmp_path), ListMusic(ListPlayer([SONG, OTHER, third]))) as appliance:
        menu = appliance.request("/music/queue").text.partition(f"What to do with {title}")[2]
        form, _, _ = menu.partition(f">{label}</button>")
        action, button = form.rpartition(' action="')[2].partition('"')[0], form.rpartition("<button")[2]
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', button))
        fields = {attributes["name"]: attributes["value"]} if "name" in attributes else {}
        submit_form(appliance, attributes.get("formaction", action).removeprefix("/do/"), fields)
        assert uris(appliance) == after


def test_a_track_of_the_queue_is_played_by_its_id(appliance: ServedAppliance) -> None:
    submit_form(appliance, "player/play", {"id": 2})
    assert appliance.player.now.track is not None
    assert appliance.player.now.track.uri == "b.ogg"


def test_a_queue_is_saved_as_a_playlist_that_can_be_edited(appliance: ServedAppliance) -> None:
    page = submit_form(appliance, "player/queue/save", {"name": "Sunday & more", "return_to": "/music/playlists"})
    assert "Sunday &amp; more" in page.text
    address, form = "/music/playlists?name=Sunday%20%26%20more", "player/playlists/Sunday%20%26%20more"
    assert f'formaction="/do/{form}/remove?positions=0"' in appliance.request(address).text
    page = submit_form(appliance, f"{form}/move?position=0", {"to": 1}, address)
    assert page.text.index("Moment&#39;s Notice") < page.text.index("Blue Train")
    page = submit_form(appliance, f"{form}/remove?positions=0", {}, address)
    assert "Moment&#39;s Notice" not in page.text
    page = submit_form(appliance, f"{form}/rename", {"to": "Monday & more", "return_to": "/music/playlists?name={to}"})
    assert "<h1>Monday &amp; more</h1>" in page.text
    form = "player/playlists/Monday%20%26%20more"
    page = submit_form(appliance, form, {"method": "DELETE", "return_to": "/music/playlists"})
    assert "There are none yet" in page.text


def test_the_library_is_browsed_from_the_artist_to_the_track(appliance: ServedAppliance) -> None:
    assert "/music/library?by=album&amp;artist=Miles%20Davis" in appliance.request("/music/library?by=artist").text
    assert "Kind of Blue" in appliance.request("/music/library?by=album&artist=Miles+Davis").text
    tracks = appliance.request("/music/library?by=track&album=Kind+of+Blue&artist=Miles+Davis").text
    assert "So What" in tracks
    assert "Blue Train" not in tracks.split('id="mini"')[0]
    assert '<a class="back" href="/music/library?by=album&amp;artist=Miles+Davis"' in tracks


def test_folders_lead_down_and_up(appliance: ServedAppliance) -> None:
    assert 'href="/music/library?path=Albums"' in appliance.request("/music/library").text
    inside = appliance.request("/music/library?path=Albums/Kind%20of%20Blue").text
    assert "So What" in inside
    assert '<a class="back" href="/music/library?path=Albums"' in inside


def test_a_search_finds_artists_albums_and_tracks(appliance: ServedAppliance) -> None:
    text = appliance.request("/music/library?text=blue").text
    assert text.index("<h2>Artists</h2>") < text.index("<h2>Albums</h2>") < text.index("<h2>Tracks</h2>")
    assert "Blue in Green" in text
    assert "There is nothing here" in appliance.request("/music/library?text=zither").text


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
def test_search_results_are_added_to_the_queue(
    appliance: ServedAppliance, path: str, fields: Mapping[str, object], after: list[str], plays: str
) -> None:
    page = submit_form(appliance, f"player/{path}", fields, "/music/library?by=album")
    assert uris(appliance) == after
    assert appliance.player.now.track is not None
    assert appliance.player.now.track.uri.endswith(plays)
    assert 'aria-current="page">Albums</a>' in page.text


@pytest.mark.parametrize(
    ("path", "fields", "why"),
    [
        ("player/queue/add", {"uri": "a.ogg", "where": "here"}, "'where' must be one of end, next, replace"),
        ("player/queue/add", {"where": "end"}, "Nothing is named to play"),
        ("player/queue/remove", {"ids": "first"}, "'ids' must be a list"),
        ("player/queue/save", {"name": ""}, "'name' must be a line of 1 to 200 characters"),
        ("player/playlists/a/rename", {"to": ""}, "'to' must be a line of 1 to 200 characters"),
        ("player/playlists/a", {"method": "PATCH"}, "'method' must be one of DELETE"),
        ("player/playlists/a", {"name": "b"}, "'name' in its address, and nowhere else"),
        ("stations", {"name": "x", "url": ""}, "'url' must be a line of 1 to 2000 characters"),
        ("player/modes", {"single": "often"}, "'single' must be one of off, on, once"),
        ("player/modes", {"repeat": "yes"}, "'repeat' must be on or off"),
        ("player/modes", {"bass": "on"}, "Modes takes no 'bass'"),
    ],
)
def test_an_invalid_form_is_reported_and_changes_nothing(
    appliance: ServedAppliance, path: str, fields: Mapping[str, object], why: str
) -> None:
    before = appliance.player.now
    answer = appliance.request(f"/do/{path}", urlencode(fields))
    assert answer.status == 400
    assert why in html.unescape(answer.text)
    assert (appliance.player.now, uris(appliance)) == (before, ["a.ogg", "b.ogg"])


def test_sound_settings_are_changed(appliance: ServedAppliance) -> None:
    for path, fields in {
        "modes": {"repeat": "on"},
        "modes?repeat=on": {"single": "once"},
        "crossfade": {"seconds": "5"},
        "replay-gain": {"gain": "album"},
        "outputs/1": {"on": "on"},
    }.items():
        page = submit_form(appliance, f"player/{path}", fields, "/music/sound")
    assert 'value="once" aria-pressed="true"' in page.text
    state = appliance.player.now
    assert (state.repeat, state.single, state.crossfade, state.replay_gain) == (
        True,
        Mode.ONCE,
        5,
        ReplayGainMode.ALBUM,
    )
    assert [output.on for output in appliance.player.sockets] == [True, True]
    submit_form(appliance, "player/update", {})
    assert appliance.player.updated == [""]


def test_missing_capabilities_are_reported_and_not_offered(appliance: ServedAppliance) -> None:
    appliance.player.can -= {
        Capability.CROSSFADE,
        Capability.OUTPUTS,
        Capability.MOVE,
        Capability.SHUFFLE,
        Capability.SEARCH,
    }
    text = appliance.request("/music/sound").text
    assert (
        "What this player cannot do: overlap tracks; enable and disable outputs; move tracks in the queue;"
        " shuffle the queue" in text
    )
    assert "/do/player/crossfade" not in text
    assert "Kitchen" not in text
    queue = appliance.request("/music/queue").text
    assert "/do/player/queue/shuffle" not in queue
    assert ">Up<" not in queue
    assert 'type="search"' not in appliance.request("/music/library").text


def test_stations_are_edited_removed_and_restored(appliance: ServedAppliance) -> None:
    page = submit_form(appliance, "stations/Groove", {"method": "DELETE"}, "/music/radio")
    assert "There are no stations yet" in page.text
    assert "Bring back" in page.text
    page = submit_form(appliance, "stations/Groove/restore", {}, "/music/radio")
    assert 'value="Groove"' in page.text
    page = submit_form(
        appliance,
        "stations/Groove",
        {"method": "PATCH", "name": "60s/70s <2>", "url": "http://radio.example/groove", "genre": "Soul"},
        "/music/radio",
    )
    assert "60s/70s &lt;2&gt;" in page.text
    assert "Soul" in page.text
    assert 'action="/do/stations/60s%2F70s%20%3C2%3E"' in page.text
    page = submit_form(appliance, "stations/60s%2F70s%20%3C2%3E", {"method": "PATCH", "genre": ""}, "/music/radio")
    assert "Soul" not in page.text
    submit_form(appliance, "player/play-station", {"station": "60s/70s <2>"})
    assert appliance.player.now.track is not None
    assert appliance.player.now.track.title == "60s/70s <2>"


def test_without_a_player_the_page_shows_the_reason(tmp_path: Path) -> None:
    with serving(configuration(tmp_path), ListMusic(None, "MPD is gone; start it")) as appliance:
        for page in ("queue", "library", "playlists", "sound"):
            answer = appliance.request(f"/music/{page}")
            assert answer.status == 503
            assert "MPD is gone; start it" in answer.text
        assert appliance.request("/music/radio").status == 200


def test_the_player_bar_works_on_any_page_and_returns_to_it(appliance: ServedAppliance) -> None:
    answer = appliance.request("/do/player/next", "", Referer=f"{appliance.origin}/music/library?by=album")
    assert (answer.status, answer.headers["location"]) == (303, "/music/library?by=album")
    assert appliance.player.now.track is not None
    assert appliance.player.now.track.uri == "b.ogg"
    elsewhere = appliance.request("/do/player/next", urlencode({"return_to": "//evil.example/"}))
    assert elsewhere.headers["location"] == "/"


def test_a_favourite_is_marked_listed_and_removed(appliance: ServedAppliance) -> None:
    appliance.player.thought["a.ogg"] = TrackRating(rating=8)
    page = submit_form(appliance, "player/like", {"uri": "a.ogg"})
    assert page.text.count('aria-label="a favourite"') == 1
    assert appliance.player.thought["a.ogg"] == TrackRating(rating=8, favourite=True)
    listed = appliance.request("/music/library?by=favourites").text
    assert "Blue Train" in listed
    assert "Moment" not in listed.split('id="mini"')[0]
    submit_form(appliance, "player/unlike", {"uri": "a.ogg"})
    assert "There is nothing here" in appliance.request("/music/library?by=favourites").text
    assert appliance.player.thought["a.ogg"] == TrackRating(rating=8)


def test_music_names_the_sleep_timer_and_leads_to_it(tmp_path: Path) -> None:
    config = configuration(tmp_path, jobs="  sleep:\n    kind: music\n    with: {action: sleep}\n")
    with serving(config) as appliance:
        link = r'href="/music/alarms#sleep">.*?<span>(.*?)</span></a>'
        for path in ("/", "/parts/sleep"):
            assert re.search(link, appliance.request(path).text, re.DOTALL)[1].startswith("Sleep<")
            assert "stops at" not in appliance.request(path).text
        submit_form(appliance, "sleep", {"at": "23:10", "return_to": "/"})
        for path in ("/", "/parts/sleep"):
            assert re.search(link, appliance.request(path).text, re.DOTALL)[1].endswith("23:10")
        assert 'id="sleep"' in appliance.request("/music/alarms").text


def test_an_answer_to_a_press_has_the_times_of_the_configured_time_zone(tmp_path: Path) -> None:
    config = configuration(tmp_path, jobs="  sleep:\n    kind: music\n    with: {action: sleep}\n")
    config.write_text(config.read_text().replace("Europe/London", "Asia/Kathmandu"))
    with serving(config) as appliance:
        answer = appliance.request("/do/sleep", urlencode({"at": "23:10"}), Accept="application/json")
        assert re.fullmatch(r"The music stops \w{3} \d{4}-\d\d-\d\d 23:10", answer.json["answer"])
