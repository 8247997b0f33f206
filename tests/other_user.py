"""The program as run by another user, even if the clone or the interpreter is private."""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import ROOT, Installation

NOBODY_UID = 65534
# Of the packages, those that the tests alone need, and a cluster.
EXCLUDED = shutil.ignore_patterns(
    *("site-packages", "test", "idlelib", "lib2to3", "distutils", "tkinter", "config-*"),
    *("playwright*", "*mypy*", "ruff*", "pip*", "hypothesis*", "_pytest", "Cython", "setuptools*", "pygments", "chess"),
    *("dask*", "distributed*", "tornado", "aiohttp", "pydantic*", "jsonschema*", "twitter_text", "mutagen"),
)


class PublicInstallation(Installation):
    """An installation that every user may enter, with a program that every user may run."""

    def __init__(self, folder: Path, where: tuple[str, dict[str, str]]) -> None:
        super().__init__(folder)
        python, self.more = where
        self.program = (python, "-m", "pi_appliance")

    def environment(self, more=None):
        """Return the environment of the program, with the paths of the copies."""
        return {**super().environment(more), **self.more}


def can_run(python: str, more: dict[str, str]) -> bool:
    """Return whether another user can run the program with `python`."""
    command = [python, "-m", "pi_appliance", "--version"]
    environment = {**Installation(Path("/")).environment(), **more}
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd="/",
            user=NOBODY_UID,
            group=NOBODY_UID,
            extra_groups=[],
            capture_output=True,
            check=False,
        )
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.fixture(scope="session")
def public_python() -> Iterator[tuple[str, dict[str, str]]]:
    """Return an interpreter and variables with which every user can run the program: copies if needed."""
    if os.geteuid() != 0:
        pytest.skip("only root can run programs as another user")
    if can_run(sys.executable, {}):
        yield sys.executable, {}
        return
    copies = Path(tempfile.mkdtemp(prefix="pi-appliance-open-"))
    try:
        yield copy_program(copies)
    finally:
        shutil.rmtree(copies)


def link_or_copy(source: str, target: str) -> str:
    """Link a file that everybody may read, which is faster, or copy it, so that everybody may."""
    mode = Path(source).stat().st_mode
    if mode & 0o004:
        with contextlib.suppress(OSError):  # they are on two disks
            os.link(os.path.realpath(source), target)
            return target
    shutil.copy(source, target)
    Path(target).chmod(0o755 if mode & 0o100 else 0o644)
    return target


def copy_program(copies: Path) -> tuple[str, dict[str, str]]:
    """Copy the interpreter, the packages and the program, readable for every user."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    python, packages = copies / "bin" / version, copies / "packages"
    python.parent.mkdir()
    shutil.copy(os.path.realpath(sys.executable), python)
    shutil.copytree(sysconfig.get_path("stdlib"), copies / "lib" / version, ignore=EXCLUDED, copy_function=link_or_copy)
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob(f"lib{version}*.so*"):
        shutil.copy(library, copies / "lib")
    shutil.copytree(sysconfig.get_path("purelib"), packages, ignore=EXCLUDED, copy_function=link_or_copy)
    for folder in ("pi_appliance", "config", "systemd"):
        shutil.copytree(ROOT / folder, packages / folder, symlinks=True, copy_function=link_or_copy)
    for folder, _, _ in os.walk(copies):
        Path(folder).chmod(0o755)
    more = {"PYTHONPATH": str(packages), "LD_LIBRARY_PATH": str(copies / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    assert can_run(str(python), more), "the copy cannot be run by others either"
    return str(python), more


@pytest.fixture
def public_installation(public_python: tuple[str, dict[str, str]]) -> Iterator[PublicInstallation]:
    """Return an installation outside the folders of pytest, which other users may not enter."""
    folder = Path(tempfile.mkdtemp(prefix="pi-appliance-test-"))
    folder.chmod(0o755)
    try:
        yield PublicInstallation(folder, public_python)
    finally:
        shutil.rmtree(folder)
