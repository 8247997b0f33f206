"""Entries in the real crontab and in /etc/cron.d, installed and removed without a trace."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pi_appliance.errors import Refused
from pi_appliance.scheduling.crontab import NOTICE, SystemCrontab, UserCrontab
from tests.examples import examples
from tests.scheduling.scratch_crontab import Crontab, scratch_crontab

CONFIG = Path("/home/pi/my appliance/appliance.yaml")
ENTRIES = ["0 6 * * * true one --trigger cron --config x", "@reboot true two --trigger cron --config x"]


@pytest.fixture(scope="module")
def crontab() -> Iterator[Crontab]:
    with scratch_crontab() as scratch:
        yield scratch


def test_an_install_appends_one_marked_block(crontab: Crontab) -> None:
    crontab.set(b"# mine\n0 1 * * * backup\n")
    UserCrontab(CONFIG, user=crontab.user).install(ENTRIES)
    assert crontab.get() == (
        b"# mine\n0 1 * * * backup\n"
        + f"# BEGIN pi-appliance {CONFIG}\n{NOTICE}\n{ENTRIES[0]}\n{ENTRIES[1]}\n# END pi-appliance {CONFIG}\n".encode()
    )


def test_a_second_install_changes_nothing_and_says_so(crontab: Crontab) -> None:
    crontab.set(None)
    place = UserCrontab(CONFIG, user=crontab.user)
    assert place.install(ENTRIES).has_changes
    assert not place.install(ENTRIES).has_changes


def test_a_plan_shows_the_change_without_making_it(crontab: Crontab) -> None:
    crontab.set(b"0 1 * * * backup\n")
    plan = UserCrontab(CONFIG, user=crontab.user).plan(ENTRIES)
    assert f"+{ENTRIES[0]}" in plan.diff().splitlines()
    assert "-0 1 * * * backup" not in plan.diff()
    assert crontab.get() == b"0 1 * * * backup\n"


@pytest.mark.parametrize("before", [None, b"", b"FOO = bar\n"], ids=["no crontab", "an empty one", "a setting"])
def test_an_uninstall_restores_the_former_crontab(crontab: Crontab, before: bytes | None) -> None:
    crontab.set(before)
    place = UserCrontab(CONFIG, user=crontab.user)
    place.install(ENTRIES)
    place.uninstall()
    assert crontab.get() == before


@pytest.mark.parametrize("own", ["0 7 * * * backup", "MAILTO=me@example.org", "# mine"])
def test_a_line_of_the_owner_inside_the_block_is_shown_and_kept(crontab: Crontab, tmp_path: Path, own: str) -> None:
    crontab.set(None)
    places = UserCrontab(CONFIG, user=crontab.user), SystemCrontab(CONFIG, path=tmp_path / "pi-appliance")
    for place in places:
        place.install(ENTRIES)
    edited = (crontab.get() or b"").replace(ENTRIES[1].encode(), f"{own}\n{ENTRIES[1]}".encode())
    crontab.set(edited)
    with places[1].path.open("a") as file:
        file.write(f"{own}\n")
    for place in places:
        for change in (place.plan, place.install, lambda _, place=place: place.uninstall()):
            with pytest.raises(Refused, match=f"lines of yours.*{re.escape(repr(own))}"):
                change(ENTRIES)
    assert crontab.get() == edited
    assert own in places[1].path.read_text()


def test_without_cron_jobs_the_block_is_removed(crontab: Crontab) -> None:
    crontab.set(b"# mine\n")
    place = UserCrontab(CONFIG, user=crontab.user)
    place.install(ENTRIES)
    place.install([])
    assert crontab.get() == b"# mine\n"


def test_the_old_crontab_is_copied_to_the_state_folder(crontab: Crontab, tmp_path: Path) -> None:
    crontab.set(b"# mine\n")
    backup = tmp_path / "state" / "crontab.before"
    UserCrontab(CONFIG, user=crontab.user, backup=backup).install(ENTRIES)
    assert backup.read_bytes() == b"# mine\n"
    assert backup.stat().st_mode & 0o777 == 0o600


def test_a_failed_backup_stops_the_install(crontab: Crontab, tmp_path: Path) -> None:
    crontab.set(b"# mine\n")
    (tmp_path / "file").touch()
    with pytest.raises(Exception, match="cannot be written"):
        UserCrontab(CONFIG, user=crontab.user, backup=tmp_path / "file" / "crontab.before").install(ENTRIES)
    assert crontab.get() == b"# mine\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look into cron's own folder")
def test_hidden_carriage_returns_survive(crontab: Crontab) -> None:
    before = b"# from windows\r\n0 1 * * * grep '\\bword\\r' x\b\n"
    crontab.set(before)
    place = UserCrontab(CONFIG, user=crontab.user)
    place.install(ENTRIES)
    assert (crontab.stored() or b"").startswith(before)
    place.uninstall()
    assert crontab.stored() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write into cron's own folder")
@pytest.mark.parametrize(("last", "after"), [("# by hand", "# by hand"), ("0 1 * * * true", "0 1 * * * true\n")])
def test_a_last_line_without_newline_gets_one(crontab: Crontab, last: str, after: str) -> None:
    crontab.set(b"# mine\n")
    spool = Path("/var/spool/cron/crontabs", crontab.user or "root")
    spool.write_text(spool.read_text() + last)
    place = UserCrontab(CONFIG, user=crontab.user)
    place.install(ENTRIES)
    place.uninstall()
    assert crontab.get() == f"# mine\n{after}".encode()


LINES = st.one_of(
    st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=30).map("# {}".format),
    st.sampled_from(["FOO = bar", "X=1", "  ", "\t# tab", "0 22-2 * * * never", "5\t8 * * 7\techo  100\\%\t% in\r"]),
    st.sampled_from(["@daily echo é%", "@reboot  x", " 05 08 * * * y", "MAILTO=''", "0 0-23 * * mon echo \\r \b"]),
)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(LINES, max_size=8))
def test_install_install_uninstall_restores_the_same_bytes(crontab: Crontab, lines: list[str]) -> None:
    assume(crontab.set("".join(line + "\n" for line in lines).encode()))
    before = crontab.get()
    place = UserCrontab(CONFIG, user=crontab.user)
    assert place.install(ENTRIES).has_changes
    assert not place.install(ENTRIES).has_changes
    assert place.uninstall().has_changes
    assert crontab.get() == before


def test_concurrent_installs_lose_nothing(crontab: Crontab) -> None:
    crontab.set(b"# mine\n")
    code = (
        "import sys; from pathlib import Path; from pi_appliance.scheduling.crontab import UserCrontab\n"
        "entry = f'0 6 * * * true --trigger cron --config {sys.argv[1]}'\n"
        "UserCrontab(Path(sys.argv[1]), user=sys.argv[2] or None).install([entry])"
    )
    configs = [f"/home/pi/{number}.yaml" for number in range(6)]
    running = [subprocess.Popen([sys.executable, "-c", code, config, crontab.user or ""]) for config in configs]
    assert [process.wait(60) for process in running] == [0] * 6
    text = (crontab.get() or b"").decode()
    assert all(text.count(f"0 6 * * * true --trigger cron --config {config}\n") == 1 for config in configs)
    for config in configs:
        UserCrontab(Path(config), user=crontab.user).uninstall()
    assert crontab.get() == b"# mine\n"


def test_a_crontab_of_an_unknown_user_is_refused_in_one_line() -> None:
    with pytest.raises(Refused, match="no user of this machine is called 'no-such-user'"):
        UserCrontab(CONFIG, user="no-such-user").install(ENTRIES)


def test_the_system_file_is_created_and_removed_with_its_entries(tmp_path: Path) -> None:
    place = SystemCrontab(CONFIG, path=tmp_path / "pi-appliance")
    assert place.install(ENTRIES).has_changes
    assert not place.install(ENTRIES).has_changes
    assert place.path.read_text().splitlines()[-1] == ENTRIES[1]
    assert place.path.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["pi-appliance"]
    assert place.uninstall().has_changes
    assert not place.uninstall().has_changes
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["install", "uninstall"])
def test_a_system_file_of_another_program_stays(tmp_path: Path, change: str) -> None:
    place = SystemCrontab(CONFIG, path=tmp_path / "pi-appliance")
    place.path.write_text("# the entries of another\n")
    with pytest.raises(Refused, match="belongs to something else"):
        place.install(ENTRIES) if change == "install" else place.uninstall()
    assert place.path.read_text() == "# the entries of another\n"
