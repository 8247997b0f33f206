"""Build a wheel on an emulated processor, and install it from an archive in a Debian without a compiler.

Root runs it on Debian with x86-64, in a clone whose changes are committed, with arm64 or armhf:

    .venv-test/bin/python -m tests.vm.foreign_root armhf

It prints the output and the duration of each step. Words after the architecture name tests, such as
`tests/puzzles/*`. They run on the installed wheel, one word after the other, so that results come early. Both
roots stay in `$PI_APPLIANCE_ROOTS`, or else `~/.cache/pi-appliance-vm`. An existing root to build in is used again.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.installation import ROOT
from tests.vm.container import do, files_of_the_network, install_missing
from tests.vm.releases import timed

PROGRAMS = {
    "qemu-arm-static": "qemu-user-static",
    "mmdebstrap": "mmdebstrap",
    "arch-test": "arch-test",
    "systemd-nspawn": "systemd-container",
}
PROCESSORS = {"arm64": "aarch64", "armhf": "arm"}  # by the architecture of Debian, as QEMU calls them
TRIPLETS = {"arm64": "aarch64-linux-gnu", "armhf": "arm-linux-gnueabihf"}
SUITE = "bookworm"
# Unpacked, not configured: the scripts of the packages would run emulated, for a quarter of an hour.
PACKAGES = (
    "base-files,base-passwd,bash,coreutils,dash,debianutils,diffutils,dpkg,findutils,grep,gzip,hostname,libc-bin,"
    "mawk,media-types,netbase,perl-base,procps,python3,python3-pip,python3-venv,sed,tar,tzdata,util-linux"
)
COMPILER = "gcc,libc6-dev,python3-dev,cpp-12-{}:amd64"
USER = 999
OWN_FOLDERS = ("etc/pi-appliance", "var/lib/pi-appliance")
COMMAND = "setpriv --reuid=pi-appliance --regid=pi-appliance --clear-groups pi-appliance"
CLONE = "root/clone"
CONFIG = "--config /etc/pi-appliance/appliance.yaml"
INSTALL = "tar xzf /root/pi-appliance-*.tar.gz -C /root && sh /root/pi-appliance-*/deploy/install.sh --prefix /staged"
SHOW_WHEELS = """
cd /opt/pi-appliance/current/lib/python3*/site-packages
echo 'wheels of this processor:' $(grep -l 'linux_' *.dist-info/WHEEL | sed 's|-.*||')
echo 'built here:'
/opt/pi-appliance/current/bin/python -m pip cache list
"""
# The daemon, as its user; then its page, its doctor and a search.
SHOW_APPLIANCE = f"""
! command -v gcc || exit 1
cd /tmp
{COMMAND} up {CONFIG} >/tmp/up 2>&1 &
until grep -q 'http://' /tmp/up; do kill -0 $! && sleep 1; done
cat /tmp/up
python3 - <<'PYTHON'
import urllib.request
for path in ("health", ""):
    with urllib.request.urlopen(f"http://127.0.0.1:8080/{{path}}", timeout=120) as page:
        text = page.read().decode()
        print(page.status, page.url, len(text), "bytes:", *text[:200].split())
PYTHON
{COMMAND} doctor {CONFIG} || true
pi-appliance puzzle count peg-solitaire --board arrow
pi-appliance puzzle count panguru --board twenty-one
pi-appliance puzzle count battleship --board crowded
pi-appliance puzzle solve bimaru --board impossible
kill $!
wait
"""
# Each process starts Python: QEMU knows no fork of a sibling, which tests.warm_program needs.
RUN_TESTS = """
[ -e /root/tools ] || /opt/pi-appliance/current/bin/python -m pip install --quiet --target /root/tools \\
    pytest pytest-timeout pytest-xdist hypothesis chess
cd /root/tests
ln -sfn /opt/pi-appliance/current/lib/python3*/site-packages/pi_appliance pi_appliance
PI_APPLIANCE_COLD=1 PYTHONPATH=/root/tools /opt/pi-appliance/current/bin/python -m pytest -q -p no:cacheprovider \\
    -n {workers} --timeout 1800 -m 'not slow and not faults' {name}
"""


class ForeignRoot:
    """The files of a Debian for another processor, and commands that run there, emulated."""

    def __init__(self, architecture: str, folder: Path, packages: str = "") -> None:
        """Unpack the packages into `folder`, unless it exists."""
        self.folder = folder
        if folder.exists():
            return
        draft = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        included = f"--include={PACKAGES},{packages}".rstrip(",")
        architectures = f"--architectures={architecture},amd64"
        do("mmdebstrap", "--variant=extract", architectures, included, SUITE, str(draft), find_mirror())
        for name in ("passwd", "group"):  # these scripts would have made the files
            shutil.copy(draft / f"usr/share/base-passwd/{name}.master", draft / "etc" / name)
        (draft / "usr/bin/awk").symlink_to("mawk")
        (draft / "etc/hosts").write_text("127.0.0.1 localhost\n")
        draft.rename(folder)

    def run(self, script: str, *options: str, check: bool = True) -> None:
        """Run a shell script there as root. Its output is that of this program."""
        binds = [f"--bind-ro={name}" for name in files_of_the_network()]
        command = ("systemd-nspawn", "--quiet", "--pipe", "--register=no", "--keep-unit", "--resolv-conf=off")
        sys.stdout.flush()
        subprocess.run(
            (*command, *binds, *options, f"--directory={self.folder}", "sh", "-euc", script),
            stdin=subprocess.DEVNULL,
            check=check,
        )


def find_mirror() -> str:
    """Return where this Debian has its packages from, without those of updates: their lists may not fit together."""
    command = ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


def emulate(architecture: str) -> None:
    """Make the kernel start programs of `architecture` with QEMU, until the next boot."""
    rules = Path("/proc/sys/fs/binfmt_misc")
    name = f"qemu-{PROCESSORS[architecture]}"
    if not (rules / "register").exists():
        do("mount", "-t", "binfmt_misc", "none", str(rules))
    if not (rules / name).exists():
        (rules / "register").write_bytes(Path(f"/usr/lib/binfmt.d/{name}.conf").read_bytes().strip())


def make_builder(architecture: str, folder: Path) -> ForeignRoot:
    """Return a root with a compiler of which only the driver is emulated. Otherwise a wheel would take hours."""
    triplet = TRIPLETS[architecture]
    builder = ForeignRoot(architecture, folder, COMPILER.format(triplet))
    own, cross = (folder / "usr/lib" / name / triplet / "12" for name in ("gcc", "gcc-cross"))
    if not (own / "cc1").is_symlink():
        (own / "cc1").unlink()
        (own / "cc1").symlink_to(f"/{cross.relative_to(folder)}/cc1")
        (cross / "include").symlink_to(f"/{own.relative_to(folder)}/include")
    return builder


def make_archive(builder: ForeignRoot) -> Path:
    """Build the wheel of this clone there, and return the archive of a release that has it."""
    there = builder.folder / CLONE
    shutil.rmtree(there, ignore_errors=True)
    do("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(there))
    with timed("wheel with compiled kernels"):
        builder.run(f"sh /{CLONE}/deploy/wheels.sh --here")
    do("make", "--directory", str(there), "archive")
    (archive,) = (there / "dist").glob("*.tar.gz")
    return archive


def install(machine: ForeignRoot, archive: Path) -> None:
    """Install the archive there, as far as it goes without systemd: staged, and put in its place."""
    shutil.copy(archive, machine.folder / "root")
    with timed("installation"):
        machine.run(INSTALL)
    put_in_place(machine)


def put_in_place(machine: ForeignRoot) -> None:
    """Copy the staged files to their places, and add the user that an installation without systemd leaves out."""
    shutil.copytree(machine.folder / "staged", machine.folder, symlinks=True, dirs_exist_ok=True)
    for name, entry in (("passwd", f"{USER}:{USER}::/var/lib/pi-appliance:/usr/sbin/nologin"), ("group", f"{USER}:")):
        with (machine.folder / "etc" / name).open("a") as file:
            file.write(f"pi-appliance:x:{entry}\n")
    do("chown", "-R", f"{USER}:{USER}", *(str(machine.folder / each) for each in OWN_FOLDERS))


def run_tests(machine: ForeignRoot, clone: Path, names: list[str]) -> None:
    """Run tests of the clone there on the installed wheel: a link leads to it where a clone has the package."""
    place = machine.folder / "root/tests"
    shutil.rmtree(place, ignore_errors=True)
    for name in ("tests", "config", "docs"):
        shutil.copytree(clone / name, place / name)
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(clone / name, place)
    for name in names:
        with timed(f"tests of {name}"):
            machine.run(RUN_TESTS.format(name=name, workers=os.cpu_count()), check=False)


def main(architecture: str, *tests: str) -> None:
    """Build, install and show it, and run `tests`."""
    if architecture not in PROCESSORS or os.geteuid() != 0:
        sys.exit("usage, as root: python -m tests.vm.foreign_root arm64|armhf [TESTS]")
    if why := install_missing(PROGRAMS):
        sys.exit(why)
    emulate(architecture)
    folder = Path(os.environ.get("PI_APPLIANCE_ROOTS") or Path.home() / ".cache" / "pi-appliance-vm")
    with timed("two roots"):
        builder = make_builder(architecture, folder / f"build-{architecture}")
        shutil.rmtree(folder / f"plain-{architecture}", ignore_errors=True)
        machine = ForeignRoot(architecture, folder / f"plain-{architecture}")
    install(machine, make_archive(builder))
    machine.run(SHOW_WHEELS)
    with timed("page, doctor and puzzles"):
        machine.run(SHOW_APPLIANCE, "--private-network")
    run_tests(machine, builder.folder / CLONE, [*tests])


if __name__ == "__main__":
    main(*sys.argv[1:])
