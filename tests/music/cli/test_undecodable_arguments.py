"""Undecodable arguments, such as file names of an old disk."""

from tests.fakes.mpd_server import needs_mpd, running_mpd
from tests.installation import Installation
from tests.warm_program import run_process

pytestmark = needs_mpd
ODD = b"Caf\xe9.ogg"  # Latin-1
ANNOUNCE = "  announce: {kind: music, with: {action: announce}}"


def test_undecodable_arguments_are_reported_in_one_line(installation: Installation) -> None:
    with running_mpd(installation.folder / "mpd") as mpd:
        installation.write(ANNOUNCE, f"player: {{kind: mpd, with: {{address: '{mpd.address}', fallback-mpd: false}}}}")
        for words in ("like", "rate 5", "play-now", "save", "search", "art", "announce", "alarm skip"):
            command = [*installation.program, "music", *words.split(), "--config", str(installation.config), "--"]
            done = run_process(
                [*command, ODD], capture_output=True, env=installation.environment(), timeout=60, check=False
            )
            assert done.returncode == 2, (words, done.stderr)
            assert b"Traceback" not in done.stderr, words
            assert done.stderr.strip().count(b"\n") == 0, words
