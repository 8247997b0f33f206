"""Backups on the page: download, upload, check, restore."""

import io
import re
import sqlite3
import tarfile
import urllib.error
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pi_appliance.errors import Refused
from pi_appliance.storage.backup_archive import check_archive
from pi_appliance.storage.daily_backups import back_up_daily
from tests.installation import Installation, wait_until
from tests.test_daemon import running_daemon
from tests.web.served_appliance import configuration, serving

JOBS = """greet: {kind: command, with: {run: [echo, hidden words]}}
tweets: {kind: tweet, with: {lines: tweets.txt, network: show, order: in-order}}"""
NETWORKS = "networks: {show: {kind: preview}}\nweb: {port: 0}"


@pytest.fixture
def prepared(installation: Installation) -> Installation:
    installation.write(JOBS, NETWORKS)
    (installation.folder / "tweets.txt").write_text("One.\nTwo.\nThree.\n")
    installation.run("jobs", "run", "tweets")
    for secret in ("devices.json", "last-good-0123.yaml", "configurations/earlier.yaml", "networks/x/session.json"):
        path = installation.state / secret
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("top secret")
    (installation.state / "stations.json").write_text("[]")
    return installation


def send_request(origin: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(origin + path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def upload(origin: str, content: bytes) -> str:
    """Send `content` as a browser without scripts does, and return the page that follows."""
    head = b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="a.tar.gz"\r\n\r\n'
    return send_request(origin, "/system/backup", head + content + b"\r\n--xyz--\r\n", Content_Type=FORM)[1].decode()


FORM = "multipart/form-data; boundary=xyz"


def posted(installation: Installation) -> list[str]:
    return [post["text"] for post in installation.json("tweets", "list")["posts"]]


def test_a_download_is_restored_and_nothing_is_posted_twice(prepared: Installation) -> None:
    with running_daemon(prepared) as daemon:
        _, archive = send_request(daemon.page, "/system/backup/download")
        with tarfile.open(fileobj=io.BytesIO(archive)) as file:
            names, text = set(file.getnames()), file.extractfile("configuration/appliance.yaml").read().decode()
            assert b"".join(file.extractfile(name).read() for name in names).count(b"secret") == 0
        assert names == {
            *("about.json", "history.db", "stations.json"),
            *("configuration/appliance.yaml", "configuration/tweets.txt"),
        }
        assert "hidden words" not in text
        assert list(prepared.state.glob(".*archive*")) == [], "no temporary file is left"

        prepared.run("jobs", "run", "tweets")
        prepared.run("jobs", "run", "greet")
        assert posted(prepared) == ["Two.", "One."]
        (prepared.state / "stations.json").write_text("[changed]")
        page = upload(daemon.page, archive)
        assert "1 run, 1 post" in page
        assert len(prepared.json("jobs", "history")) == 3, "nothing changes before the confirmation"
        token = page.partition('name="token" value="')[2][:16]
        assert send_request(daemon.page, "/system/backup/restore", b"token=another")[0] == 409
        status, waiting = send_request(daemon.page, "/system/backup/restore", f"token={token}".encode())
        assert status == 200
        assert b'data-then="/system/backup"' in waiting
        wait_until(lambda: daemon.pages[1:])
        wait_until(lambda: prepared.run("status").returncode == 0)
        assert [run["job"] for run in prepared.json("jobs", "history")] == ["tweets"]
        assert (prepared.state / "stations.json").read_text() == "[]"
        assert (prepared.state / "devices.json").read_text() == "top secret"
        assert posted(prepared) == ["Two.", "One."], "posts since the backup stay recorded"
        prepared.run("jobs", "run", "tweets")
        assert posted(prepared) == ["Three.", "Two.", "One."], "and their lines stay used"
        assert "restore: database and state are those of the backup" in daemon.output
        assert list(prepared.state.glob(".*.tar.gz")) == []


def packed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_what_cannot_be_restored_is_refused_and_leaves_nothing(prepared: Installation) -> None:
    with serving(prepared.config) as appliance:
        good = appliance.request("/system/backup/download").body
        database = (prepared.state / "history.db").read_bytes()
        with tarfile.open(fileobj=io.BytesIO(good)) as file:
            database = file.extractfile("history.db").read()
        old = prepared.folder / "old.db"
        old.write_bytes(database)
        with sqlite3.connect(old) as db:
            db.execute("PRAGMA user_version = 1")
        db.close()
        spoilt = database[:4096] + b"x" * 4096 + database[8192:]
        for content, reason in (
            (b"no archive", "not a backup of pi-appliance"),
            (good[: len(good) // 2], "not all of it arrived"),
            (packed({"photo.jpg": b"1"}), "it has no history.db"),
            (packed({"history.db": old.read_bytes()}), "written by an older pi-appliance"),
            (packed({"history.db": spoilt}), "its database is damaged"),
            (packed({"history.db": b""}), "it has no history.db"),
        ):
            status, page = send_request(appliance.origin, "/system/backup", content, Content_Type="application/gzip")
            assert (status, reason) == (409, next((each for each in [reason] if each in page.decode()), page.decode()))
            assert b"Nothing was changed" in page
            assert b"token" not in page
        too_large = appliance.request("/system/backup", "x", Content_Length="900000000000")
        assert too_large.status == 413
        assert "The file is too large: there is space for" in too_large.text
        cut = send_request(appliance.origin, "/system/backup", b"--xyz\r\n\r\n" + good, Content_Type=FORM)
        assert (cut[0], b"ended too early" in cut[1]) == (400, True)
        assert list(prepared.state.glob(".*upload*")) + list(prepared.state.glob(".archive-check*")) == []


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(packed({"memory/zeros": bytes(5_000_000)}))
    assert path.stat().st_size < 10_000
    with pytest.raises(Refused, match="it holds more than 1 MB, for which there is no space"):
        check_archive(path, tmp_path, max_size=1_000_000)


def test_an_unconfirmed_upload_is_discarded_and_nightly_backups_are_listed(tmp_path: Path) -> None:
    with serving(configuration(tmp_path)) as appliance:
        state = appliance.daemon.appliance.config.state_dir
        assert back_up_daily(appliance.daemon.appliance.store) is not None
        (name,) = re.findall(r"/system/backup/stored/(history-\w+\.db)", appliance.request("/system/backup").text)
        nightly = appliance.request(f"/system/backup/stored/{name}")
        assert nightly.body.startswith(b"SQLite format 3")
        assert nightly.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert appliance.request("/system/backup/stored/..%2Fsecret.key").status == 404
        assert "This backup is complete" in upload(appliance.origin, appliance.request("/system/backup/download").body)
        assert appliance.request("/system/backup/restore", "discard=1").status == 303
        assert "This backup is complete" not in appliance.request("/system/backup").text
        assert list(state.glob(".*.tar.gz")) == []
        assert appliance.daemon.restarts == 0


def test_a_restore_that_fails_at_the_start_changes_nothing_and_says_so(prepared: Installation) -> None:
    (prepared.state / ".restore.tar.gz").write_bytes(b"spoilt after the check")
    with running_daemon(prepared) as daemon:
        assert "restore: the backup was not used, and nothing was changed: the file is not a" in daemon.output
        assert [run["job"] for run in prepared.json("jobs", "history")] == ["tweets"]
        assert "the backup was not used" in send_request(daemon.page, "/system/backup")[1].decode()
        assert list(prepared.state.glob(".*.tar.gz")) == []


@pytest.mark.slow
def test_a_stored_backup_is_restored_with_one_press(prepared: Installation) -> None:
    with running_daemon(prepared) as daemon:
        (backup,) = prepared.json("system", "backups", "create")
        assert backup["place"] == "card"
        prepared.run("jobs", "run", "greet")
        assert len(prepared.json("jobs", "history")) == 2
        assert prepared.call("system", "backups", "restore", "../history.db")[0] == 2
        assert backup["name"] in [each["name"] for each in prepared.json("system", "backups", "list")]
        assert backup["name"].encode() in send_request(daemon.page, "/system/backup")[1]
        status, waiting = send_request(daemon.page, "/system/backup/restore", f"name={backup['name']}".encode())
        assert (status, b'data-then="/system/backup"' in waiting) == (200, True)
        wait_until(lambda: daemon.pages[1:])
        wait_until(lambda: prepared.run("status").returncode == 0)
        assert [run["job"] for run in prepared.json("jobs", "history")] == ["tweets"]
        assert "restore: database and state are those of the backup" in daemon.output


def test_a_daily_backup_is_written_to_the_folder_and_a_missing_one_is_reported(prepared: Installation) -> None:
    drive = prepared.folder / "drive"
    prepared.write(JOBS, f"{NETWORKS}\nbackup: {{folder: '{drive}', keep: 2}}")
    prepared.run("jobs", "run", "greet")
    assert not drive.exists()
    with serving(prepared.config) as appliance:
        assert "no backup can be written to its folder" in appliance.request("/health").json["degraded"]
        assert f"The folder for backups, {drive}, is not there; connect its drive" in appliance.request("/").text
        refused = appliance.request("/api/v1/system/backups", {})
        assert (refused.status, "is not there; connect its drive" in refused.text) == (503, True)
        drive.mkdir()
        assert "degraded" not in appliance.request("/health").json
        prepared.run("jobs", "run", "greet")
        prepared.run("jobs", "run", "greet")  # one a day
        (copy,) = drive.iterdir()
        assert appliance.request(f"/system/backup/stored/{copy.name}").body == copy.read_bytes()
        with tarfile.open(copy) as file:
            assert b"".join(file.extractfile(name).read() for name in file.getnames()).count(b"top secret") == 0
        for day in (1, 2):
            (drive / re.sub(r"-\d{8}T", f"-2020010{day}T", copy.name)).write_bytes(b"old")
        (drive / "holiday.tar.gz").write_bytes(b"not ours")
        places = [each["place"] for each in appliance.request("/api/v1/system/backups", {}).json]
        assert places == ["card", "folder"]
        assert len(list(drive.glob("*-2*.tar.gz"))) == 2
        assert (drive / "holiday.tar.gz").exists()
        damaged = drive / re.sub(r"-\d{8}T", "-20190101T", copy.name)
        damaged.write_bytes(b"spoilt")
        answer = appliance.request(f"/api/v1/system/backups/{damaged.name}/restore", {})
        assert (answer.status, "not a backup of pi-appliance" in answer.text) == (409, True)
        assert appliance.daemon.restarts == 0
        assert list(prepared.state.glob(".*.tar.gz")) == []


def test_a_folder_for_drives_without_a_drive_is_not_written(prepared: Installation) -> None:
    with TemporaryDirectory(dir="/mnt") as folder:
        prepared.write(JOBS, f"{NETWORKS}\nbackup: {{folder: {folder}}}")
        status, _, errors = prepared.call("system", "backups", "create")
        assert (status, f"no drive is mounted at the folder for backups, {folder}" in errors) == (75, True)
        assert list(Path(folder).iterdir()) == []
    prepared.write(JOBS, f"{NETWORKS}\nbackup: {{folder: /{'x' * 300}}}")  # simulates a failing drive
    with serving(prepared.config) as appliance:
        assert "cannot be used: File name too long; check its drive" in appliance.request("/system/backup").text
        assert "no backup can be written" in appliance.request("/health").json["degraded"]
