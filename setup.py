"""Compiles the kernels of the puzzles, where Cython and a C compiler are; all else is in pyproject.toml.

Where one cannot be compiled, or PI_APPLIANCE_PLAIN=1 asks for none, the kernel runs as the Python it is.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig
import threading
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# Portable: what is compiled here may move to another machine of the kind. No debug tables: the card is small.
FLAGS = ["-O2", "-g0"]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "annotation_typing": False,  # the types of C are those in the .pxd, and the hints of the .py are for people
}
AS_PLAIN = "the puzzle kernels run as plain Python, slower, with the same answers"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
PUZZLES = Path("pi_appliance", "puzzles")
ONE = 2**29  # bytes of memory there must be for each that is compiled at the same time; gcc takes up to 200 MB of them


def _load_kernels():
    """Return what names the kernels; the package itself cannot be imported before it is installed."""
    spec = importlib.util.spec_from_file_location("kernels", PUZZLES / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = _load_kernels()


class BuildKernels(build_ext):
    """Compiles each kernel under its stamped name, some at once, and goes on where that fails."""

    def finalize_options(self):
        """Compile on all processors, as far as there is memory for it."""
        super().finalize_options()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.parallel = self.parallel or max(1, min(os.cpu_count() or 1, memory // ONE))

    def run(self):
        """Compile, and say what could not be."""
        self.failed, self.translating = {}, threading.Lock()  # Cython does one at a time, and most of the work is gcc's
        remove_old(Path(self.build_lib))
        super().run()
        for why in sorted(set(self.failed.values())):
            names = ", ".join(sorted(name for name, its in self.failed.items() if its == why))
            sys.stderr.write(f"{names}: {AS_PLAIN}: {why}\n")

    def build_extension(self, ext):
        """Compile one kernel, unless that was done before."""
        source, target = Path(ext.sources[0]), Path(self.get_ext_fullpath(ext.name))
        done = source.with_name(target.name)
        try:
            if done.exists() and not self.force:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(done, target)
            elif not target.exists() or self.force:
                with self.translating:
                    ext.sources = [translate(source, Path(self.build_temp))]
                super().build_extension(ext)
        except Exception as error:  # noqa: BLE001 - whatever it is, the kernel runs without
            self.failed[f"{source.parent.name}/{source.stem}"] = reason(self.compiler, error)

    def copy_extensions_to_source(self):
        """Put what was compiled beside its source, whole or not, in place of what was compiled from an older one."""
        for source in kernels.kernel_sources(PUZZLES):
            target = source.with_name(f"{kernels.compiled_name(source)}{SUFFIX}")
            built = Path(self.build_lib, target)
            if built.exists() and not target.exists():
                draft = target.with_suffix(".new")
                shutil.copy(built, draft)
                draft.replace(target)
        remove_old(Path())


def remove_old(root):
    """Remove what below ROOT was compiled from older sources than these."""
    for source in kernels.kernel_sources(PUZZLES):
        for made in Path(root, source.parent).glob(f"{source.stem}_????????{SUFFIX}"):
            if made.name != f"{kernels.compiled_name(source)}{SUFFIX}":
                made.unlink()


def translate(source: Path, folder: Path) -> str:
    """Have Cython write the C of the kernel SOURCE into FOLDER; return its path."""
    from Cython.Build import cythonize  # noqa: PLC0415 - where it is missing, this alone fails

    module = Extension(".".join(source.with_suffix("").parts), [str(source)])
    (done,) = cythonize([module], build_dir=str(folder), compiler_directives=DIRECTIVES, quiet=True, force=True)
    return done.sources[0]


def reason(compiler, error):
    """Return why it could not be compiled, and what to do about it."""
    if isinstance(error, ImportError):
        return "Cython is not installed"
    words = getattr(compiler, "compiler_so", None) or [""]
    if shutil.which(words[0]) is None:
        return f"there is no {words[0] or 'C compiler'}; sudo apt install gcc libc6-dev python3-dev"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python are missing; sudo apt install python3-dev"
    if isinstance(error, CompileError):
        return f"{words[0]} failed; pip install --verbose shows how"
    return " ".join(str(error).split())[:200] or type(error).__name__


def extensions():
    """Return what is to be compiled; if nothing is, take away what was."""
    if os.environ.get("PI_APPLIANCE_PLAIN") == "1":
        for made in PUZZLES.glob(f"*/*_????????{SUFFIX}"):
            made.unlink()
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


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernels})
