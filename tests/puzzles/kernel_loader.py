"""Load a kernel as plain Python and compiled."""

import fcntl
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pi_appliance.puzzles import kernels
from tests.installation import ROOT

SUFFIX = kernels.EXTENSION_SUFFIXES[0]


def build_kernels(folder: Path, root: Path = ROOT, **environment: str) -> str:
    """Compile every kernel into `folder` with the setup.py of `root`; return why some could not be."""
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


def load_plain(source: Path) -> ModuleType:
    """Return the kernel `source` as plain Python."""
    return _load(source, ((each, each) for each in _kernels_beside(source)), SourceFileLoader)


def load_compiled(source: Path, folder: Path, root: Path = ROOT) -> ModuleType:
    """Return the kernel `source` compiled, by the installation or into `folder`; else skip the test."""
    if kernels.compiled_file(source) is not None:
        return _load(source, ((each, _file(each)) for each in _kernels_beside(source)), ExtensionFileLoader)
    compiled = {each: Path(folder, _file(each).relative_to(root)) for each in _kernels_beside(source)}
    why = "" if all(file.exists() for file in compiled.values()) else build_kernels(folder, root)
    if not all(file.exists() for file in compiled.values()):
        pytest.skip(why or f"{source} is not compiled")
    return _load(source, compiled.items(), ExtensionFileLoader)


def _kernels_beside(source: Path) -> list[Path]:
    """Return all kernels of the puzzle of `source`: they may import each other."""
    return [types.with_suffix(".py") for types in sorted(source.parent.glob("*.pxd"))]


def _file(source: Path) -> Path:
    return source.with_name(f"{kernels.compiled_name(source)}{SUFFIX}")


def _load(source: Path, files: Iterable[tuple[Path, Path]], loader: Callable[[str, str], Any]) -> ModuleType:
    """Import `source` and the kernels that it imports from `files`, and restore the modules of before."""
    package = f"pi_appliance.puzzles.{source.parent.name}"
    places = {f"{package}.{each.stem}": str(file) for each, file in files}
    name = f"{package}.{source.stem}"
    if importlib.util.find_spec(package) is None:  # a puzzle that only a test has
        return _import(name, loader(name, places[name]))
    finder, parent = _Finder(places, loader), importlib.import_module(package)
    before = {each: sys.modules.pop(each) for each in places if each in sys.modules}
    shown = dict(vars(parent))
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)
        for each in places:
            sys.modules.pop(each, None)
            vars(parent).pop(each.rpartition(".")[2], None)
        sys.modules.update(before)
        vars(parent).update(shown)


def _import(name: str, loader: Any) -> ModuleType:
    spec = spec_from_file_location(name, loader.path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


class _Finder(MetaPathFinder):
    """Finds the modules in `places`."""

    def __init__(self, places: Mapping[str, str], loader: Callable[[str, str], Any]) -> None:
        self.places, self.loader = places, loader

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname not in self.places:
            return None
        place = self.places[fullname]
        return spec_from_file_location(fullname, place, loader=self.loader(fullname, place))
