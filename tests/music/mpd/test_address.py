"""The address of MPD in the configuration, and its errors."""

from pathlib import Path

import pytest

from pi_appliance.config.loader import load_config
from pi_appliance.errors import ConfigError


def read(folder: Path, address: str) -> object:
    """Return the player address of the configuration in `folder`."""
    file = folder / "appliance.yaml"
    file.write_text(f"state-dir: state\nplayer:\n  kind: mpd\n  with:\n    address: {address!r}\n", "utf-8")
    player = load_config(file).player
    assert player is not None
    return player.options.place


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("localhost:6600", ("localhost", 6600)),
        ("192.168.1.5:6601", ("192.168.1.5", 6601)),
        ("[::1]:6600", ("::1", 6600)),
        ("/run/mpd/socket", Path("/run/mpd/socket")),
        ("~/.mpd/socket", Path.home() / ".mpd/socket"),
    ],
)
def test_an_address_is_host_and_port_or_a_socket(tmp_path: Path, address: str, place: object) -> None:
    assert read(tmp_path, address) == place


@pytest.mark.parametrize(
    ("address", "right"),
    [
        ("localhost", "write host:port such as localhost:6600"),
        (":6600", "write host:port"),
        ("localhost:", "write host:port"),
        ("localhost:mpd", "write host:port"),
        ("localhost:٦٦٠٠", "write host:port"),
        ("localhost:0", "from 1 to 65535"),
        ("localhost:70000", "from 1 to 65535"),
        ("::1:6600", "such as [::1]:6600"),
        ("run/socket", "write host:port"),
    ],
)
def test_a_malformed_address_is_reported_at_its_place(tmp_path: Path, address: str, right: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        read(tmp_path, address)
    (problem,) = wrong.value.problems
    assert (problem.line, problem.message) == (5, f"{address!r} is not an address of MPD")
    assert right in problem.hint


def test_a_password_in_the_address_belongs_in_the_secrets_and_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="put MPD_PASSWORD=… among the secrets") as wrong:
        read(tmp_path, "hunter2@localhost:6600")
    assert "hunter2" not in str(wrong.value)
