"""The Debian package: it is complete, starts its own program, and lintian accepts it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.test_deploy_scripts import NOT_SOURCES, ROOT, sh

PYTHON = Path("/usr/bin/python3")  # of Debian


def output(*words: str | Path, **environment: str) -> str:
    """Return the output of the command `words`, which must succeed."""
    return subprocess.run(
        words, env={**os.environ, **environment}, cwd="/", capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package of this clone."""
    if os.geteuid() or not shutil.which("dpkg-deb"):
        pytest.skip("only root on Debian installs what the package is built with")
    clone = tmp_path_factory.mktemp("package") / "clone"
    shutil.copytree(ROOT, clone, symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCES))
    sh(clone / "deploy" / "deb.sh")
    (file,) = (clone / "dist").glob("pi-appliance_0.1.0+deb*.deb")
    return file


@pytest.mark.slow
def test_the_program_of_the_package_runs_with_the_modules_of_debian(package: Path, tmp_path: Path) -> None:
    output("dpkg-deb", "-x", package, tmp_path)
    (site,) = (tmp_path / "usr/lib/pi-appliance/lib").glob("python3*/site-packages")
    paths = f"{site}:{(site / 'debian.pth').read_text().strip()}"
    states = "from pi_appliance.puzzles.kernels import kernel_states; print({state for _, state in kernel_states()})"
    assert output(PYTHON, "-Bc", states, PYTHONPATH=paths) == "{'compiled'}\n"
    assert "0.1.0" in output(PYTHON, "-B", "-m", "pi_appliance", "--version", PYTHONPATH=paths)
    created = output(PYTHON, "-B", "-m", "pi_appliance", "config", "init", tmp_path / "mine", PYTHONPATH=paths)
    assert str(tmp_path / "mine") in created
    depends = output("dpkg-deb", "-f", package, "Depends")
    assert "python3-yaml (>= 6" in depends
    assert not list(site.glob("yaml")), "Debian has it new enough"
    assert list(site.glob("starlette")), "Debian has it too old"


@pytest.mark.slow
def test_the_package_names_its_own_paths_only(package: Path, tmp_path: Path) -> None:
    output("dpkg-deb", "-x", package, tmp_path)
    program = tmp_path / "usr/lib/pi-appliance/bin/pi-appliance"
    assert program.read_text().startswith("#!/usr/lib/pi-appliance/bin/python\n")
    units = tmp_path / "usr/lib/systemd/system"
    assert not (units / "pi-appliance-update.path").exists(), "apt updates it"
    for unit in units.iterdir():
        assert "/opt/" not in unit.read_text(), unit.name
    assert "ExecStart=/usr/lib/pi-appliance/bin/pi-appliance up " in (units / "pi-appliance.service").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("lintian"), reason="lintian is not installed")
def test_lintian_accepts_the_package(package: Path) -> None:
    assert output("lintian", "--fail-on", "none", "--allow-root", package) == ""
