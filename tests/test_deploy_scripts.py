"""The scripts of deploy/: they report their steps, run them once, and leave no trace."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pi_appliance.puzzles import kernels

ROOT = Path(__file__).parents[1]
NOT_SOURCES = (".git", ".venv*", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", ".state")
SUFFIX = kernels.EXTENSION_SUFFIXES[0]
EXTRAS = "[backup,discovery,mastodon,mqtt,pictures]"  # of run.sh
INSTALL = ROOT / "deploy" / "install.sh"
UNINSTALL = ROOT / "deploy" / "uninstall.sh"


# Variables that the scripts read must not come from the user who runs the tests.
INHERITED = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHON", "PI_APPLIANCE_CONFIG", "PI_APPLIANCE_PLAIN")
}


def sh(script: Path, *arguments: str | Path, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `script` with the machine's sh from another folder, and check its exit status."""
    ended = subprocess.run(
        ["sh", script, *arguments],
        cwd="/",
        env={**INHERITED, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,  # an installation takes minutes; a hanging command is reported before pytest ends the test
    )
    if "No matching distribution found" in ended.stderr and not environment:
        pytest.skip("the packages it needs cannot be fetched here")
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended


def write_fake_programs(folder: Path, **programs: str) -> dict[str, str]:
    """Write the scripts `programs` into `folder`; return a PATH with it first and without sbin."""
    folder.mkdir(exist_ok=True)
    for name, script in programs.items():
        program = folder / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def files_below(folder: Path) -> list[str]:
    """Return all files below `folder`, without those of releases."""
    result = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path for path in result if "/releases/" not in path)


@pytest.mark.parametrize("script", [INSTALL, UNINSTALL], ids=lambda script: script.name)
@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--dry-run", "--perfix"], "no option is called '--perfix'"),
        (["--prefix"], "--prefix needs a folder"),
        (["--prefix", "--yes"], "--prefix needs a folder"),
    ],
)
def test_wrong_use_of_a_script_is_explained_and_exits_2(script: Path, words: list[str], wrong: str) -> None:
    first, usage, *_ = sh(script, *words, status=2).stderr.splitlines()
    assert first == f"pi-appliance: {wrong}"
    assert usage.startswith(f"Usage: deploy/{script.name}")


@pytest.mark.parametrize("script", ["install.sh", "uninstall.sh", "test.sh"])
def test_help_is_printed_and_nothing_is_done(script: str) -> None:
    output = sh(ROOT / "deploy" / script, "--help", PATH="/usr/bin:/bin", PYTHON="/bin/false").stdout
    assert output.startswith(f"Usage: deploy/{script}")
    assert "Exit status: 0" in output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another group")
@pytest.mark.parametrize(("mode", "opened"), [(0o755, True), (0o700, False)])
def test_a_music_folder_of_root_is_opened_unless_somebody_arranged_it(tmp_path: Path, mode: int, opened: bool) -> None:
    music = tmp_path / "music"
    music.mkdir()
    music.chmod(mode)
    script = tmp_path / "first installation"
    script.write_text(
        "set -e\n"
        'for part in lib places steps; do . "$1/$part.sh"; done\n'
        "dry= root= changes=0 user=games music_dir=$2\n! is_closed_music || let_put_music\n"
    )
    output = sh(script, ROOT / "deploy", music, SUDO_USER="daemon").stdout
    assert f"{music.stat().st_mode:o}" == ("42775" if opened else "40700")
    assert (music.owner(), music.group()) == (("daemon", "games") if opened else ("root", "root"))
    assert output == (f"let daemon and the group games put music into {music}\n" if opened else "")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone in a path with a space."""
    folder = tmp_path_factory.mktemp("deploy") / "my clone"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCES))
    (folder / "config" / "secrets.env").write_text("WEB_PASSWORD=secret\n")
    return folder


# A Python whose environments have no packages: an install with it takes a second instead of minutes.
QUICK_PYTHON = f"""
case "$1 $2" in
    "-m venv")
        for folder in "$@"; do :; done # the last word
        mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python"
        echo "#!$folder/bin/python" >"$folder/bin/pi-appliance" ;;
    "- ") ;; # pip is not needed
    "-m pip") [ -z "${{OFFLINE:-}}" ] ;;
    *) exec "{sys.executable}" "$@" ;;
esac"""


class Staged(NamedTuple):
    """An appliance installed below `root` from `clone`, with the variables of `environment`."""

    clone: Path
    root: Path
    environment: dict[str, str]

    def install(self, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        script = self.clone / "deploy" / "install.sh"
        return sh(script, "--yes", "--prefix", self.root, status=status, **self.environment, **environment)


def quick_python(folder: Path) -> dict[str, str]:
    write_fake_programs(folder, python=QUICK_PYTHON)
    return {"PYTHON": str(folder / "python")}


@pytest.fixture(scope="module")
def release(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Staged]:
    """Return an appliance installed with all its packages. Takes minutes: for slow tests."""
    staged = Staged(clone, tmp_path_factory.mktemp("staged") / "the root", {})
    staged.install()
    yield staged
    sh(UNINSTALL, "--yes", "--purge", "--prefix", staged.root)
    assert files_below(staged.root) == []


@pytest.fixture(scope="module", params=["quick", pytest.param("release", marks=pytest.mark.slow)])
def staged(request: pytest.FixtureRequest, clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Staged]:
    """Return an installed appliance: without its packages daily, with them in slow tests."""
    if request.param == "release":
        yield request.getfixturevalue("release")
        return
    folder = tmp_path_factory.mktemp("quick")
    staged = Staged(clone, folder / "the root", quick_python(folder))
    staged.install()
    yield staged
    sh(UNINSTALL, "--yes", "--purge", "--prefix", staged.root)
    assert files_below(staged.root) == []


def test_a_dry_run_prints_every_step_and_does_none(tmp_path: Path) -> None:
    record_file = sh(INSTALL, "--dry-run", "--prefix", tmp_path / "root").stdout
    assert "would: build the release" in record_file
    assert "nothing was changed" in record_file
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_apt", [True, False])
def test_a_dry_run_without_python_says_what_would_be_installed(clone: Path, tmp_path: Path, has_apt: bool) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith(("python", "apt-get")[: 1 + (not has_apt)]):
            (programs / program.name).symlink_to(program)
    (programs / "apt-get").touch(mode=0o755) if has_apt else None
    script = clone / "deploy" / f"install-{has_apt}.sh"
    script.write_text(INSTALL.read_text().replace("\nPATH=", f"\nPATH={programs} #"))
    ended = sh(script, "--dry-run", "--prefix", tmp_path / "root", status=0 if has_apt else 1)
    assert "would: build the release 0.1.0 with python3\n" in ended.stdout
    assert ("would: install the packages python3 and python3-venv\n" in ended.stdout) == has_apt
    assert ended.stderr.count("\n") == (0 if has_apt else 1), ended.stderr
    assert has_apt or "sudo apt install python3-venv" in ended.stderr


@pytest.mark.skipif(Path("/run/systemd/system").exists(), reason="systemd runs this machine")
def test_a_dry_run_fails_for_the_same_reason_as_a_real_one() -> None:
    ended = sh(INSTALL, "--dry-run", status=1)
    assert "would: build the release" in ended.stdout
    assert ended.stderr.endswith(
        "this would be refused: this machine does not use systemd; start deploy/run.sh instead\n"
    )
    assert ended.stderr.count("\n") == 1


def test_without_a_terminal_and_yes_nothing_is_started() -> None:
    errors = sh(UNINSTALL, status=1).stderr
    assert errors.count("\n") == 1
    assert "--yes" in errors or "only root" in errors


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_failed_build_is_reported_with_a_remedy(clone: Path, tmp_path: Path, quick: bool) -> None:
    python = quick_python(tmp_path / "quick") if quick else {}
    staged = Staged(clone, tmp_path / "root", python)
    ended = staged.install(status=1, OFFLINE="yes", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    assert "could not be built, see above. Is this machine online? Try: ping" in ended.stderr.splitlines()[-1]
    assert not (staged.root / "opt" / "pi-appliance" / "current").exists()


def test_an_install_creates_all_files(staged: Staged) -> None:
    first = ["etc/pi-appliance-update.conf", "etc/pi-appliance/.defaults", "etc/pi-appliance/appliance.yaml"]
    assert files_below(staged.root)[:3] == first
    configuration = staged.root / "etc" / "pi-appliance"
    assert "state-dir: /var/lib/pi-appliance\n" in (configuration / "appliance.yaml").read_text()
    assert (configuration / "secrets.env").read_text() == "WEB_PASSWORD=secret\n"
    assert (configuration / "secrets.env").stat().st_mode & 0o777 == 0o600
    assert (staged.root / "usr/local/bin/pi-appliance").readlink() == Path("/opt/pi-appliance/current/bin/pi-appliance")
    program = staged.root / "opt" / "pi-appliance" / "current" / "bin" / "pi-appliance"
    assert str(staged.root) not in program.read_text(), "it runs on another machine"
    for unit in (ROOT / "systemd").iterdir():
        place = {"10": "etc/polkit-1/rules.d", "85": "etc/udev/rules.d"}.get(unit.name[:2], "etc/systemd/system")
        assert (staged.root / place / unit.name).read_text() == unit.read_text()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("git@github.com:someone/pi.git", "address=https://api.github.com/repos/someone/pi/releases"),
        ("https://github.com/someone/pi", "address=https://api.github.com/repos/someone/pi/releases"),
        ("https://git.example.org/someone/pi.git", ""),
    ],
)
def test_releases_are_those_of_the_clone_unless_the_owner_wrote_others(
    clone: Path, tmp_path: Path, origin: str, address: str
) -> None:
    here = tmp_path / "clone"
    shutil.copytree(clone, here, symlinks=True)
    (here / ".git").mkdir(exist_ok=True)
    (here / ".git/config").write_text(f'[remote "origin"]\n\turl = {origin}\n')
    staged = Staged(here, tmp_path / "root", quick_python(tmp_path / "quick"))
    staged.install()
    source = staged.root / "etc/pi-appliance-update.conf"
    assert "\n".join(line for line in source.read_text().splitlines() if not line.startswith("#")) == address
    source.write_text("address=https://releases.example.org/ours\n")
    staged.install()
    assert source.read_text() == "address=https://releases.example.org/ours\n"


@pytest.mark.slow
def test_an_environment_has_pip(clone: Path, tmp_path: Path) -> None:
    environment = tmp_path / "it's mine"
    script = 'clone=$1 python=$2; . "$1/deploy/lib.sh"; make_environment "$3"'
    subprocess.run(["sh", "-c", script, "sh", clone, sys.executable, environment], check=True, timeout=60)
    assert not list(environment.rglob("*.pyc")), "nothing is compiled"
    result = subprocess.run(
        [environment / "bin/pip", "list", "--format=freeze"], capture_output=True, check=True, timeout=60
    )
    assert b"pip==" in result.stdout


WHEEL = f"pi_appliance-0.1.0-cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-linux_{{}}.whl"


@pytest.mark.slow
def test_a_wheel_of_the_same_sources_is_installed_and_no_other(clone: Path, tmp_path: Path) -> None:
    here, log = tmp_path / "clone", tmp_path / "pip.log"
    shutil.copytree(clone, here, symlinks=True)
    write_fake_programs(tmp_path / "quick", python=QUICK_PYTHON.replace('"-m pip")', f'"-m pip") echo "$*" >>"{log}";'))
    staged = Staged(here, tmp_path / "root", {"PYTHON": str(tmp_path / "quick/python")})
    wheels = here / "dist/wheels"
    wheels.mkdir(parents=True)
    for machine in (os.uname().machine, "mips"):
        (wheels / WHEEL.format(machine)).touch()
    asked = ["sh", "-c", 'clone=$1; . "$1/deploy/lib.sh"; hash_of_sources', "sh", here]
    (wheels / "SOURCES").write_bytes(subprocess.run(asked, capture_output=True, check=True, timeout=60).stdout)

    staged.install()
    assert f" {wheels / WHEEL.format(os.uname().machine)}{EXTRAS}\n" in log.read_text()
    assert "nothing to change" in staged.install().stdout
    log.unlink()
    (here / "config/tweets.txt").write_text("another line\n")
    staged.install()
    assert ".whl" not in log.read_text(), "the wheel has other files than the clone"
    assert f"/sources{EXTRAS}\n" in log.read_text()


@pytest.mark.parametrize(
    ("machine", "bits", "wheel"),
    [
        ("aarch64", 64, "manylinux_2_28_aarch64"),
        ("aarch64", 32, "linux_armv7l"),  # Raspberry Pi OS with 32 bits on a Pi 4 or 5
        ("armv8l", 32, "linux_armv7l"),
        ("armv7l", 32, "linux_armv7l"),
        ("armv6l", 32, ""),  # a Pi Zero or 1
        ("x86_64", 64, "linux_x86_64"),
        ("x86_64", 32, ""),
    ],
)
def test_the_wheel_fits_the_python_of_the_machine(tmp_path: Path, machine: str, bits: int, wheel: str) -> None:
    clone = clone_with_a_kernel(tmp_path)
    wheels = clone / "dist/wheels"
    wheels.mkdir(parents=True)
    name = WHEEL.replace("linux_{}", "{}")
    for platform in ("manylinux_2_28_aarch64", "linux_armv7l", "linux_x86_64"):
        (wheels / name.format(platform)).touch()
    pretend = f"import platform, sys; platform.machine = lambda: '{machine}'; sys.maxsize = {2 ** (bits - 1) - 1}"
    write_fake_programs(
        tmp_path / "other", python=f'shift; exec "{sys.executable}" -c "{pretend}; exec(sys.stdin.read())" "$@"'
    )
    find = 'clone=$1; . "$1/deploy/lib.sh"; hash_of_sources >"$1/dist/wheels/SOURCES"; find_wheel "$2"'
    asked = ["sh", "-c", find, "sh", clone, tmp_path / "other/python"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    assert answer == (str(wheels / name.format(wheel)) if wheel else "")


@pytest.mark.slow
def test_a_built_wheel_brings_compiled_kernels(clone: Path, tmp_path: Path) -> None:
    here = tmp_path / "clone"
    shutil.copytree(clone, here, symlinks=True)
    with (here / "pi_appliance/puzzles/solitaire_chess/kernel.pxd").open("a") as types:
        types.write("# another\n")  # so that one is compiled
    sh(here / "deploy" / "wheels.sh", "--here", PYTHON=sys.executable)
    for file in here.rglob(f"*{SUFFIX}"):
        file.unlink()
    staged = Staged(here, tmp_path / "root", {"PYTHON": sys.executable})
    staged.install()
    current = staged.root / "opt/pi-appliance/current"
    states = "from pi_appliance.puzzles.kernels import kernel_states; print({state for _, state in kernel_states()})"
    python = [current / "bin/python", "-I", "-c", states]
    assert subprocess.run(python, capture_output=True, text=True, check=True, timeout=60).stdout == "{'compiled'}\n"
    assert not (current / "compile").exists(), "nothing is left to compile"


def test_a_wheel_without_compiled_kernels_is_refused(tmp_path: Path) -> None:
    clone = clone_with_a_kernel(tmp_path)
    wheel = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr('a/kernel.pxd', '')"
    pip = f'"-m pip") mkdir "${{8}}"; "{sys.executable}" -c "{wheel}" "${{8}}/x.whl"'
    write_fake_programs(tmp_path / "quick", python=QUICK_PYTHON.replace('"-m pip") [ -z "${OFFLINE:-}" ]', pip))
    record_file = sh(clone / "deploy/wheels.sh", "--here", status=1, PYTHON=str(tmp_path / "quick/python")).stderr
    assert "x.whl has plain kernels, see above; install a compiler: sudo apt install gcc" in record_file
    assert not (clone / "dist/wheels/SOURCES").exists(), "an incomplete folder is not used"


@pytest.mark.slow
def test_the_release_is_complete_and_without_build_paths(release: Staged, tmp_path: Path) -> None:
    current = release.root / "opt" / "pi-appliance" / "current"
    assert str(release.root) not in (current / "bin" / "pi-appliance").read_text()
    result = subprocess.run(
        [current / "bin" / "python", "-I", "-m", "pi_appliance", "config", "init", tmp_path / "config"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    written = {str(path.relative_to(tmp_path / "config")) for path in (tmp_path / "config").rglob("*")}
    assert written >= {"appliance.yaml", "tweets.txt", "secrets.env.example"}
    assert list(current.resolve().rglob("secrets.env")) == [], "a secret never travels with the program"


@pytest.mark.slow
def test_a_compiled_kernel_of_the_clone_is_installed(release: Staged) -> None:
    folder = (release.root / "opt" / "pi-appliance" / "current").resolve()
    if not (folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}").is_dir():
        pytest.skip("it has another Python than the clone")
    of_the_clone = {
        file.name: file.read_bytes() for file in map(kernels.compiled_file, kernels.kernel_sources()) if file
    }
    of_the_release = {file.name: file.read_bytes() for file in folder.rglob(f"puzzles/*/*{SUFFIX}")}
    assert {name: of_the_release.get(name) for name in of_the_clone} == of_the_clone


def test_a_second_install_changes_nothing_and_says_so(staged: Staged) -> None:
    output = staged.install().stdout
    assert "nothing to change" in output
    assert output.count("\n") == 1


def test_an_edited_file_stays_with_the_new_one_beside_it(staged: Staged) -> None:
    mine = staged.root / "etc" / "pi-appliance" / "tweets.txt"
    shipped = mine.read_text()
    mine.write_text("a line of mine\n")
    as_if_written_by_an_older_release(mine)
    staged.install()
    assert mine.read_text() == "a line of mine\n"
    assert mine.with_name("tweets.txt.new").read_text() == shipped


def test_an_unedited_file_of_an_older_release_is_updated(staged: Staged) -> None:
    configuration = staged.root / "etc" / "pi-appliance" / "appliance.yaml"
    shipped = configuration.read_text()
    configuration.write_text("state-dir: /var/lib/pi-appliance\n")
    old = subprocess.run(
        ["sha256sum", configuration], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()[0]
    as_if_written_by_an_older_release(configuration, old)
    staged.install()
    assert configuration.read_text() == shipped


def as_if_written_by_an_older_release(path: Path, checksum: str = "0" * 64) -> None:
    """Change the recorded checksum of `path` to `checksum`."""
    record = path.with_name(".defaults")
    lines = record.read_text().splitlines()
    record.write_text(
        "".join(f"{checksum}  {path.name}\n" if line.endswith(path.name) else f"{line}\n" for line in lines)
    )


def test_an_uninstall_keeps_the_configuration_and_the_history(staged: Staged, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(staged.root, root, symlinks=True)
    output = sh(UNINSTALL, "--yes", "--prefix", root).stdout
    assert "--purge removes them too" in output
    assert (root / "var/lib/pi-appliance").is_dir()
    assert {path.split("/")[1] for path in files_below(root)} == {"pi-appliance", "pi-appliance-update.conf"}
    sh(UNINSTALL, "--yes", "--purge", "--prefix", root)
    assert files_below(root) == []
    assert "nothing of it is here" in sh(UNINSTALL, "--yes", "--purge", "--prefix", root).stdout


def test_run_without_a_usable_python_prints_the_remedy(clone: Path) -> None:
    errors = sh(clone / "deploy" / "run.sh", status=1, PYTHON="/bin/false").stderr
    assert errors.count("\n") == 1
    assert "/bin/false is not a Python 3.11" in errors


@pytest.mark.parametrize(
    ("version", "new_enough", "messages"),
    [
        (
            "3.9.2",
            "exit 1",
            "only Python 3.9.2 is here, and it takes 3.11, which Debian 12 and Raspberry Pi OS Bookworm",
        ),
        ("3.11.2", "exit 0", "Python 3.11.2 is here, but without venv; run: sudo apt install python3-venv"),
        ("", "exit 1", "no Python is here, and it takes 3.11 with venv; on Debian 12"),
    ],
)
def test_an_unusable_python_is_reported_with_its_version(
    clone: Path, tmp_path: Path, version: str, new_enough: str, messages: str
) -> None:
    answer = f"echo {version}" if version else "exit 127"
    python = f"case $2 in *venv*) exit 1 ;; *exit*) {new_enough} ;; *) {answer} ;; esac"
    pythons = {f"python3{minor}": python for minor in ("", ".11", ".12", ".13")}
    path = write_fake_programs(tmp_path / "first", id="echo 1000", mpd="", **pythons)
    output = sh(clone / "deploy" / "run.sh", status=1, **path).stderr
    assert output.startswith(f"pi-appliance: {messages}")
    assert output.count("\n") == 1


@pytest.mark.slow
def test_run_creates_the_environment_once_and_repairs_an_incomplete_one(clone: Path, tmp_path: Path) -> None:
    run = clone / "deploy" / "run.sh"
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    broken = sh(run, "--help", status=1, **offline)
    assert "did not end well" in broken.stderr.splitlines()[-1]
    assert "Is this machine online? Try: ping" in broken.stderr.splitlines()[-1]
    first = sh(run, "--help").stdout
    assert "making the environment .venv" in first
    (link,) = (clone / ".venv").rglob("__editable__*.pth")
    assert link.read_text().strip() == str(clone), "a path: a finder would make each start longer"
    second = sh(run, "--help").stdout
    assert "environment" not in second
    assert "Usage: pi-appliance up" in second
    # The clone is moved: an environment knows its own path, so a new one is begun (and here, not ended).
    moved = clone.rename(clone.with_name("another place"))
    try:
        begun = sh(moved / "deploy" / "run.sh", "--help", status=1, **offline)
        assert "making the environment .venv" in begun.stdout
    finally:
        moved.rename(clone)


def test_the_checks_find_programs_in_sbin(clone: Path, tmp_path: Path) -> None:
    path = write_fake_programs(tmp_path / "first", dpkg_query="echo install ok installed")
    write_environment(clone / ".venv-test", "[test]", python='[ "$1" = -c ] && echo made || echo "PATH is $PATH"')
    output = sh(clone / "deploy" / "test.sh", **path).stdout
    assert "/usr/sbin" in output.partition("PATH is ")[2].splitlines()[0].split(":")


@pytest.mark.parametrize(
    ("spoilt", "named"),
    [("ruff", "format rules"), ("mypy", "types"), ("python", "tests")],
)
def test_a_failed_check_is_named_after_all_have_run(tmp_path: Path, spoilt: str, named: str) -> None:
    clone = clone_with_a_kernel(tmp_path)
    path = write_fake_programs(tmp_path / "first", dpkg_query="echo install ok installed")
    scripts = {name: f"echo {name} spoke" for name in ("ruff", "mypy", "python")}
    scripts[spoilt] += "; exit 1"
    scripts["python"] = f"[ $1 = -c ] && echo made && exit; {scripts['python']}"
    write_environment(clone / ".venv-test", "[test]", **scripts)
    ended = sh(clone / "deploy" / "test.sh", status=1, **path)
    again = ["python spoke"] * (spoilt == "python")
    assert ended.stdout.splitlines() == ["ruff spoke", "ruff spoke", "python spoke", *again, "mypy spoke"]
    assert ended.stderr == f"pi-appliance: failed: {named}\n"


@pytest.mark.parametrize(
    ("first", "alone", "messages"),
    [
        (1, 0, ["workers", "alone", "the tests above failed beside others, and passed alone", "all checks passed"]),
        (1, 1, ["workers", "alone"]),
        (2, 0, ["workers"]),  # interrupted
    ],
)
def test_failed_tests_run_again_alone(tmp_path: Path, first: int, alone: int, messages: list[str]) -> None:
    clone = clone_with_a_kernel(tmp_path)
    path = write_fake_programs(tmp_path / "first", dpkg_query="echo install ok installed")
    python = (
        f"case $* in -c*) echo made ;; *--numprocesses*) echo workers; exit {first} ;;"
        f" *--last-failed*) echo alone; exit {alone} ;; esac"
    )
    write_environment(clone / ".venv-test", "[test]", ruff="", mypy="", python=python)
    ended = sh(clone / "deploy" / "test.sh", status=0 if messages[-1] == "all checks passed" else 1, **path)
    assert [line.removeprefix("pi-appliance: ") for line in ended.stdout.splitlines()] == messages


def test_optional_packages_are_tried_first_and_then_left_out(tmp_path: Path) -> None:
    clone = clone_with_a_kernel(tmp_path)
    path = write_fake_programs(tmp_path / "first", mpd="")
    pip = 'echo "pip $*" >>"$0.said"; case $* in *"["*"$NO_EXTRA"*) false ;; *) [ -z "$OFFLINE" ] ;; esac'
    python = f"case $1 in -c) echo made ;; *) {pip} ;; esac"
    write_environment(clone / ".venv", EXTRAS, python=python, pi_appliance="echo started")
    record_file, stamp = clone / ".venv" / "bin" / "python.said", clone / ".venv" / ".pi-appliance"

    def start(status: int = 0, **environment: str) -> tuple[str, int]:
        """Run run.sh in an outdated environment; return its output and the number of pip calls."""
        stamp.write_text("made\nsomething else\n")
        record_file.unlink(missing_ok=True)
        ended = sh(
            clone / "deploy" / "run.sh", status=status, **path, **{"NO_EXTRA": "none", "OFFLINE": "", **environment}
        )
        return ended.stdout + ended.stderr, record_file.read_text().count("--editable")

    output, asked = start()
    assert (output.splitlines()[1:], asked) == (["started"], 1)
    output, asked = start(NO_EXTRA="pictures")
    assert (output.splitlines()[-1], asked) == ("started", 2)
    assert "left out, see above: pictures of puzzles; all else works" in output
    assert all(f"pi-appliance[{extra}]" in record_file.read_text() for extra in EXTRAS.strip("[]").split(","))
    output, asked = start(NO_EXTRA="m")
    assert "left out, see above: posts on Mastodon, MQTT; all else works" in output
    output, asked = start(status=1, NO_EXTRA="pictures", OFFLINE="yes")
    assert ("Is this machine online?" in output.splitlines()[-1], asked) == (True, 2)
    assert not stamp.exists(), "half an environment is not trusted"


def write_environment(folder: Path, extras: str, **programs: str) -> None:
    """Write an environment that the scripts accept as complete; its python prints "made"."""
    clone = folder.parent
    expected_hash = hashlib.sha256(extras.encode() + (clone / "pyproject.toml").read_bytes()).hexdigest()
    folder.mkdir()
    write_fake_programs(folder / "bin", **{"ruff": "", "mypy": "", **programs})
    kernels = 'clone=$1; . "$1/deploy/lib.sh"; kernels_identity "$2" | sha256sum'
    asked = ["sh", "-c", kernels, "sh", clone, folder / "bin" / "python"]
    compiled = subprocess.run(asked, env=INHERITED, capture_output=True, text=True, check=True, timeout=60).stdout
    (folder / ".pi-appliance").write_text(f"made\n{expected_hash}  -\n{compiled}")


def test_a_changed_kernel_is_compiled_after_the_start_and_a_failure_is_not_fatal(tmp_path: Path) -> None:
    clone = clone_with_a_kernel(tmp_path)
    path = write_fake_programs(tmp_path / "first", mpd="")
    calls = 'echo "$*" >>"$0.said"; [ -z "$OFFLINE" ]'
    python = f"case $1 in -c) echo made ;; *) {calls} ;; esac"
    write_environment(clone / ".venv", EXTRAS, python=python, pi_appliance="echo started")
    record_file = clone / ".venv" / "bin" / "python.said"
    run = clone / "deploy" / "run.sh"

    assert sh(run, **path, OFFLINE="").stdout == "started\n"
    assert not record_file.exists()
    (clone / KERNEL).write_text("changed = 1\n")
    offline = sh(run, **path, OFFLINE="yes").stdout
    assert "started\n" in offline
    assert "run as plain Python, slower, until their kernels can be compiled" in offline
    assert "setup.py" not in record_file.read_text(), "without the build tools it is not tried"
    assert sh(run, **path, OFFLINE="").stdout == "started\n"
    assert "setup.py --quiet build_ext --inplace" in record_file.read_text()
    assert "--editable" not in record_file.read_text(), "the program stays as it is while it runs"
    record_file.unlink()
    assert sh(run, **path, OFFLINE="").stdout == "started\n"
    assert not record_file.exists()
    assert "up to date" in sh(run, **path, OFFLINE="", PI_APPLIANCE_PLAIN="1").stdout


def test_kernels_of_another_python_are_compiled_again(tmp_path: Path) -> None:
    clone = clone_with_a_kernel(tmp_path)
    path = write_fake_programs(tmp_path / "first", dpkg_query="echo install ok installed")
    write_fake_programs(tmp_path / "quick", python=QUICK_PYTHON)
    write_environment(clone / ".venv", EXTRAS, python="echo made")
    stamp = clone / ".venv" / ".pi-appliance"
    stamp.write_text(stamp.read_text().replace("made", "another", 1))
    need = 'clone=$1; . "$1/deploy/lib.sh"; kernels=later; need_environment "$1/.venv" "" "$extras"'
    environment = {**INHERITED, **path, "PYTHON": str(tmp_path / "quick/python")}
    subprocess.run(["sh", "-c", need, "sh", clone], env=environment, check=True, timeout=60)
    assert stamp.read_text().splitlines()[2] == "", "no kernels are known to be compiled"


def test_an_installation_does_not_wait_behind_busy_jobs_for_its_build_tools(tmp_path: Path) -> None:
    """The user waits for the build tools. After `run.sh` the page is up, and they have low priority."""
    clone = clone_with_a_kernel(tmp_path)
    record_file = tmp_path / "said"
    write_environment(
        clone / ".venv", EXTRAS, python=f'case $1 in -) echo cython ;; -m) nice >>"{record_file}" ;; esac'
    )
    (clone / ".venv" / ".pi-appliance").write_text("made\nof\nnothing\n")
    get = 'clone=$1; . "$1/deploy/lib.sh"; get_build_tools "$2/bin/python" "$1"; start_compiling "$2"; wait'
    subprocess.run(["sh", "-c", get, "sh", clone, clone / ".venv"], env=INHERITED, check=True, timeout=60)
    assert record_file.read_text().split() == [str(os.nice(0)), "19"]


@pytest.mark.slow
def test_the_page_comes_before_the_kernels(tmp_path: Path) -> None:
    clone = clone_with_a_kernel(tmp_path)
    (clone / KERNEL).write_text(
        '"""Adds."""\n\n\ndef total(first: int, second: int) -> int:\n    return first + second\n'
    )
    (clone / KERNEL).with_suffix(".pxd").write_text("cpdef int total(int first, int second)\n")
    for name in ("README.md", "pi_appliance/__init__.py"):
        shutil.copy(ROOT / name, clone / name)
    path = write_fake_programs(tmp_path / "first", mpd="")
    # The environment of the tests has Cython, so nothing is fetched.
    python = f"""case "$1 $2" in -c*) echo made ;; "-m pip") ;; *) exec "{sys.executable}" "$@" ;; esac"""
    find = f'find "{clone}" -name "kernel_*{SUFFIX}"'
    write_environment(clone / ".venv", EXTRAS, python=python, pi_appliance=f"echo started; {find}")
    stamp = clone / ".venv" / ".pi-appliance"
    stamp.write_text("".join(stamp.read_text().splitlines(keepends=True)[:2]))

    assert sh(clone / "deploy" / "run.sh", **path).stdout == "started\n"
    (compiled,) = (clone / KERNEL).parent.glob(f"kernel_*{SUFFIX}")
    assert sh(clone / "deploy" / "run.sh", **path).stdout == f"started\n{compiled}\n"


KERNEL = Path("pi_appliance", "puzzles", "adding", "kernel.py")


def clone_with_a_kernel(folder: Path) -> Path:
    """Create a minimal clone with one kernel."""
    clone = folder / "clone"
    shutil.copytree(ROOT / "deploy", clone / "deploy")
    (clone / KERNEL).parent.mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "pi_appliance/puzzles/kernels.py"):
        shutil.copy(ROOT / name, clone / name)
    (clone / KERNEL).touch()
    (clone / KERNEL).with_suffix(".pxd").touch()
    return clone


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("words", "environment", "used"),
    [
        ([], {"PI_APPLIANCE_CONFIG": ""}, "CLONE/config/appliance.yaml"),
        ([], {"PI_APPLIANCE_CONFIG": "/etc/mine.yaml"}, "/etc/mine.yaml"),
        (["--config", "/srv/mine.yaml"], {"PI_APPLIANCE_CONFIG": "/etc/mine.yaml"}, "/srv/mine.yaml"),
        (["-c", "/srv/mine.yaml"], {"PI_APPLIANCE_CONFIG": ""}, "/srv/mine.yaml"),
    ],
)
def test_run_uses_the_named_configuration(
    tmp_path: Path, words: list[str], environment: dict[str, str], used: str
) -> None:
    clone = clone_with_a_kernel(tmp_path)
    path = write_fake_programs(tmp_path / "first", mpd="")
    up = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m pi_appliance "$@"'
    write_environment(clone / ".venv", EXTRAS, python="echo made", pi_appliance=up)
    output = sh(clone / "deploy" / "run.sh", *words, status=2, **path, **environment).stderr
    assert output.partition(":")[0] == used.replace("CLONE", str(clone)), "the file is not there, so it is named"
