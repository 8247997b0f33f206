"""Kernels run plain and compiled, and only if compiled from their current source."""

import ast
import fcntl
import os
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from pi_appliance.puzzles import kernel_mode, kernels
from tests.installation import ROOT
from tests.puzzles import kernel_loader

KERNELS = [path.relative_to(kernels.PUZZLES).with_suffix("").as_posix() for path in kernels.kernel_sources()]
SOURCE = '''"""Adds."""


def total(numbers: "array[int]") -> int:
    """Return the sum of `numbers` in 32 bits."""
    found = 0
    for number in numbers:
        found = (found + number) & 0xFFFFFFFF
    return found
'''
TYPES = """cimport cython

@cython.locals(found=cython.ulonglong, number=cython.ulonglong)
cpdef unsigned int total(unsigned int[::1] numbers)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a tree with one small kernel; return its root."""
    root = tmp_path / "a tree"
    puzzle = root / "pi_appliance" / "puzzles" / "adding"
    puzzle.mkdir(parents=True)
    for name in (
        "setup.py",
        "pyproject.toml",
        "README.md",
        "pi_appliance/__init__.py",
        "pi_appliance/puzzles/kernels.py",
    ):
        shutil.copy(ROOT / name, root / name)
    (puzzle / "kernel.py").write_text(SOURCE)
    (puzzle / "kernel.pxd").write_text(TYPES)
    return root


def kernel_of(root: Path) -> Path:
    return root / "pi_appliance" / "puzzles" / "adding" / "kernel.py"


def made_in(root: Path) -> list[str]:
    return [path.name for path in root.rglob(f"*{kernel_loader.SUFFIX}")]


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_imports_no_cython_and_is_compiled_from_its_source(plain_and_compiled, name: str) -> None:
    plain, compiled = plain_and_compiled(name)
    assert (kernel_mode(plain), kernel_mode(compiled)) == ("plain", "compiled")
    source = kernels.PUZZLES / f"{name}.py"
    assert Path(compiled.__file__).name == f"{kernels.compiled_name(source)}{kernel_loader.SUFFIX}"
    imported = [
        node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert "cython" not in " ".join(map(ast.unparse, imported))


@pytest.mark.slow  # the kernels of the puzzles are compared daily
def test_a_compiled_kernel_gives_the_results_of_its_source(tree: Path, tmp_path: Path) -> None:
    plain, compiled = (
        kernel_loader.load_plain(kernel_of(tree)),
        kernel_loader.load_compiled(kernel_of(tree), tmp_path / "made", tree),
    )
    numbers = array("I", [2**32 - 1, 2**31, 5])
    assert plain.total(numbers) == compiled.total(numbers) == 2**31 + 4
    assert (kernel_mode(plain), kernel_mode(compiled)) == ("plain", "compiled")
    before = made_in(tmp_path / "made")
    kernel_of(tree).write_text(SOURCE.replace("0xFFFFFFFF", "0xFFFF"))
    assert kernel_loader.load_compiled(kernel_of(tree), tmp_path / "made", tree).total(numbers) == 4
    assert made_in(tmp_path / "made") != before, "what was made of the older source is gone"
    assert len(made_in(tmp_path / "made")) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "why"),
    [
        pytest.param("false", "false failed; run pip install --verbose for details", marks=pytest.mark.slow),
        ("gcc-of-nobody", "there is no gcc-of-nobody; sudo apt"),
    ],
)
def test_installation_continues_without_a_working_compiler(tree: Path, tmp_path: Path, compiler: str, why: str) -> None:
    output = kernel_loader.build_kernels(tmp_path / "made", tree, CC=compiler)
    assert output.startswith(
        f"adding/kernel: the puzzle kernels run as plain Python, slower, with the same results: {why}"
    )
    assert made_in(tmp_path) == []


@pytest.mark.slow  # a missing compiler is reported daily
def test_a_kernel_that_cython_rejects_is_reported_and_the_others_are_compiled(tree: Path, tmp_path: Path) -> None:
    other = kernel_of(tree).with_name("other_kernel.py")
    other.write_text(SOURCE)
    other.with_suffix(".pxd").write_text("cpdef unsigned int total(unsigned int[::1] numbers, int more)\n")
    output = kernel_loader.build_kernels(tmp_path / "made", tree)
    if "adding/kernel" in output:
        pytest.skip(output)
    assert output.startswith("adding/other_kernel: the puzzle kernels run as plain Python")
    assert [name.partition("_")[0] for name in made_in(tmp_path / "made")] == ["kernel"]


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("environment", "is_installed"),
    [({}, True), ({"PI_APPLIANCE_KERNELS": "later"}, False), ({"PI_APPLIANCE_PLAIN": "1"}, False)],
)
def test_pip_installs_cython_only_if_it_compiles_kernels(
    tree: Path, environment: dict[str, str], is_installed: bool
) -> None:
    project = tree / "pyproject.toml"
    build = project.read_text("utf-8").partition("[project]")[0]
    project.write_text(build + '[project]\nname = "adding"\nversion = "1"\n[tool.setuptools]\npackages = []\n')
    code = "from setuptools import build_meta; print('Cython>=3.0' in build_meta.get_requires_for_build_editable())"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tree,
        env={**os.environ, "PI_APPLIANCE_PLAIN": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == [str(is_installed)], done.stderr


def test_plain_kernels_can_be_requested_and_remove_compiled_ones(tree: Path, tmp_path: Path) -> None:
    old = kernel_of(tree).with_name(f"kernel_0123abcd{kernel_loader.SUFFIX}")
    old.touch()
    assert kernel_loader.build_kernels(tmp_path / "made", tree, PI_APPLIANCE_PLAIN="1") == ""
    assert made_in(tmp_path) == []


def test_only_a_file_compiled_from_this_source_is_imported(tree: Path) -> None:
    source, finder = kernel_of(tree), kernels.KernelFinder()
    puzzles, folder = source.parent.parent, [str(source.parent)]
    name = "pi_appliance.puzzles.adding.kernel"
    assert finder.find_spec(name, folder) is None
    assert list(kernels.kernel_states(puzzles)) == [("adding/kernel", "plain")]

    compiled_file = source.with_name(f"{kernels.compiled_name(source)}{kernel_loader.SUFFIX}")
    compiled_file.touch()
    spec = finder.find_spec(name, folder)
    assert spec is not None
    assert spec.origin == str(compiled_file)
    assert list(kernels.kernel_states(puzzles)) == [("adding/kernel", "compiled")]
    assert finder.find_spec("pi_appliance.puzzles.adding.board", folder) is None

    for changed in (source, source.with_suffix(".pxd")):
        before = changed.read_text()
        changed.write_text(before + "# changed\n")
        assert finder.find_spec(name, folder) is None, changed.name
        assert list(kernels.kernel_states(puzzles)) == [("adding/kernel", "stale")]
        changed.write_text(before)
    assert finder.find_spec(name, folder) is not None


def test_the_folder_is_locked_while_its_kernels_are_compiled(tmp_path: Path) -> None:
    assert not kernels.is_compiling(tmp_path)
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    assert kernels.is_compiling(tmp_path)
    os.close(folder)
    assert not kernels.is_compiling(tmp_path)
