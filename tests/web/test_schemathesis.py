"""Random and malformed requests to every operation, held to the OpenAPI document by schemathesis.

It is not an extra of the project: `.venv-test/bin/pip install schemathesis`. Nothing restarts and no
Wi-Fi changes: the service is real, the machine behind it is not.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.served_appliance import configuration, served
from tests.web.test_openapi import JOBS, STATIONS, STREAM, prepare

PROGRAM = Path(sys.executable).with_name("st")
OPTIONS = Path(__file__).with_name("schemathesis.toml")
SECONDS = 200  # of random requests
PASSWORD = "/password"  # changes what every later request needs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM.exists(), reason="schemathesis is not installed: pip install schemathesis"),
]


@pytest.mark.parametrize(
    "selection",
    [("--exclude-path", STREAM, "--exclude-path", PASSWORD), ("--include-path", PASSWORD)],
    ids=["all", "password"],
)
def test_no_request_breaks_what_the_document_promises(tmp_path: Path, selection: tuple[str, ...]) -> None:
    with served(configuration(tmp_path / "appliance", jobs=JOBS, stations=STATIONS)) as appliance:
        prepare(appliance, "/runs")
        document = f"{appliance.origin}/api/v1/openapi.json"
        limits = ("--max-time", str(SECONDS), "--generation-database", "none", "--no-color")
        done = subprocess.run(
            [PROGRAM, "--config-file", OPTIONS, "run", document, "--checks", "all", *limits, *selection],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=3 * SECONDS,
        )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert re.search(r"[1-9]\d* generated, [1-9]\d* passed", done.stdout)
