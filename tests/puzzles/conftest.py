"""Fixtures of the puzzles' tests. With PI_APPLIANCE_PLAIN=1 all of them run on kernels of plain Python."""

import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from types import ModuleType

import pytest

from pi_appliance.puzzles import kernels
from tests.puzzles import ways

if os.environ.get("PI_APPLIANCE_PLAIN") == "1":
    kernels.prefer_plain()


def pytest_report_header() -> str:
    """Say which kernels are tested."""
    if os.environ.get("PI_APPLIANCE_PLAIN") == "1":
        return "puzzle kernels: plain, as asked"
    counted = Counter(state for _, state in kernels.kernel_states())
    return "puzzle kernels: " + (", ".join(f"{number} {state}" for state, number in counted.items()) or "none")


@pytest.fixture(scope="session")
def both_ways(pytestconfig: pytest.Config) -> Callable[[str], tuple[ModuleType, ModuleType]]:
    """Return what loads a kernel, such as "sudoku/kernel", in both ways: plain and compiled.

    What an install has not compiled yet is compiled for the tests alone, once for each source.
    """
    folder = pytestconfig.cache.mkdir("kernels")

    @cache
    def load(name: str) -> tuple[ModuleType, ModuleType]:
        source = (kernels.PUZZLES / name).with_suffix(".py")
        return ways.plain(source), ways.compiled(source, folder)

    return load
