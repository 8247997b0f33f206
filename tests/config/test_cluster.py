"""The section `cluster:` of the configuration."""

import pytest

from pi_appliance.config.loader import load_config
from pi_appliance.errors import ConfigError

HEAD = "state-dir: state\njobs: {}\n"


@pytest.mark.parametrize(
    "section",
    [
        "{scheduler: 'tls://192.168.1.20:8786'}",
        "{scheduler: 'tls://kitchen.local:8786'}",
        "{scheduler: 'tls://[fd00::1]:8786'}",
        "{scheduler: 'tcp://127.0.0.1:8786'}",
        "{scheduler: 'tcp://192.168.1.20:8786', unencrypted: true}",
    ],
)
def test_an_encrypted_address_or_one_of_this_machine_is_accepted(tmp_path, section):
    path = tmp_path / "appliance.yaml"
    path.write_text(f"{HEAD}cluster: {section}\n")
    config = load_config(path)
    assert config.cluster is not None


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{scheduler: 'tcp://192.168.1.20:8786'}", "3:22: tcp://192.168.1.20:8786 is not encrypted; write tls://"),
        (
            "{scheduler: '192.168.1.20'}",
            "3:22: '192.168.1.20' is not the address of a scheduler; write one such as tls",
        ),
        ("{scheduler: 'tls://pi:99999'}", "3:22: 'tls://pi:99999' is not the address of a scheduler"),
        ("{shceduler: 'tls://pi:8786'}", "3:11: "),
        ("{}", "scheduler"),
    ],
)
def test_a_wrong_address_is_named_with_its_place(tmp_path, section, problem):
    path = tmp_path / "appliance.yaml"
    path.write_text(f"{HEAD}cluster: {section}\n")
    with pytest.raises(ConfigError) as raised:
        load_config(path)
    assert problem in str(raised.value)
