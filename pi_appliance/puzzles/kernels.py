"""Which kernels run compiled: those whose compiled file was made from the very source that lies here.

A kernel is a file <puzzle>/<name>.py with a <name>.pxd beside it, which gives Cython its types. What setup.py makes of
it bears a stamp of the source in its name, such as kernel_5e0c9bd1.cpython-311-aarch64-linux-gnu.so. Python by itself
never imports a file of such a name; the finder below does, if the stamp is right. So a kernel that was changed, or that
no compiler was there for, runs as the plain Python it is.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

PUZZLES = Path(__file__).parent
_HOW = b"1"  # counts the ways in which setup.py has compiled kernels: what an older way made is not taken
_TYPES, _SUFFIX = ".pxd", EXTENSION_SUFFIXES[0]


def kernel_sources(puzzles: Path = PUZZLES) -> Iterator[Path]:
    """Yield the kernels of all puzzles, as .py files, sorted."""
    return (types.with_suffix(".py") for types in sorted(puzzles.glob(f"*/*{_TYPES}")))


def source_hash(puzzle: Path) -> str:
    """Return what the folder PUZZLE must have been when its compiled files were made, for them to be right.

    That is all of its kernels, and their types: they may know each other's.
    """
    digest = hashlib.sha256(_HOW)
    for types in sorted(puzzle.glob(f"*{_TYPES}")):
        for path in (types, types.with_suffix(".py")):
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def compiled_name(source: Path) -> str:
    """Return the name of the module that SOURCE is compiled to: "kernel_5e0c9bd1"."""
    return f"{source.stem}_{source_hash(source.parent)}"


def compiled_file(source: Path) -> Path | None:
    """Return what SOURCE is compiled to; None if it is not, or another kernel of the same puzzle is not."""
    kind = source_hash(source.parent)
    made = [types.with_name(f"{types.stem}_{kind}{_SUFFIX}") for types in source.parent.glob(f"*{_TYPES}")]
    return source.with_name(f"{source.stem}_{kind}{_SUFFIX}") if all(file.exists() for file in made) else None


def kernel_states(puzzles: Path = PUZZLES) -> Iterator[tuple[str, str]]:
    """Yield each kernel, as "sudoku/kernel", and what it is: "compiled", "plain", or "stale": plain since a change."""
    for source in kernel_sources(puzzles):
        name = f"{source.parent.name}/{source.stem}"
        made = {file.name for file in source.parent.glob(f"{source.stem}_????????{_SUFFIX}")}
        if compiled_file(source):
            yield name, "compiled"
        else:
            yield name, "stale" if made - {f"{compiled_name(source)}{_SUFFIX}"} else "plain"


class KernelFinder(MetaPathFinder):
    """Finds the compiled files of kernels."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return where the compiled kernel FULLNAME is; None if there is no right one, or it is no kernel."""
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
    """Have kernels that are imported from now on run compiled, where they can."""
    if not any(isinstance(each, KernelFinder) for each in sys.meta_path):
        sys.meta_path.insert(0, KernelFinder())


def prefer_plain() -> None:
    """Have kernels that are imported from now on run as plain Python."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, KernelFinder)]
