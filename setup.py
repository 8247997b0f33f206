"""Compile the puzzle kernels if Cython and a C compiler are installed.

A kernel that cannot be compiled runs as plain Python. PI_APPLIANCE_PLAIN=1 compiles none;
PI_APPLIANCE_KERNELS=later installs those that are compiled, and leaves the others to deploy/lib.sh.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig
import threading
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# Portable to other machines of the same kind. No debug information: SD cards are small.
FLAGS = ["-O2", "-g0"]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "annotation_typing": False,  # the C types are in the .pxd file
}
PLAIN_NOTE = "the puzzle kernels run as plain Python, slower, with the same results"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
PUZZLES = Path("pi_appliance", "puzzles")
IS_PLAIN = os.environ.get("PI_APPLIANCE_PLAIN") == "1"
KERNELS_COME_LATER = os.environ.get("PI_APPLIANCE_KERNELS") == "later"
MEMORY_PER_JOB = 2**29  # bytes; gcc takes up to 200 MB for a kernel


def _load_kernels():
    """Import kernels.py alone: the package cannot be imported before it is installed."""
    spec = importlib.util.spec_from_file_location("kernels", PUZZLES / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = _load_kernels()


class BuildKernels(build_ext):
    """Compiles the kernels in parallel, named by a hash. A failure is only reported."""

    def finalize_options(self):
        """Use all processors, if memory suffices."""
        super().finalize_options()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.parallel = self.parallel or max(1, min(os.cpu_count() or 1, memory // MEMORY_PER_JOB))

    def run(self):
        """Compile the kernels and report failures."""
        # Cython translates one kernel at a time. gcc takes most of the time and runs in parallel.
        self.failure_reasons, self.cython_lock = {}, threading.Lock()
        self.is_beside = self.inplace  # setuptools clears it while it builds
        remove_stale_kernels(Path(self.build_lib))
        super().run()
        for reason in sorted(set(self.failure_reasons.values())):
            names = ", ".join(sorted(name for name, each in self.failure_reasons.items() if each == reason))
            sys.stderr.write(f"{names}: {PLAIN_NOTE}: {reason}\n")

    def build_extension(self, ext):
        """Compile one kernel, unless its compiled file exists."""
        source, target = Path(ext.sources[0]), Path(self.get_ext_fullpath(ext.name))
        existing = source.with_name(target.name)
        try:
            if existing.exists() and not self.force:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(existing, target)
            elif KERNELS_COME_LATER:
                return
            elif not target.exists() or self.force:
                with self.cython_lock:
                    ext.sources = [translate_kernel(source, Path(self.build_temp))]
                super().build_extension(ext)
                if self.is_beside:
                    put_beside(source, Path(self.build_lib))
        except Exception as error:  # noqa: BLE001 - the kernel runs without
            self.failure_reasons[f"{source.parent.name}/{source.stem}"] = explain_failure(self.compiler, error)

    def copy_extensions_to_source(self):
        """Move the compiled kernels beside their sources, and remove those of older sources."""
        for source in kernels.kernel_sources(PUZZLES):
            put_beside(source, Path(self.build_lib))
        remove_stale_kernels(Path())


def put_beside(source: Path, built: Path) -> None:
    """Copy the compiled kernel from the folder `built` beside its source."""
    target = source.with_name(f"{kernels.compiled_name(source)}{SUFFIX}")
    if Path(built, target).exists() and not target.exists():
        partial = target.with_suffix(".new")
        shutil.copy(Path(built, target), partial)
        partial.replace(target)


def remove_stale_kernels(root):
    """Remove kernels below `root` that were compiled from other sources than the current ones."""
    for source in kernels.kernel_sources(PUZZLES):
        for file in Path(root, source.parent).glob(f"{source.stem}_????????{SUFFIX}"):
            if file.name != f"{kernels.compiled_name(source)}{SUFFIX}":
                file.unlink()


def translate_kernel(source: Path, folder: Path) -> str:
    """Translate the kernel `source` to C in `folder`; return the path of the C file."""
    from Cython.Build import cythonize  # noqa: PLC0415 - optional

    module = Extension(".".join(source.with_suffix("").parts), [str(source)])
    (translated,) = cythonize([module], build_dir=str(folder), compiler_directives=DIRECTIVES, quiet=True, force=True)
    return translated.sources[0]


def explain_failure(compiler, error):
    """Return the reason of a failed compilation, and how to fix it."""
    if isinstance(error, ImportError):
        return "Cython is not installed"
    command = getattr(compiler, "compiler_so", None) or [""]
    if shutil.which(command[0]) is None:
        return f"there is no {command[0] or 'C compiler'}; sudo apt install gcc libc6-dev python3-dev"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python are missing; sudo apt install python3-dev"
    if isinstance(error, CompileError):
        return f"{command[0]} failed; run pip install --verbose for details"
    return " ".join(str(error).split())[:200] or type(error).__name__


def find_extensions():
    """Return the kernels to compile. PI_APPLIANCE_PLAIN=1: remove compiled ones, return none."""
    if IS_PLAIN:
        for file in PUZZLES.glob(f"*/*_????????{SUFFIX}"):
            file.unlink()
        return []
    return [
        Extension(
            ".".join((*source.parent.parts, kernels.compiled_name(source))),
            [str(source)],
            extra_compile_args=FLAGS,
            optional=True,
        )
        for source in kernels.kernel_sources(PUZZLES)
    ]


def find_requirements():
    """Return what pip installs for a build, besides setuptools: Cython, if it compiles."""
    is_asked_by_pip = "egg_info" in sys.argv  # with another command, setuptools would install it itself
    if IS_PLAIN or KERNELS_COME_LATER or not is_asked_by_pip:
        return []
    return tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["pi-appliance"]["compile-requires"]


setup(
    ext_modules=find_extensions(),
    cmdclass={"build_ext": BuildKernels},
    setup_requires=find_requirements(),
)
