"""Fixtures of the puzzle tests. With PI_APPLIANCE_PLAIN=1 all of them run on kernels in plain Python."""

import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from types import ModuleType

import pytest

from pi_appliance.puzzles import kernels
from tests.puzzles import kernel_loader

if os.environ.get("PI_APPLIANCE_PLAIN") == "1":
    kernels.prefer_plain()


def pytest_report_header() -> str:
    """Return which kernels are tested."""
    if os.environ.get("PI_APPLIANCE_PLAIN") == "1":
        return "puzzle kernels: plain, as requested"
    counted = Counter(state for _, state in kernels.kernel_states())
    return "puzzle kernels: " + (", ".join(f"{number} {state}" for state, number in counted.items()) or "none")


@pytest.fixture(scope="session")
def sat_library() -> None:
    """Skip where the optional SAT library is missing, as on a processor that has no wheel of it."""
    pytest.importorskip("pysat")


@pytest.fixture(scope="session")
def plain_and_compiled(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[ModuleType, ModuleType]]:
    """Return a function that loads a kernel, such as "sudoku/kernel", plain and compiled.

    Kernels that are not compiled are compiled for the tests alone, once per source.
    """
    has_cache = hasattr(pytestconfig, "cache")
    folder = pytestconfig.cache.mkdir("kernels") if has_cache else tmp_path_factory.mktemp("kernels")

    @cache
    def load(name: str) -> tuple[ModuleType, ModuleType]:
        source = (kernels.PUZZLES / name).with_suffix(".py")
        return kernel_loader.load_plain(source), kernel_loader.load_compiled(source, folder)

    return load
