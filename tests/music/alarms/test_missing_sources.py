"""`config check` names the stations and playlists of alarms that do not exist."""

from pathlib import Path

from tests.fakes.mpd_server import needs_mpd, running_mpd
from tests.installation import Installation

ALARM = "wake: {kind: music, schedule: '@daily', with: {action: alarm, play: %s}}"


@needs_mpd
def test_a_playlist_that_the_player_has_not_saved_is_named(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    with running_mpd(tmp_path / "mpd") as server:
        player = f"player: {{kind: mpd, with: {{address: '{server.address}'}}}}"
        installation.write(ALARM % "'playlist:Morning'", player)
        assert (
            "the player has no playlist 'Morning'; there are none yet (warning)"
            in installation.call("config", "check")[2]
        )
        server.mpc("save", "Morning")
        assert installation.call("config", "check")[::2] == (0, "")
        installation.write(ALARM % "['playlist:Mornin', one.wav]", player)
        status, output, warnings = installation.call("config", "check")
        assert (status, b"valid, with warnings" in output) == (0, True)
        assert warnings.count("\n") == 1
        assert "did you mean 'Morning'?" in warnings
    assert installation.call("config", "check")[::2] == (0, ""), "without an answer of the player nothing is known"


def test_a_station_that_is_not_listed_is_named(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.write(ALARM % "'station:FIB'", "stations: stations.yaml")
    (tmp_path / "stations.yaml").write_text("- {name: FIP, url: 'http://radio.example/fip'}\n")
    assert "no station is called 'FIB'; did you mean 'FIP'?" in installation.call("config", "check")[2]
