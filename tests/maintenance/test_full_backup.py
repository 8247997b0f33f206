"""A full backup turns a new card into the same appliance."""

import gzip
import io
import json
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.installation import PROGRAM, Installation, wait_until
from tests.warm_program import run_process
from tests.web.served_appliance import serving

PASSPHRASE = "four words are enough"
SECRET = "WEB_PASSWORD=correct horse\n"
NETWORKS = "networks: {show: {kind: preview}}"
TWEETS = "tweets: {kind: tweet, with: {lines: lines/tweets.txt, network: show, order: in-order}}"


def run(installation: Installation, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command that reads `typed`."""
    command = [*PROGRAM, *words, "--config", str(installation.config)]
    done = run_process(command, env=installation.environment(), capture_output=True, text=True, input=typed)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def write_secrets(installation: Installation, text: str) -> Path:
    path = installation.folder / "secrets.env"
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.fixture
def old(installation: Installation) -> Installation:
    """Return an appliance that has posted the first of three lines."""
    (installation.folder / "lines").mkdir()
    (installation.folder / "lines/tweets.txt").write_text("One.\nTwo.\nThree.\n")
    installation.write(TWEETS, NETWORKS)
    write_secrets(installation, SECRET)
    installation.run("jobs", "run", "tweets")
    for name in ("networks/sky/session.json", "reports/pegs/result.txt"):
        (installation.state / name).parent.mkdir(parents=True, exist_ok=True)
        (installation.state / name).write_text(f"the {name}")
    return installation


@pytest.fixture
def new(tmp_path: Path) -> Installation:
    """Return a fresh installation."""
    installation = Installation(tmp_path / "new card")
    installation.folder.mkdir()
    installation.write("pause: {kind: command, with: {run: ['true']}}")
    write_secrets(installation, "WEB_PASSWORD=of the set-up\n")
    return installation


def test_a_new_card_becomes_the_same_appliance(old: Installation, new: Installation, tmp_path: Path) -> None:
    archive, starter = tmp_path / "whole.tar.gz", new.config.read_text()
    written = run(old, "backup", str(archive), "--secrets", typed=f"{PASSPHRASE}\n")
    assert (written.returncode, written.stdout) == (0, f"{archive}: configuration, database and state of {old.state}\n")
    assert archive.stat().st_mode & 0o777 == 0o600
    content = gzip.decompress(archive.read_bytes())
    assert b"correct horse" not in content
    assert b"session.json" not in content

    wrong = run(new, "restore", str(archive), typed="four other words\n")
    assert (wrong.returncode, new.config.read_text()) == (1, starter)
    assert "the passphrase does not fit its secrets" in wrong.stderr
    assert not (new.state / "history.db").exists()

    done = run(new, "restore", str(archive), typed=f"{PASSPHRASE}\n")
    assert done.returncode == 0, done.stderr
    assert new.config.read_text() == old.config.read_text().replace(str(old.state), str(new.state))
    assert new.config.with_name("appliance.yaml.before-restore").read_text() == starter
    secrets = new.folder / "secrets.env"
    assert (secrets.read_text(), secrets.stat().st_mode & 0o777) == (SECRET, 0o600)
    saved_files = new.folder / "secrets.env.before-restore"
    assert (saved_files.read_text(), saved_files.stat().st_mode & 0o777) == ("WEB_PASSWORD=of the set-up\n", 0o600)
    for name in ("networks/sky/session.json", "reports/pegs/result.txt"):
        assert (new.state / name).read_text() == f"the {name}"
    assert [run["job"] for run in new.json("jobs", "history")] == ["tweets"]
    assert new.run("jobs", "run", "tweets").returncode == 0
    assert [post["text"] for post in new.json("tweets", "list")["posts"]] == ["Two.", "One."]
    assert list(new.state.glob(".*")) == []


@pytest.mark.slow_variants
@pytest.mark.parametrize("place", ["state/reports", "state", "."])
def test_a_nightly_backup_restores_the_whole_appliance(old: Installation, new: Installation, place: str) -> None:
    drive = old.folder / place / "drive"
    drive.mkdir()
    old.write(TWEETS, f"{NETWORKS}\nbackup: {{folder: '{drive}', whole: true}}\nweb: {{port: 0}}")
    missing = "write BACKUP_PASSPHRASE=… with 12 or more characters into secrets.env"
    assert "appliance.yaml:5:" in (checked := run(old, "config", "check").stderr)
    assert missing in checked
    status, _, errors = old.call("system", "backups", "create")
    assert (status, missing in errors, list(drive.iterdir())) == (75, True, [])

    write_secrets(old, f"{SECRET}BACKUP_PASSPHRASE={PASSPHRASE}\n")
    assert missing not in run(old, "config", "check").stderr
    (drive / "earlier.tar.gz").write_bytes(b"earlier")
    old.run("jobs", "run", "tweets")
    (archive,) = drive.glob("*-whole.tar.gz")
    assert archive.name.endswith("Z-whole.tar.gz")
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as packed:
        assert not [name for name in packed.getnames() if "drive" in name], "no backup holds another"
    assert PASSPHRASE.encode() not in gzip.decompress(archive.read_bytes())

    done = run(new, "restore", str(archive), typed=f"{PASSPHRASE}\n")
    assert done.returncode == 0, done.stderr
    assert (new.folder / "secrets.env").read_text() == f"{SECRET}BACKUP_PASSPHRASE={PASSPHRASE}\n"
    for name in ("networks/sky/session.json", "reports/pegs/result.txt"):
        assert (new.state / name).read_text() == f"the {name}"
    assert [post["text"] for post in new.json("tweets", "list")["posts"]] == ["Two.", "One."]


def test_the_page_restores_the_history_of_a_whole_backup_and_does_not_send_it(old: Installation) -> None:
    drive = old.folder / "drive"
    drive.mkdir()
    old.write(TWEETS, f"{NETWORKS}\nbackup: {{folder: '{drive}', whole: true}}\nweb: {{port: 0}}")
    write_secrets(old, "")
    with serving(old.config) as appliance:
        assert "no backup can be written to its folder" in appliance.request("/health").json["degraded"]
        write_secrets(old, f"BACKUP_PASSPHRASE={PASSPHRASE}\n")
        assert "degraded" not in appliance.request("/health").json
        backup = appliance.request("/api/v1/system/backups", {}).json[-1]
        assert backup["name"] == next(drive.iterdir()).name
        page = appliance.request("/system/backup").text
        assert f'href="/system/backup/stored/{backup["name"]}"' not in page
        assert "the whole appliance" in page
        refused = appliance.request(f"/system/backup/stored/{backup['name']}")
        assert (refused.status, f"This backup holds the secrets; copy it from {drive}" in refused.text) == (403, True)
        assert appliance.request(f"/api/v1/system/backups/{backup['name']}/restore", {}).status == 200
        wait_until(lambda: appliance.daemon.restarts)


def test_an_archive_is_written_to_standard_output(old: Installation) -> None:
    command = [*PROGRAM, "backup", "-", "--config", str(old.config)]
    done = run_process(command, env=old.environment(), capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        assert "configuration/lines/tweets.txt" in archive.getnames()
    assert b"-: configuration, database and state of" in done.stderr


def test_nothing_that_exists_is_lost(old: Installation, new: Installation, tmp_path: Path) -> None:
    archive = tmp_path / "whole.tar.gz"
    assert run(old, "backup", str(archive)).returncode == 0
    report, session = new.state / "reports/pegs/result.txt", new.state / "networks/sky/session.json"
    for path in (report, session):
        path.parent.mkdir(parents=True)
        path.write_text("newer")
    for _ in range(2):
        new.config.write_text(f"# mine\n{new.config.read_text()}")
        assert run(new, "restore", str(archive)).returncode == 0
    assert (report.read_text(), session.read_text()) == ("newer", "newer")
    assert (new.folder / "secrets.env").read_text() == "WEB_PASSWORD=of the set-up\n"
    saved_files = sorted(path.name for path in new.folder.glob("*.before-restore*"))
    assert saved_files == ["appliance.yaml.before-restore", "appliance.yaml.before-restore-2"]


def test_secrets_are_left_out_unless_they_are_encrypted(old: Installation, tmp_path: Path) -> None:
    archive = tmp_path / "whole.tar.gz"
    done = run(old, "backup", str(archive))
    assert "the secrets are left out; keep a copy of secrets.env, or add --secrets" in done.stderr
    content = gzip.decompress(archive.read_bytes())
    assert b"correct horse" not in content
    assert b"session.json" not in content
    short = run(old, "backup", str(archive), "--secrets", typed="short\n")
    assert "a passphrase has at least 12 characters" in short.stderr
    assert run(old, "backup", str(archive), "--secrets").stderr.endswith("no passphrase was entered\n")


def test_only_some_parts_are_restored(old: Installation, new: Installation, tmp_path: Path) -> None:
    archive, starter = tmp_path / "whole.tar.gz", new.config.read_text()
    run(old, "backup", str(archive))
    done = run(new, "restore", str(archive), "--only", "secrets")
    assert f"{archive} holds no secrets; it holds configuration, reports, state" in done.stderr
    assert run(new, "restore", str(archive), "--only", "reports").returncode == 0
    assert (new.config.read_text(), (new.state / "history.db").exists()) == (starter, False)
    assert (new.state / "reports/pegs/result.txt").read_text() == "the reports/pegs/result.txt"
    run(old, "backup", str(archive), "--secrets", typed=f"{PASSPHRASE}\n")
    refused = run(new, "restore", str(archive))
    assert (refused.returncode, new.config.read_text()) == (1, starter)
    assert "holds secrets: enter their passphrase, or leave them out with --only state" in refused.stderr


def test_a_backup_holds_no_other_backup(old: Installation) -> None:
    archive = old.state / "before-update.tar.gz"
    for _ in range(2):
        assert run(old, "backup", str(archive)).returncode == 0
    with tarfile.open(archive) as file:
        assert [name for name in file.getnames() if name.endswith(".gz")] == []


def test_files_outside_the_folder_are_named(old: Installation, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("One.\n")
    old.write(TWEETS.replace("lines/tweets.txt", str(elsewhere)), NETWORKS)
    done = run(old, "backup", str(tmp_path / "whole.tar.gz"))
    assert f"{elsewhere} is left out, because it is not in {old.folder}" in done.stderr


def test_of_a_folder_with_much_else_only_the_named_files_are_taken(old: Installation, tmp_path: Path) -> None:
    (old.folder / "other things").mkdir()
    for number in range(2001):
        (old.folder / "other things" / str(number)).touch()
    archive = tmp_path / "whole.tar.gz"
    assert "only the files that the configuration names" in run(old, "backup", str(archive)).stderr
    with tarfile.open(archive) as file:
        names = {name for name in file.getnames() if name.startswith("configuration/")}
    assert names == {"configuration/appliance.yaml", "configuration/lines/tweets.txt"}


def test_a_changed_or_short_archive_is_refused(old: Installation, new: Installation, tmp_path: Path) -> None:
    archive, starter = tmp_path / "whole.tar.gz", new.config.read_text()
    run(old, "backup", str(archive), "--secrets", typed=f"{PASSPHRASE}\n")
    whole = archive.read_bytes()
    for broken in (whole[: len(whole) // 2], b"no archive", b""):
        archive.write_bytes(broken)
        done = run(new, "restore", str(archive), typed=f"{PASSPHRASE}\n")
        assert done.returncode == 1
        assert "is not a backup of pi-appliance" in done.stderr
        assert re.search(r"; (copy it again, or use another one|use a file that `pi-appliance backup`)", done.stderr)
        assert len(done.stderr.splitlines()) <= 2, "no list of what tarfile tried"
    archive.unlink()
    assert "No such file or directory; check its name" in run(new, "restore", str(archive)).stderr
    assert new.config.read_text() == starter
    assert not (new.state / "history.db").exists()


@pytest.mark.parametrize("name", ["configuration/../../outside", "/outside", "memory/../../outside"])
def test_an_archive_that_leads_out_of_its_folder_is_refused(new: Installation, tmp_path: Path, name: str) -> None:
    archive = tmp_path / "made.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        for each in ("history.db", name):
            file.addfile(tarfile.TarInfo(each), None)
    done = run(new, "restore", str(archive))
    assert done.returncode == 1
    assert f"{archive} is not a backup of pi-appliance: {name!r} leads out of it" in done.stderr
    assert list(tmp_path.rglob("outside")) == []
    assert list(new.state.glob(".*")) == []


@pytest.fixture
def mpd(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd") as server:
        yield server


@needs_mpd
def test_playlists_of_the_player_are_restored(
    old: Installation, new: Installation, mpd: MpdServer, tmp_path: Path
) -> None:
    player = f"player: {{kind: mpd, with: {{address: '{mpd.address}', fallback-mpd: false}}}}"
    old.write(TWEETS, f"{NETWORKS}\n{player}")
    mpd.mpc("add", "one.wav")
    mpd.mpc("add", "Ärzte/eins.wav")
    mpd.mpc("save", "Sunday; 100%")
    mpd.mpc("save", "Kept")
    archive = tmp_path / "whole.tar.gz"
    assert run(old, "backup", str(archive)).returncode == 0
    mpd.mpc("rm", "Sunday; 100%")
    mpd.mpc("rm", "Kept")
    mpd.mpc("del", "2")
    mpd.mpc("save", "Kept")
    done = run(new, "restore", str(archive))
    assert done.returncode == 0, done.stderr
    assert mpd.mpc("-f", "%file%", "playlist", "Sunday; 100%").split("\n")[:2] == ["one.wav", "Ärzte/eins.wav"]
    assert mpd.mpc("-f", "%file%", "playlist", "Kept").split() == ["one.wav"], "it exists"


@needs_mpd
def test_a_restore_without_the_player_reports_in_json_that_the_playlists_are_missing(
    old: Installation, new: Installation, mpd: MpdServer, tmp_path: Path
) -> None:
    player = "player: {kind: mpd, with: {address: '{}', fallback-mpd: false}}"
    old.write(TWEETS, f"{NETWORKS}\n{player.replace('{}', mpd.address)}")
    mpd.mpc("save", "Kept")
    archive = tmp_path / "whole.tar.gz"
    notes = json.loads(run(old, "backup", str(archive), "--json").stdout)["notes"]
    assert [each for each in notes if "playlists" in each] == []
    new.write(TWEETS, f"{NETWORKS}\n{player.replace('{}', '127.0.0.1:9')}")
    done = run(new, "restore", str(archive), "--only", "playlists", "--only", "state", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr, result["parts"]) == (0, "", ["state"])
    assert result["notes"][0].startswith("the playlists are not restored: ")
    assert result["notes"][1].endswith(f"pi-appliance restore {archive} --only playlists")
    new.write(TWEETS, f"{NETWORKS}\n{player.replace('{}', mpd.address)}")
    done = run(new, "restore", str(archive), "--only", "playlists", "--json")
    assert (json.loads(done.stdout)["parts"], json.loads(done.stdout)["notes"]) == (["playlists"], [])


def test_without_the_player_the_rest_is_restored(old: Installation, tmp_path: Path) -> None:
    old.write(TWEETS, f"{NETWORKS}\nplayer: {{kind: mpd, with: {{address: '127.0.0.1:9', fallback-mpd: false}}}}")
    done = run(old, "backup", str(tmp_path / "whole.tar.gz"))
    assert done.returncode == 0
    assert "the playlists of the player are left out: " in done.stderr
