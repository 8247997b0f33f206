"""The command `update`: installed and refused releases. The archives install fake releases."""

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pi_appliance.errors import ApplianceError
from pi_appliance.maintenance.releases import Installation
from pi_appliance.maintenance.update_install import update
from tests.fakes.release_server import ReleaseServer, release_server

# Like deploy/install.sh, it builds the release next to the old one and switches the link atomically.
INSTALL = """
[ "$1 $2" = "--yes --prefix" ] || exit 2
here=$(dirname "$(dirname "$0")")
home=$3/opt/pi-appliance
mkdir -p "$home/releases/VERSION-new/bin"
cp "$here/program" "$home/releases/VERSION-new/bin/python"
touch "$home/releases/VERSION-new/.whole"
ln -sfn releases/VERSION-new "$home/current.new"
mv -T "$home/current.new" "$home/current"
"""
NOT_READY = "echo 'it does not start' >&2; exit 1"


def program(*failures: str) -> str:
    """Return a program that writes backups, and whose doctor fails at `failures`."""
    checks = json.dumps([{"check": "jobs", "status": "ok"}, *({"check": n, "status": "fail"} for n in failures)])
    return f"#!/bin/sh\nshift 3\ncase $1 in backup) echo saved >$2 ;; doctor) echo '{checks}' ;; esac\n"


def archive(version: str = "0.2.0", *, script: str = INSTALL, failures: tuple[str, ...] = (), **more: str) -> bytes:
    """Return the archive of a release; `more` are files outside its folder."""
    content = {
        "pi/pi_appliance/__init__.py": f'__version__ = "{version}"\n',
        "pi/deploy/install.sh": script.replace("VERSION", version),
        "pi/program": program(*failures),
        **more,
    }
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as members:
        link = tarfile.TarInfo("pi/link")  # a clone has links; install.sh does not need them
        link.type, link.linkname = tarfile.SYMTYPE, "../../.."
        members.addfile(link)
        for name, text in content.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o755
            members.addfile(info, io.BytesIO(text.encode()))
    return target.getvalue()


@pytest.fixture
def server() -> Iterator[ReleaseServer]:
    with release_server("0.2.0", archive()) as started:
        yield started


@pytest.fixture
def root(tmp_path: Path, server: ReleaseServer) -> Path:
    """Return a root with release 0.1.0, whose doctor fails at the check "card"."""
    home = tmp_path / "opt/pi-appliance"
    release = home / "releases/0.1.0-old"
    (release / "bin").mkdir(parents=True)
    (release / "bin/python").write_text(program("card"))
    (release / "bin/python").chmod(0o755)
    (release / ".whole").touch()
    (home / "current").symlink_to("releases/0.1.0-old")
    (tmp_path / "var/lib/pi-appliance").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/pi-appliance-update.conf").write_text(f"# ours\naddress={server.address}/releases\n")
    (tmp_path / "etc/pi-appliance-update.conf").chmod(0o644)
    return tmp_path


def run(root: Path, *words: str) -> Result:
    return CliRunner().invoke(update, ["--prefix", str(root), *words])


def active(root: Path) -> str:
    return (root / "opt/pi-appliance/current").readlink().name


def assert_refused(root: Path, because: str, *words: str) -> None:
    """Check that the update is refused, the old release is active, and no draft is left."""
    ended = run(root, "--yes", *words)
    assert isinstance(ended.exception, ApplianceError)
    assert because in str(ended.exception)
    assert active(root) == "0.1.0-old"
    assert not list((root / "opt/pi-appliance").glob(".update-*"))
    assert [each.name for each in (root / "opt/pi-appliance/releases").iterdir()] == ["0.1.0-old"], "--back leads there"


def test_check_shows_what_is_new_and_installs_nothing(root: Path) -> None:
    ended = run(root, "--check")
    assert ended.exit_code == 10
    assert "version 0.1.0; 0.2.0 is available" in ended.output
    assert "Alarms fade in." in ended.output
    assert "The first." not in ended.output
    assert "preview" not in ended.output
    assert active(root) == "0.1.0-old"


def test_the_newest_release_is_installed_after_a_backup_and_back_returns(root: Path) -> None:
    assert run(root, "--yes").exit_code == 0  # "card" failed before, too
    assert active(root) == "0.2.0-new"
    assert (root / "var/lib/pi-appliance/before-update.tar.gz").read_text() == "saved\n"
    assert run(root, "--check").output == "version 0.2.0, up to date\n"
    assert run(root, "--back", "--yes").exit_code == 0
    assert active(root) == "0.1.0-old"


def test_what_is_new_and_what_was_done_is_json_for_programs(root: Path) -> None:
    looked = run(root, "--check", "--json")
    result = json.loads(looked.stdout)
    assert (looked.exit_code, looked.stderr, result["version"]) == (10, "", "0.1.0")
    assert [(each["version"], "Alarms fade in." in each["notes"]) for each in result["newer"]] == [("0.2.0", True)]

    done = run(root, "--yes", "--json")
    result = json.loads(done.stdout)
    assert (result["version"], result["previous"], result["steps"][0]) == ("0.2.0", "0.1.0", "downloading 0.2.0")
    assert [line for line in done.stderr.splitlines() if line in result["steps"]] == result["steps"]
    assert "version 0.2.0 is installed" in done.stderr

    assert json.loads(run(root, "--check", "--json").stdout) == {"version": "0.2.0", "newer": []}
    nothing = json.loads(run(root, "--yes", "--json").stdout)
    assert nothing == {"version": "0.2.0", "previous": "0.2.0", "steps": []}
    asked = CliRunner().invoke(update, ["--prefix", str(root), "--back", "--json"], input="y\n")
    steps = ["returning to 0.1.0-old"]
    assert json.loads(asked.stdout) == {"version": "0.1.0", "previous": "0.2.0", "steps": steps}
    assert "Return to 0.1.0-old?" in asked.stderr


def test_a_release_whose_configuration_cannot_be_read_is_left(root: Path) -> None:
    assert run(root, "--yes").exit_code == 0
    broken = (
        "import sys; sys.modules['pi_appliance.config'] = None; import pi_appliance.maintenance.update_install as it"
    )
    words = ["--prefix", str(root), "--back", "--yes"]
    subprocess.run([sys.executable, "-c", f"{broken}; it.update({words})"], check=True, timeout=60)
    assert active(root) == "0.1.0-old"


def test_a_file_needs_no_network(root: Path, tmp_path: Path) -> None:
    (root / "etc/pi-appliance-update.conf").unlink()
    assert_refused(root, "updates are off")
    (tmp_path / "new.tar.gz").write_bytes(archive("0.3.0"))
    assert run(root, "--yes", str(tmp_path / "new.tar.gz")).exit_code == 0
    assert active(root) == "0.3.0-new"


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("body", "because"),
    [
        (archive()[:-60], "damaged"),
        (archive(**{"../outside": "x"}), "'../outside' is not a file below its folder"),
        (archive(**{"/outside": "x"}), "'/outside' is not a file below its folder"),
        (archive(**{"pi/link/../outside": "x"}), "is not a file below its folder"),
        (archive("0.0.9"), "the archive of 0.2.0 has version 0.0.9"),
        (archive(script=NOT_READY), "could not be installed: it does not start; 0.1.0-old is active"),
        (archive(script=f"{INSTALL}exit 1"), "0.1.0-old is active"),
        (archive(failures=("card", "player")), "0.2.0 fails at: player; 0.1.0-old is active again"),
    ],
    ids=[
        "truncated",
        "parent",
        "absolute",
        "through a link",
        "other version",
        "not ready",
        "fails late",
        "doctor fails",
    ],
)
def test_a_bad_release_leaves_the_old_one_active(root: Path, server: ReleaseServer, body: bytes, because: str) -> None:
    server.offer("0.2.0", body)
    assert_refused(root, because)
    assert not list(root.parent.rglob("outside"))


def test_an_archive_with_another_hash_is_refused(root: Path, server: ReleaseServer) -> None:
    server.offer("0.2.0", archive(), digest="0" * 64)
    assert_refused(root, "its SHA-256 is not 0000")


def test_nothing_is_written_through_a_link(root: Path, server: ReleaseServer) -> None:
    server.offer("0.2.0", archive(**{"pi/link/outside": "x"}))
    assert run(root, "--yes").exit_code == 0
    assert not list(root.parent.rglob("outside"))


def test_an_older_file_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "old.tar.gz").write_bytes(archive("0.0.9"))
    assert_refused(root, "0.0.9 is older than the installed 0.1.0", str(tmp_path / "old.tar.gz"))


def test_without_a_backup_nothing_is_installed(root: Path) -> None:
    (root / "var/lib/pi-appliance").rmdir()
    assert_refused(root, "no backup could be written")


def test_an_address_that_others_can_write_or_change_is_refused(root: Path) -> None:
    source = root / "etc/pi-appliance-update.conf"
    source.chmod(0o666)
    assert_refused(root, "can be written by others than root")
    source.chmod(0o644)
    source.write_text("address=http://example.org/releases\n")
    assert_refused(root, "begins with https://")


def test_a_clone_is_updated_with_git(tmp_path: Path) -> None:
    ended = run(tmp_path, "--check")
    assert "git pull" in str(ended.exception)


def test_a_package_is_updated_with_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", "/usr/lib/pi-appliance")
    assert "sudo apt install" in str(run(tmp_path, "--check").exception)


def test_the_steps_and_the_result_are_kept_for_the_page(root: Path, server: ReleaseServer) -> None:
    installation = Installation(root / "opt/pi-appliance")
    server.offer("0.2.0", archive(failures=("player",)))
    assert run(root, "--yes").exception
    failed = installation.read_progress()
    assert (failed["state"], failed["version"]) == ("failed", "0.2.0")
    assert "0.2.0 fails at: player" in failed["message"]
    server.offer("0.2.0", archive())
    run(root, "--yes")
    done = installation.read_progress()
    assert (done["state"], done["steps"][0], done["steps"][-1]) == (
        "done",
        "downloading 0.2.0",
        "checking it with its doctor",
    )
    run(root, "--yes", "--back")
    assert (installation.read_progress()["version"], installation.read_progress()["left"]) == ("0.1.0", "0.2.0")
    run(root, "--yes", "--check")
    assert installation.read_progress()["version"] == "0.1.0", "only looking changes nothing"
