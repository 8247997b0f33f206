"""Find compiled kernels that match their source: see ADR 0042.

A kernel is `<puzzle>/<name>.py` with types in `<name>.pxd`; their hash names the compiled file.
"""

import fcntl
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

PUZZLES = Path(__file__).parent
_HOW = b"1"  # version of the build in setup.py; increase it to reject older files
_TYPES, _SUFFIX = ".pxd", EXTENSION_SUFFIXES[0]


def kernel_sources(puzzles: Path = PUZZLES) -> Iterator[Path]:
    """Yield the .py files of all kernels, sorted."""
    return (types.with_suffix(".py") for types in sorted(puzzles.glob(f"*/*{_TYPES}")))


def source_hash(puzzle: Path) -> str:
    """Return a hash of all kernels of a puzzle and their types: kernels import each other."""
    digest = hashlib.sha256(_HOW)
    for types in sorted(puzzle.glob(f"*{_TYPES}")):
        for path in (types, types.with_suffix(".py")):
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def compiled_name(source: Path) -> str:
    """Return the name of the compiled module, such as "kernel_5e0c9bd1"."""
    return f"{source.stem}_{source_hash(source.parent)}"


def compiled_file(source: Path) -> Path | None:
    """Return the compiled file, or None unless all kernels of the puzzle are compiled."""
    kind = source_hash(source.parent)
    files = [types.with_name(f"{types.stem}_{kind}{_SUFFIX}") for types in source.parent.glob(f"*{_TYPES}")]
    return source.with_name(f"{source.stem}_{kind}{_SUFFIX}") if all(file.exists() for file in files) else None


def kernel_states(puzzles: Path = PUZZLES) -> Iterator[tuple[str, str]]:
    """Yield each kernel with its state.

    The state is "compiled", "plain", or "stale": changed after it was compiled.
    """
    for source in kernel_sources(puzzles):
        name = f"{source.parent.name}/{source.stem}"
        files = {file.name for file in source.parent.glob(f"{source.stem}_????????{_SUFFIX}")}
        if compiled_file(source):
            yield name, "compiled"
        else:
            yield name, "stale" if files - {f"{compiled_name(source)}{_SUFFIX}"} else "plain"


def is_compiling(puzzles: Path = PUZZLES) -> bool:
    """Return whether kernels are being compiled: the scripts of deploy/ lock the folder."""
    descriptor = os.open(puzzles, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class KernelFinder:
    """Imports kernels from compiled files, if there are any."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the spec of the matching compiled kernel, or None."""
        package, _, name = fullname.rpartition(".")
        if not package.startswith(f"{__package__}.") or not path:
            return None
        source = Path(path[0], f"{name}.py")
        if not source.with_suffix(_TYPES).exists():
            return None
        file = compiled_file(source)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, str(file)))


def prefer_compiled() -> None:
    """Use compiled kernels, where they exist, for all imports from now on."""
    if not any(isinstance(each, KernelFinder) for each in sys.meta_path):
        sys.meta_path.insert(0, KernelFinder())


def prefer_plain() -> None:
    """Run kernels imported from now on as plain Python."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, KernelFinder)]
