"""The program as another user can run it, also from a clone or an interpreter that is closed to others."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import ROOT, House

NOBODY = 65534
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__",
    "site-packages",
    "test",
    "idlelib",
    "config-*",
    "playwright*",
    "*mypy*",
    "ruff*",
    "pip*",
    "hypothesis*",
)


class Abroad(House):
    """A house in a folder that everybody may enter, with a program that everybody may run."""

    def __init__(self, folder: Path, where: tuple[str, dict[str, str]]) -> None:
        super().__init__(folder)
        python, self.more = where
        self.program = (python, "-m", "pi_appliance")

    def environment(self, more=None):
        """Return what the program sees: its copies before what is closed."""
        return {**super().environment(more), **self.more}


def can_run(python: str, more: dict[str, str]) -> bool:
    """Say whether another user can run the program with PYTHON."""
    command = [python, "-m", "pi_appliance", "--version"]
    environment = {**House(Path("/")).environment(), **more}
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd="/",
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            check=False,
        )
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.fixture(scope="session")
def anywhere() -> Iterator[tuple[str, dict[str, str]]]:
    """Give an interpreter and an environment that run the program for every user: these, or copies of them."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    if can_run(sys.executable, {}):
        yield sys.executable, {}
        return
    copies = Path(tempfile.mkdtemp(prefix="pi-appliance-open-"))
    try:
        yield copied(copies)
    finally:
        shutil.rmtree(copies)


def copied(copies: Path) -> tuple[str, dict[str, str]]:
    """Copy the interpreter, the packages and the program to COPIES, open to all."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    python, packages = copies / "bin" / version, copies / "packages"
    python.parent.mkdir()
    shutil.copy(os.path.realpath(sys.executable), python)
    shutil.copytree(sysconfig.get_path("stdlib"), copies / "lib" / version, ignore=LEFT_OUT)
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob(f"lib{version}*.so*"):
        shutil.copy(library, copies / "lib")
    shutil.copytree(sysconfig.get_path("purelib"), packages, ignore=LEFT_OUT)
    for folder in ("pi_appliance", "config", "systemd"):
        shutil.copytree(ROOT / folder, packages / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["chmod", "-R", "u=rwX,go=rX", copies], check=True)
    more = {"PYTHONPATH": str(packages), "LD_LIBRARY_PATH": str(copies / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    assert can_run(str(python), more), "the copy cannot be run by others either"
    return str(python), more


@pytest.fixture
def abroad(anywhere: tuple[str, dict[str, str]]) -> Iterator[Abroad]:
    """Give a house that other users may enter, which the folders of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="pi-appliance-test-"))
    folder.chmod(0o755)
    try:
        yield Abroad(folder, anywhere)
    finally:
        shutil.rmtree(folder)
