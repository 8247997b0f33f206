"""The two ways of a kernel: the plain Python that it is, and what is compiled from it."""

import fcntl
import importlib
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.machinery import ExtensionFileLoader, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from pi_appliance.puzzles import _kernels, way_of
from tests.house import ROOT

SUFFIX = _kernels.EXTENSION_SUFFIXES[0]


def build(folder: Path, root: Path = ROOT, **environment: str) -> str:
    """Have the setup.py of ROOT compile every kernel into FOLDER, as an install does; return why some are not."""
    folder.mkdir(parents=True, exist_ok=True)
    with Path(folder, "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", folder, "--build-temp", folder / "temp"],
            cwd=root,
            env={**_without_plain(os.environ), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return "\n".join(line for line in done.stderr.splitlines() if "as plain Python" in line)


def _without_plain(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != "PI_APPLIANCE_PLAIN"}


def plain(source: Path) -> ModuleType:
    """Return the kernel SOURCE as plain Python, whatever is compiled of it."""
    return _load(SourceFileLoader(f"plain_{source.parent.name}_{source.stem}", str(source)))


def compiled(source: Path, folder: Path, root: Path = ROOT) -> ModuleType:
    """Return the kernel SOURCE compiled: as it is used here, or made in FOLDER. Skips the test if it cannot be."""
    name = ".".join(source.relative_to(root).with_suffix("").parts)
    if root == ROOT and way_of(kernel := importlib.import_module(name)) == "compiled":
        return kernel
    file = f"{_kernels.compiled_name(source)}{SUFFIX}"
    if not source.with_name(file).exists():
        made = Path(folder, source.relative_to(root)).with_name(file)
        why = "" if made.exists() else build(folder, root)
        if not made.exists():
            pytest.skip(why or f"{source} is not compiled")
        return _extension(name, made)
    return _extension(name, source.with_name(file))


@cache
def _extension(name: str, path: Path) -> ModuleType:
    return _load(ExtensionFileLoader(name, str(path)))


def _load(loader: SourceFileLoader | ExtensionFileLoader) -> ModuleType:
    spec = spec_from_file_location(loader.name, loader.path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
