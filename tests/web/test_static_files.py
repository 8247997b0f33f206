"""The static files, the size of the pages, and the pages of the four places."""

import gzip
import json
import re
import struct
from pathlib import Path

from pi_appliance.music.player import NO_PLAYER
from tests.web.list_player import ListMusic
from tests.web.served_appliance import ServedAppliance, configuration, job, serving

STATIC = re.compile(r'"(/static/[^"]+)"')


def loaded_size(appliance: ServedAppliance, path: str) -> int:
    """Return the bytes of a page with its style and all scripts, as a browser gets them."""
    page = appliance.request(path, Accept_Encoding="gzip").body
    found = STATIC.findall(gzip.decompress(page).decode())
    folder = next(name for name in found if name.endswith(".css")).rpartition("/")[0]
    names, size = [name.rpartition("/")[2] for name in found if name.endswith((".css", ".js"))], len(page)
    for name in names:
        body = appliance.request(f"{folder}/{name}", Accept_Encoding="gzip").body
        size += len(body)
        imports = re.findall(rb'from "./([\w.]+)"', gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
        names += [each.decode() for each in imports if each.decode() not in names]
    return size


def test_static_files_are_kept_until_the_version_in_their_address_changes(appliance: ServedAppliance) -> None:
    address = next(name for name in STATIC.findall(appliance.request("/").text) if name.endswith("style.css"))
    answer = appliance.request(address)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in answer.headers["cache-control"]
    assert gzip.decompress(appliance.request(address, Accept_Encoding="gzip, br").body) == answer.body
    assert appliance.request(address, If_None_Match=answer.headers["etag"]).status == 304
    for path in ("/static/style.css", "/static/0123456789ab/style.css"):
        assert appliance.request(path).headers["cache-control"] == "no-cache"


def test_the_page_is_installable(appliance: ServedAppliance) -> None:
    manifest = next(name for name in STATIC.findall(appliance.request("/").text) if name.endswith(".webmanifest"))
    icons = [each for each in json.loads(appliance.request(manifest).text)["icons"] if each["type"] == "image/png"]
    for icon in icons:
        answer = appliance.request(f"{manifest.rpartition('/')[0]}/{icon['src']}")
        width, height = struct.unpack(">II", answer.body[16:24])
        assert (answer.headers["content-type"], f"{width}x{height}") == ("image/png", icon["sizes"])
    assert [icon["sizes"] for icon in icons] == ["192x192", "512x512"]


def test_the_first_load_is_small(appliance: ServedAppliance) -> None:
    assert max(loaded_size(appliance, path) for path in ("/", "/jobs", "/more")) < 70_000


def test_many_jobs_are_small_and_paged(tmp_path: Path) -> None:
    with serving(configuration(tmp_path, jobs="".join(job(f"job-{number}", "") for number in range(50)))) as appliance:
        text = appliance.request("/jobs").text
        assert text.count("data-job=") == 24
        assert "1 to 24 of 50" in text
        assert appliance.request("/jobs?start=48").text.count("data-job=") == 2
        assert loaded_size(appliance, "/jobs") < 90_000


def test_each_page_is_marked_in_the_navigation(appliance: ServedAppliance) -> None:
    places = {"/": "Music", "/music/radio": "Music", "/music/alarms": "Alarms", "/jobs": "Jobs", "/more": "More"}
    for path, label in {**places, "/jobs/hello": "Jobs", "/reports": "More", "/posts": "More"}.items():
        navigation = appliance.request(path).text.partition('<nav class="places"')[2].partition("</nav>")[0]
        assert re.findall(r"aria-current=.*</svg>(\w+)</a>", navigation) == [label], path


def test_without_music_the_jobs_are_the_first_page(tmp_path: Path) -> None:
    with serving(configuration(tmp_path), ListMusic(None, NO_PLAYER)) as appliance:
        assert appliance.request("/").headers["location"] == "/jobs"
        assert 'id="mini"' not in appliance.request("/jobs").text
        assert "No player is set up yet" in appliance.request("/music").text


def test_the_limit_of_the_volume_is_drawn_and_named(tmp_path: Path) -> None:
    path = configuration(tmp_path)
    path.write_text(path.read_text() + "volume: {maximum: 60}\n")
    with serving(path) as appliance:
        text = appliance.request("/").text
        assert "40 of 60" in text
        assert '<rect x="60%"' in text
        assert appliance.request("/api/v1/state").json["max_volume"] == 60
