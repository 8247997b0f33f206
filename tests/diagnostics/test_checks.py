"""The checks of the doctor, on healthy, broken and incomplete machines."""

import contextlib
import gzip
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from pi_appliance.diagnostics import appliance_checks, cli
from pi_appliance.diagnostics.context import CheckResult, DiagnosticContext, Status, run_checks
from pi_appliance.diagnostics.support_bundle import write_bundle
from pi_appliance.posting.model import Post, PostState
from pi_appliance.posting.store import JobPostStore
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system.systemd import MAIN_UNIT, packaged_units

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)  # a Monday
DAILY = "  greet: {kind: command, schedule: '0 6 * * *', with: {run: ['true']}}\n"
OK, WARN, FAIL, NOT_HERE = Status


@dataclass
class Clock:
    """A settable clock of a machine that was booted ten days ago."""

    shows: datetime = NOW
    up: float = 864_000.0
    right: bool = True

    def now(self) -> datetime:
        return self.shows

    def monotonic(self) -> float:
        return self.up

    def is_synchronized(self) -> bool:
        return self.right


class Machine:
    """A machine of temporary files and programs, with an appliance on it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.programs, self.config = folder / "root", folder / "bin", folder / "appliance.yaml"
        self.state, self.clock = folder / "state", Clock()
        self.programs.mkdir()
        self.root.mkdir()
        self.write(DAILY)
        self.put("proc/self/mountinfo", "27 1 179:2 / / rw,noatime - ext4 /dev/mmcblk0p2 rw\n")

    def write(self, jobs: str = "", rest: str = "") -> None:
        """Write the configuration with an old modification time."""
        text = f"state-dir: {self.state}\ntime-zone: UTC\nweb: {{port: 0}}\n{rest}jobs:\n{jobs or '  {}'}\n"
        self.config.write_text(text, "utf-8")
        os.utime(self.config, (0, 0))

    def put(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def systemd(self, *, active: str = "active", failed: str = "", reload: str = "no") -> None:
        """Simulate a running systemd with our unit."""
        (self.root / "run/systemd/system").mkdir(parents=True)
        self.program(
            "systemctl",
            f'case "$1" in show) printf "LoadState=loaded\\nActiveState={active}\\nResult=exit-code\\n'
            f'NeedDaemonReload={reload}\\n" ;; list-units) printf "{failed}" ;; esac',
        )

    @contextlib.contextmanager
    def history(self) -> Iterator[Store]:
        self.state.mkdir(exist_ok=True)
        with Store(self.state / "history.db") as store:
            yield store

    def ran(self, job: str, outcome: Outcome | None, at: datetime, due: str | None = None, summary: str = "") -> None:
        """Add a run to the history."""
        with self.history() as store:
            run, _ = store.start_run(job=job, kind="command", trigger=Trigger.DAEMON, due=due, now=at)
            if outcome:
                store.finish_run(run, outcome, summary, now=at, attempts=1)

    def context(self) -> DiagnosticContext:
        environment = {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.root)}
        return replace(DiagnosticContext.inspect(self.config, environment), clock=self.clock, root=self.root)

    def look(self, check: str) -> list[CheckResult]:
        """Return the results of one check."""
        return list(run_checks(self.context(), [(check, dict(cli.CHECKS)[check])]))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def only(result: list[CheckResult], verdict: Status, *words: str) -> CheckResult:
    """Return the only result, after checking its `verdict` and `words`."""
    assert len(result) == 1, result
    assert result[0].status is verdict, result
    for word in words:
        assert word in f"{result[0].summary} | {result[0].fix}", result
    assert "\n" not in result[0].summary
    assert (result[0].fix != "") == (verdict in (WARN, FAIL))
    return result[0]


# --- all checks -----------------------------------------------------------------------------------------------------


def test_a_healthy_machine_has_no_failure(machine: Machine) -> None:
    machine.ran("greet", Outcome.SUCCEEDED, NOW.replace(hour=6), "2026-05-04T06:00:00Z")
    result = list(run_checks(machine.context(), cli.CHECKS))
    assert not cli.has_failures(result), result
    assert {each.check for each in result if each.status is NOT_HERE} >= {"unit", "temperature", "power", "player"}
    assert not [each for each in result if each.summary.startswith("could not be checked")]


def test_a_crashing_check_is_one_line_and_the_others_run(machine: Machine, tmp_path: Path) -> None:
    (machine.root / "proc/self/mountinfo").unlink()
    result = list(run_checks(machine.context(), cli.CHECKS))
    broken = [each for each in result if each.summary.startswith("could not be checked: FileNotFoundError")]
    assert [each.check for each in broken] == ["state is kept", "card"]
    assert all(each.status is WARN and "doctor --bundle" in each.fix for each in broken)
    assert [each.check for each in result[-3:]] == ["job greet", "posts", "puzzles"]


# --- the user's files -----------------------------------------------------------------------------------------------


def test_a_valid_configuration_is_counted(machine: Machine) -> None:
    only(machine.look("configuration"), OK, "1 job, 0 networks")


def test_an_invalid_configuration_shows_its_first_problem_and_the_count(machine: Machine) -> None:
    machine.write("  a: {kind: comand}\n  b: {kind: command, chance: 5/4, with: {run: [x]}}\n")
    only(machine.look("configuration"), FAIL, "appliance.yaml:5:", "did you mean 'command'?", "more)", "config check")


def test_a_setting_that_a_job_will_fail_on_is_a_warning(machine: Machine) -> None:
    machine.write(
        "  post: {kind: tweet, with: {network: show, lines: gone.txt}}\n", "networks:\n  show: {kind: preview}\n"
    )
    only(machine.look("configuration"), WARN, "post: ", "gone.txt")


def test_an_invalid_stations_file_is_reported(machine: Machine) -> None:
    (machine.config.parent / "stations.yaml").write_text("- name: a\n")
    machine.write(DAILY, "stations: stations.yaml\n")
    assert [each.status for each in machine.look("configuration")] == [FAIL, OK]


KEYS = "X_CONSUMER_KEY=k1\nX_CONSUMER_SECRET=k2\nX_ACCESS_TOKEN=k3\nX_ACCESS_TOKEN_SECRET=k4\n"


def secrets_of(machine: Machine, text: str, mode: int = 0o600) -> None:
    path = machine.config.parent / "secrets.env"
    path.write_text(text)
    path.chmod(mode)


def test_secret_names_are_shown_and_never_values(machine: Machine) -> None:
    secrets_of(machine, KEYS)
    machine.write(DAILY, "networks:\n  bird: {kind: x}\n")
    result = only(machine.look("secrets"), OK, "4 known: X_ACCESS_TOKEN, ")
    assert not [value for value in ("k1", "k2", "k3", "k4") if value in result.summary]
    only(machine.look("networks"), OK, "x: all keys are set")


@pytest.mark.parametrize(("text", "mode", "says"), [(KEYS, 0o640, "chmod 600"), ("what\n", 0o600, "not NAME=value")])
def test_unusable_secrets_are_reported(machine: Machine, text: str, mode: int, says: str) -> None:
    secrets_of(machine, text, mode)
    only(machine.look("secrets"), FAIL, says)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_secrets_of_another_user_are_reported(machine: Machine) -> None:
    secrets_of(machine, KEYS)
    machine.state.mkdir()
    os.chown(machine.state, 65534, 65534)
    only(machine.look("secrets"), FAIL, "belongs to root", "sudo chown nobody")


def credential(machine: Machine, lines: str) -> None:
    """Configure the secrets of the service as a credential, with `lines` in its unit."""
    unit = machine.root / "unit"
    unit.write_text(f"[Service]\nExecStart=/opt/x/pi-appliance up --config {machine.config}\n{lines}\n")
    (machine.root / "run/systemd/system").mkdir(parents=True)
    machine.program("systemctl", f"[ \"$1\" != cat ] || cat '{unit}'")


@pytest.mark.skipif(os.geteuid() != 0, reason="a credential is root's")
def test_secrets_of_the_systemd_credential_are_preferred(machine: Machine) -> None:
    file = machine.root / "elsewhere.env"
    file.write_text(KEYS)
    file.chmod(0o600)
    credential(machine, f"LoadCredential=secrets.env:{file}")
    machine.write(DAILY, "networks:\n  bird: {kind: x}\n")
    only(machine.look("secrets"), OK, "4 known: X_ACCESS_TOKEN, ")
    only(machine.look("networks"), OK, "x: all keys are set")
    file.chmod(0o644)
    only(machine.look("secrets"), FAIL, f"chmod 600 {file}")


@pytest.mark.skipif(os.geteuid() != 0, reason="a credential is root's")
def test_a_bundle_redacts_the_secrets_of_the_systemd_credential(machine: Machine, tmp_path: Path) -> None:
    file = machine.root / "elsewhere.env"
    file.write_text("CLUE=hushhush\n")
    file.chmod(0o600)
    credential(machine, f"LoadCredential=secrets.env:{file}")
    machine.ran("greet", Outcome.FAILED, NOW, summary="it said hushhush")
    path = tmp_path / "out.tar.gz"
    assert any(line.startswith("runs.json") for line in write_bundle(path, machine.context(), []))
    assert b"hushhush" not in gzip.decompress(path.read_bytes())
    file.chmod(0o644)
    assert not any(line.startswith("runs.json") for line in write_bundle(path, machine.context(), []))


def test_a_network_without_keys_fails_if_a_job_uses_it(machine: Machine) -> None:
    secrets_of(machine, "X_CONSUMER_KEY=k1\n")
    machine.write(DAILY, "networks:\n  bird: {kind: x}\n")
    only(machine.look("networks"), WARN, "missing secrets: X_CONSUMER_SECRET, X_ACCESS_TOKEN, X_ACCESS_TOKEN_SECRET")
    machine.write("  post: {kind: tweet, with: {network: bird, lines: a.txt}}\n", "networks:\n  bird: {kind: x}\n")
    only(machine.look("networks"), FAIL, "pi-appliance networks login bird --config ")


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_synchronized_clock_passes(machine: Machine) -> None:
    only(machine.look("clock"), OK, "synchronized")


def test_an_unsynchronized_clock_is_reported(machine: Machine) -> None:
    machine.clock.right = False
    only(machine.look("clock"), WARN, "it was not synchronized since", "chrony")
    machine.systemd()
    only(machine.look("clock"), WARN, "sudo timedatectl set-ntp true")


@pytest.mark.parametrize(
    ("battery_time", "verdict"),
    [(NOW - timedelta(seconds=30), OK), (NOW - timedelta(hours=3), WARN), (datetime(1970, 1, 2, tzinfo=UTC), WARN)],
)
def test_a_battery_clock_passes_unless_the_battery_is_empty(
    machine: Machine, battery_time: datetime, verdict: Status
) -> None:
    machine.clock.right = False
    machine.put("sys/class/rtc/rtc0/since_epoch", f"{battery_time.timestamp():.0f}\n")
    only(machine.look("clock"), verdict)


def test_a_clock_behind_the_history_is_reported(machine: Machine) -> None:
    machine.ran("greet", Outcome.SUCCEEDED, NOW + timedelta(days=3))
    only(machine.look("clock"), FAIL, "3d before the newest run")


def test_a_cron_job_in_another_zone_is_reported(machine: Machine) -> None:
    machine.write(DAILY.replace("kind:", "started-by: cron, time-zone: Asia/Kathmandu, kind:"))
    only(machine.look("time zone"), FAIL, "greet uses the zone Asia/Kathmandu", "set-timezone Asia/Kathmandu")
    machine.write(DAILY.replace("kind:", "time-zone: Asia/Kathmandu, kind:"))
    only(machine.look("time zone"), OK)


# --- cron -------------------------------------------------------------------------------------------------------------

BY_CRON = DAILY.replace("kind:", "started-by: cron, kind:")


def test_without_cron_jobs_cron_is_not_checked(machine: Machine) -> None:
    only(machine.look("cron"), NOT_HERE)
    only(machine.look("crontab"), NOT_HERE)


def test_a_missing_cron_is_reported(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write(BY_CRON)
    lonely = replace(machine.context(), environment={"PATH": str(machine.programs)})
    (result,) = dict(cli.CHECKS)["cron"](lonely)
    assert (result.status, result.fix) == (FAIL, "sudo apt install cron")


@pytest.fixture
def system_table(machine: Machine) -> Callable[..., Path]:
    """Return the system crontab below the root of `machine`."""

    def write(entry: str = "", name: str = "pi-appliance") -> Path:
        program = shlex.quote(sys.executable)
        line = entry or f"0 6 * * * nobody {program} jobs run greet --trigger cron --config {machine.config}"
        head = (
            f"# The entries of {machine.config} for cron.\n"
            '# Written by "pi-appliance jobs install"; "pi-appliance jobs uninstall" takes it out again.\n'
        )
        path = machine.put(f"etc/cron.d/{name}", f"{head}{line}\n")
        path.chmod(0o644)
        return path

    return write


@pytest.fixture
def no_crontab(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a user without a crontab."""
    machine.program("crontab", 'echo "no crontab for me" >&2; exit 1')
    monkeypatch.setenv("PATH", f"{machine.programs}:/usr/bin:/bin")
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.usefixtures("no_crontab")
class TestCrontab:
    """The entries for cron."""

    def test_a_missing_crontab_entry_is_reported(self, machine: Machine) -> None:
        machine.write(BY_CRON)
        only(
            machine.look("crontab"), FAIL, "no entry for greet", f"pi-appliance jobs install --config {machine.config}"
        )

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")
    def test_a_current_crontab_entry_passes(self, machine: Machine, system_table: Callable[..., Path]) -> None:
        machine.write(BY_CRON)
        system_table()
        only(machine.look("crontab"), OK, "1 entry, as in the configuration")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")
    def test_an_outdated_crontab_entry_is_reported(self, machine: Machine, system_table: Callable[..., Path]) -> None:
        machine.write(BY_CRON.replace("0 6", "0 7"))
        system_table()
        only(
            machine.look("crontab"),
            FAIL,
            "differs from the configuration",
            "sudo pi-appliance jobs install --system --user-name nobody",
        )

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")
    def test_an_entry_of_a_job_without_cron_is_reported(
        self, machine: Machine, system_table: Callable[..., Path]
    ) -> None:
        system_table()
        only(machine.look("crontab"), FAIL, "differs from the configuration")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")
    def test_a_missing_program_is_reported(self, machine: Machine, system_table: Callable[..., Path]) -> None:
        machine.write(BY_CRON)
        system_table(f"0 6 * * * nobody /gone/pi-appliance jobs run greet --trigger cron --config {machine.config}")
        only(machine.look("crontab"), FAIL, "/gone/pi-appliance, which does not exist any more")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")
    def test_a_file_that_cron_does_not_read_is_reported(
        self, machine: Machine, system_table: Callable[..., Path]
    ) -> None:
        machine.write(BY_CRON)
        system_table().chmod(0o666)
        assert [(each.status, each.fix[:10]) for each in machine.look("crontab")] == [(FAIL, "sudo chmod"), (OK, "")]

    def test_a_file_name_that_cron_ignores_is_reported(
        self, machine: Machine, system_table: Callable[..., Path]
    ) -> None:
        machine.write(BY_CRON)
        system_table(name="pi-appliance.cron")
        result = machine.look("crontab")
        assert [each.status for each in result] == [FAIL, FAIL]
        assert "sudo mv" in result[0].fix

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")
    def test_entries_in_two_places_are_reported(self, machine: Machine, system_table: Callable[..., Path]) -> None:
        machine.write(BY_CRON)
        system_table()
        block = (
            f"# BEGIN pi-appliance {machine.config}\n"
            '# Written by "pi-appliance jobs install"; "pi-appliance jobs uninstall" takes it out again.\n'
            f"0 6 * * * {shlex.quote(sys.executable)} jobs run greet --trigger cron --config {machine.config}\n"
            f"# END pi-appliance {machine.config}\n"
        )
        table = machine.put("table", block)
        machine.program("crontab", f"cat '{table}'")
        assert [each.status for each in machine.look("crontab")] == [WARN, OK, OK]


# --- the service ------------------------------------------------------------------------------------------------------


def test_without_systemd_no_unit_is_checked(machine: Machine) -> None:
    only(machine.look("unit"), NOT_HERE)
    only(machine.look("failed units"), NOT_HERE)


def test_a_unit_that_is_not_installed_is_reported(machine: Machine) -> None:
    machine.systemd()
    only(machine.look("unit"), NOT_HERE, "not installed")


def test_a_changed_unit_is_reported(machine: Machine) -> None:
    machine.systemd()
    path = machine.put(f"etc/systemd/system/{MAIN_UNIT}", packaged_units()[MAIN_UNIT].decode())
    only(machine.look("unit"), OK, MAIN_UNIT)
    path.write_text(path.read_text() + "Nice=5\n")
    only(machine.look("unit"), WARN, "is not the one of", "deploy/install.sh")


def test_a_unit_not_reloaded_by_systemd_is_reported(machine: Machine) -> None:
    machine.systemd(reload="yes")
    machine.put(f"etc/systemd/system/{MAIN_UNIT}", packaged_units()[MAIN_UNIT].decode())
    only(machine.look("unit"), WARN, "sudo systemctl daemon-reload")


def test_failed_units_are_reported(machine: Machine) -> None:
    machine.systemd(failed="pi-appliance.service loaded failed failed x\\nnas.mount loaded failed failed y\\n")
    ours, theirs = machine.look("failed units")
    assert (ours.status, ours.fix) == (FAIL, "journalctl -u pi-appliance.service -n 30")
    assert "exit-code" in ours.summary
    assert (theirs.status, theirs.fix) == (WARN, "systemctl status nas.mount")


def test_no_failed_unit_passes(machine: Machine) -> None:
    machine.systemd()
    only(machine.look("failed units"), OK)


def test_a_page_without_a_fixed_port_is_matched_by_its_unit(machine: Machine) -> None:
    only(machine.look("daemon"), NOT_HERE)
    machine.systemd()
    only(machine.look("daemon"), OK, "unit is active")


# --- the state folder -------------------------------------------------------------------------------------------------


def test_a_missing_state_folder_is_reported(machine: Machine) -> None:
    only(machine.look("state folder"), OK, "the first start creates it")
    assert not machine.state.exists()


def test_a_state_folder_is_probed_and_left_unchanged(machine: Machine) -> None:
    machine.state.mkdir()
    only(machine.look("state folder"), OK, "can be written")
    assert list(machine.state.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("ext4 /dev/mmcblk0p2 rw", OK),
        ("overlay overlayroot rw,lowerdir=/l,upperdir=/gone/u,workdir=/w", WARN),
        ("tmpfs tmpfs rw", WARN),
    ],
)
def test_a_volatile_state_folder_is_reported(machine: Machine, line: str, verdict: Status) -> None:
    machine.put("proc/self/mountinfo", f"27 1 179:2 / / rw,noatime - {line}\n")
    result = only(machine.look("state is kept"), verdict)
    assert ("are lost" in result.summary) is (verdict is WARN)
    assert ("raspi-config" in result.fix) is ("overlay" in line)


def test_free_space_is_reported(machine: Machine) -> None:
    only(machine.look("space"), OK, "are free on the disk of")


def test_a_missing_sound_card_is_reported(machine: Machine) -> None:
    only(machine.look("sound card"), NOT_HERE, "no player of this machine")
    machine.write(rest="player: {kind: mpd}\n")
    only(machine.look("sound card"), WARN, "none that can play")
    machine.put("proc/asound/cards", " 1 [Headphones     ]: bcm2835_headpho - bcm2835 Headphones\n")
    machine.put("proc/asound/card1/pcm0p/info", "")
    only(machine.look("sound card"), OK, "Headphones (plays)")
    machine.put("etc/asound.conf", "defaults.pcm.card DAC\n")
    only(machine.look("sound card"), WARN, "names DAC, which is not there", "sudo pi-appliance music card Headphones")
    machine.put("etc/asound.conf", "pcm.!default { type hw card 0 }\n")
    only(machine.look("sound card"), OK, "set by hand")
    machine.put("etc/asound.conf", "")
    machine.put("etc/mpd.conf", 'audio_output {\n type "alsa"\n device "hw:1,0"\n}\n')
    only(machine.look("sound card"), OK, "/etc/mpd.conf names the device hw:1,0, so the card is set by hand there")


def test_the_integrity_of_the_history_is_checked(machine: Machine) -> None:
    only(machine.look("history"), NOT_HERE, "nothing has run yet")
    for number in range(60):
        machine.ran("greet", Outcome.SUCCEEDED, NOW, summary=f"{number} " * 500)
    only(machine.look("history"), OK, "intact, newest run 60")
    assert sorted(path.name for path in machine.state.iterdir()) == ["history.db", "history.lock"]
    file = machine.state / "history.db"
    content = bytearray(file.read_bytes())
    content[4096 * 3 : 4096 * 5] = os.urandom(8192)
    file.write_bytes(content)
    only(machine.look("history"), FAIL, "damaged", f"mv {file} {file}.damaged")


def test_a_file_that_is_not_a_database_is_reported(machine: Machine) -> None:
    machine.state.mkdir()
    (machine.state / "history.db").write_bytes(b"nonsense" * 1000)
    only(machine.look("history"), FAIL, "damaged")


def test_a_history_in_use_can_be_checked(machine: Machine) -> None:
    machine.ran("greet", Outcome.SUCCEEDED, NOW)
    with machine.history() as store:
        store.start_run(job="greet", kind="command", trigger=Trigger.MANUAL, due=None, now=NOW)
        only(machine.look("history"), OK, "newest run 2")


# --- the hardware -----------------------------------------------------------------------------------------------------


def test_a_card_without_counters_passes(machine: Machine) -> None:
    only(machine.look("card"), NOT_HERE)


def test_a_card_with_errors_is_reported(machine: Machine) -> None:
    machine.put("sys/fs/ext4/mmcblk0p2/errors_count", "0\n")
    only(machine.look("card"), OK, "mmcblk0p2 without an error")
    machine.put("sys/fs/ext4/mmcblk0p2/errors_count", "2\n")
    machine.put("sys/fs/ext4/mmcblk0p2/first_error_time", "1700000000\n")
    machine.put("sys/fs/ext4/mmcblk0p2/last_error_time", "1700086400\n")
    only(machine.look("card"), FAIL, "2 errors, the first on 2023-11-14, the last on 2023-11-15", "fsck.mode=force")


@pytest.mark.parametrize(
    ("errors", "options", "verdicts"),
    [("0", "ro", [OK, OK]), ("1", "ro", [FAIL, FAIL]), ("0", "rw,emergency_ro", [FAIL, OK])],
)
def test_a_read_only_root_is_reported(machine: Machine, errors: str, options: str, verdicts: list[Status]) -> None:
    machine.put("sys/fs/ext4/mmcblk0p2/errors_count", f"{errors}\n")
    machine.put("proc/self/mountinfo", f"27 1 179:2 / / rw,noatime - ext4 /dev/mmcblk0p2 {options}\n")
    assert [each.status for each in machine.look("card")] == verdicts


@pytest.mark.parametrize(
    ("life", "spare", "verdict"),
    [("0x03 0x02", "0x01", OK), ("0x08 0x02", "0x01", WARN), ("0x0b 0x01", "0x01", FAIL), ("0x01 0x01", "0x03", FAIL)],
)
def test_a_worn_card_is_reported(machine: Machine, life: str, spare: str, verdict: Status) -> None:
    machine.put("sys/fs/ext4/mmcblk0p2/errors_count", "0\n")
    machine.put("sys/block/mmcblk0/device/life_time", f"{life}\n")
    machine.put("sys/block/mmcblk0/device/pre_eol_info", f"{spare}\n")
    result = machine.look("card")
    assert (result[0].status, result[-1].status) == (verdict, OK)


@pytest.mark.parametrize(("heat", "verdict"), [("79000", OK), ("80000", WARN), ("85000", FAIL)])
def test_heat_is_reported(machine: Machine, heat: str, verdict: Status) -> None:
    machine.put("sys/class/thermal/thermal_zone0/temp", f"{heat}\n")
    only(machine.look("temperature"), verdict, f"{heat[:2]} °C")


@pytest.mark.parametrize(
    ("bits", "verdict", "says"),
    [
        ("0", OK, "good"),
        ("50005", FAIL, "too low now"),
        ("4", WARN, "slowed down now"),
        ("50000", WARN, "since the start of the machine"),
    ],
)
def test_power_problems_are_reported(machine: Machine, bits: str, verdict: Status, says: str) -> None:
    machine.put("sys/devices/platform/soc/soc:firmware/get_throttled", f"{bits}\n")
    only(machine.look("power"), verdict, says)


# --- the jobs ---------------------------------------------------------------------------------------------------------


def test_a_job_that_ran_at_its_slot_passes(machine: Machine) -> None:
    machine.ran("greet", Outcome.SUCCEEDED, NOW.replace(hour=6), "2026-05-04T06:00:00Z")
    only(machine.look("jobs"), OK, "1 job, none fails")


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.UNCERTAIN, Outcome.ABANDONED])
def test_a_failing_job_is_reported_with_its_log_even_after_skips(machine: Machine, outcome: Outcome) -> None:
    machine.ran("greet", Outcome.SUCCEEDED, NOW - timedelta(days=1))
    machine.ran("greet", outcome, NOW.replace(hour=6), summary="no such host")
    machine.ran("greet", Outcome.SKIPPED, NOW.replace(hour=7))
    only(machine.look("jobs"), FAIL, f"{outcome} 6h ago: no such host", "jobs log 2 --config")


def test_a_job_that_was_too_late_is_a_warning(machine: Machine) -> None:
    machine.ran("greet", Outcome.SUCCEEDED, NOW - timedelta(days=1))
    machine.ran("greet", Outcome.MISFIRED, NOW.replace(hour=6), summary="2h late")
    only(machine.look("jobs"), WARN, "its latest slot misfired", "catch-up")


def test_a_slot_without_a_run_is_reported(machine: Machine) -> None:
    machine.ran("greet", Outcome.SUCCEEDED, NOW.replace(hour=6) - timedelta(days=1), "2026-05-03T06:00:00Z")
    only(machine.look("jobs"), FAIL, "its slot of Mon 2026-05-04 06:00 was missed", "pi-appliance jobs run greet")
    machine.write(BY_CRON)
    only(machine.look("jobs"), FAIL, "does cron run?", "pi-appliance jobs plan")


def test_a_skipped_slot_is_not_missing(machine: Machine) -> None:
    machine.ran("greet", Outcome.SKIPPED, NOW.replace(hour=6), "2026-05-04T06:00:00Z")
    only(machine.look("jobs"), OK)


def test_slots_before_the_boot_are_not_missing(machine: Machine) -> None:
    machine.clock.up = timedelta(hours=5).total_seconds()
    only(machine.look("jobs"), OK)


def test_slots_before_a_configuration_change_are_not_missing(machine: Machine) -> None:
    changed = NOW.replace(hour=7).timestamp()
    os.utime(machine.config, (changed, changed))
    only(machine.look("jobs"), OK)


def test_slots_of_paused_or_running_jobs_are_not_missing(machine: Machine) -> None:
    machine.ran("greet", None, NOW - timedelta(days=1))
    only(machine.look("jobs"), OK)


def test_without_a_history_passed_slots_are_missing(machine: Machine) -> None:
    only(machine.look("jobs"), FAIL, "was missed")


def test_an_invalid_configuration_does_not_fail_the_jobs(machine: Machine) -> None:
    machine.write("  a: {kind: comand}\n")
    for check in ("jobs", "crontab", "player"):
        only(machine.look(check), NOT_HERE, "does not say")


# --- posts ------------------------------------------------------------------------------------------------------------

BIRD = "  post: {kind: tweet, with: {network: net, lines: a.txt}}\n"


def test_without_networks_posts_are_not_checked(machine: Machine) -> None:
    only(machine.look("posts"), NOT_HERE, "names no network")


@pytest.mark.parametrize(
    ("state", "verdict", "says"),
    [
        (PostState.SENT, OK, "none is waiting, none is uncertain, net has cost $0.015 this month"),
        (PostState.WAITING, WARN, "1 post is waiting to be sent"),
        (PostState.SENDING, WARN, "1 post is waiting to be sent or checked"),
        (PostState.UNCERTAIN, FAIL, "1 post is uncertain"),
    ],
)
def test_pending_and_uncertain_posts_are_reported(
    machine: Machine, state: PostState, verdict: Status, says: str
) -> None:
    machine.write(BIRD, "networks:\n  net: {kind: preview}\n")
    only(machine.look("posts"), OK, "none is waiting")
    with machine.history() as store:
        ledger = JobPostStore(store, "post", 1, machine.clock.now)
        (intent,) = ledger.create_posts("slot", {"net": [Post("hello")]}, expires_at=NOW)
        ledger.update_state(intent, state, "why", cost=Decimal("0.015"))
    only(machine.look("posts"), verdict, says)


def test_kernels_that_are_being_compiled_are_counted() -> None:
    states = {"sudoku/kernel": "compiled", "battleship/kernel": "plain", "rubiks_cube/kernel": "stale"}
    result = appliance_checks.kernel_result(states, is_compiling=True)
    assert result.status is OK
    assert "1 of 3 kernels compiled" in result.summary


@pytest.mark.parametrize(
    ("states", "verdict", "output"),
    [
        ({}, NOT_HERE, "no kernels"),
        ({"sudoku/kernel": "compiled", "rubiks_cube/kernel": "compiled"}, OK, "kernels compiled"),
        (
            {"sudoku/kernel": "compiled", "rubiks_cube/kernel": "plain"},
            OK,
            "compiled, but plain, slower: rubiks_cube/kernel",
        ),
        ({"sudoku/kernel": "plain"}, OK, "kernels plain: slower, with the same results"),
        (
            {"sudoku/kernel": "compiled", "rubiks_cube/kernel": "stale"},
            WARN,
            "kernels stale: rubiks_cube/kernel changed",
        ),
    ],
)
def test_puzzle_kernels_are_reported_as_compiled_or_plain(states: dict[str, str], verdict: Status, output: str) -> None:
    result = appliance_checks.kernel_result(states)
    assert result.status is verdict
    assert output in result.summary
