"""Compiles the kernels of the puzzles, where Cython and a C compiler are; all else is in pyproject.toml.

Where one cannot be compiled, or PI_APPLIANCE_PLAIN=1 asks for none, the kernel runs as the Python it is.
"""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from shutil import which

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

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
PUZZLES = Path("pi_appliance", "puzzles")


def _load_kernels():
    """Return what names the kernels; the package itself cannot be imported before it is installed."""
    spec = importlib.util.spec_from_file_location("kernels", PUZZLES / "_kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = _load_kernels()


class BuildKernels(build_ext):
    """Compiles each kernel under its stamped name, and goes on where that fails."""

    def run(self):
        """Compile, and say what could not be."""
        self.failed = {}
        super().run()
        for why in dict.fromkeys(self.failed.values()):
            names = ", ".join(name for name, its in self.failed.items() if its == why)
            sys.stderr.write(f"{names}: {AS_PLAIN}: {why}\n")

    def build_extension(self, ext):
        """Compile one kernel, unless that was done."""
        source = Path(ext.sources[0])
        target = Path(self.get_ext_fullpath(ext.name))
        if target.exists() and not self.force:
            return
        try:
            ext.sources = [translate(source, Path(self.build_temp))]
            super().build_extension(ext)
        except Exception as error:  # noqa: BLE001 - whatever it is, the kernel runs without
            self.failed[f"{source.parent.name}/{source.stem}"] = reason(self.compiler, error)

    def copy_extensions_to_source(self):
        """Put what was compiled beside its source, in place of what was compiled from an older one."""
        for source in kernels.sources(PUZZLES):
            for old in source.parent.glob(f"{source.stem}_????????{sysconfig.get_config_var('EXT_SUFFIX')}"):
                if not old.name.startswith(f"{kernels.compiled_name(source)}."):
                    old.unlink()
        super().copy_extensions_to_source()


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
    if which(words[0]) is None:
        return f"there is no {words[0] or 'C compiler'}; sudo apt install gcc libc6-dev python3-dev"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python are missing; sudo apt install python3-dev"
    return " ".join(str(error).split())[:300]


def extensions():
    """Return what is to be compiled."""
    if os.environ.get("PI_APPLIANCE_PLAIN") == "1":
        return []
    return [
        Extension(
            ".".join((*source.parent.parts, kernels.compiled_name(source))),
            [str(source)],
            extra_compile_args=FLAGS,
            optional=True,
        )
        for source in kernels.sources(PUZZLES)
    ]


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernels})
