"""The distribution of tests to workers."""

import os
import re
import subprocess
import sys

import pytest

from tests.installation import ROOT


@pytest.mark.slow
def test_one_worker_runs_the_tests_that_change_the_machine() -> None:
    words = [
        "-n",
        "2",
        "-v",
        "-p",
        "no:cacheprovider",
        "tests/config/test_units.py",
        "tests/scheduling/test_crontab_system_file.py",
    ]
    # Without the variables by which xdist and pytest recognise their workers.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    ran = re.findall(r"\[(gw\d)\] .* PASSED (tests/\w+)/", done.stdout)
    assert len({worker for worker, folder in ran if folder == "tests/scheduling"}) == 1
    assert {worker for worker, _ in ran} == {"gw0", "gw1"}
