"""Undecodable arguments, such as file names of an old disk."""

import pytest

from tests.fakes.mpd_server import needs_mpd, running_mpd
from tests.installation import Installation
from tests.warm_program import run_process

pytestmark = needs_mpd
ODD = b"Caf\xe9.ogg"  # Latin-1
ANNOUNCE = "  announce: {kind: music, with: {action: announce}}"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("like",), 2),
        (("rate", "5"), 2),
        (("play-now",), 2),
        (("save",), 2),
        (("search",), 2),
        (("art",), 2),
        (("announce",), 2),
        (("alarm", "skip"), 2),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_undecodable_arguments_are_reported_in_one_line(
    installation: Installation, words: tuple[str, ...], status: int
) -> None:
    with running_mpd(installation.folder / "mpd") as mpd:
        installation.write(ANNOUNCE, f"player: {{kind: mpd, with: {{address: '{mpd.address}', fallback-mpd: false}}}}")
        command = [*installation.program, "music", *words, "--config", str(installation.config), "--"]
        done = run_process(
            [*command, ODD], capture_output=True, env=installation.environment(), timeout=60, check=False
        )
    assert done.returncode == status, done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.strip().count(b"\n") == 0
