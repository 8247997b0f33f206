"""The sources of a service's secrets: its unit, and the file of a credential."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.config import secret_writer
from pi_appliance.config.secret_writer import SecretFile
from pi_appliance.errors import Refused
from pi_appliance.system import files
from pi_appliance.system.systemd import Systemd

CONFIG = Path("/etc/pi-appliance/appliance.yaml")
UNIT = f"# /etc/systemd/system/pi-appliance.service\n[Service]\nExecStart=/opt/x/pi-appliance up --config {CONFIG}\n"
CREDS = """#!/bin/sh
# Stands in for systemd-creds: it turns letters round, and takes the same name for both ways.
[ "$1" = --name=secrets.env ] || exit 1
case $2 in
    encrypt) tr a-z n-za-m ;;
    decrypt) [ "$(cat "$3")" != damaged ] || { echo 'bad tag' >&2; exit 1; }; tr n-za-m a-z <"$3" ;;
esac
"""


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, "ascii")
    (folder / name).chmod(0o755)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that other users may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="pi-appliance-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def systemd(folder: Path) -> Systemd:
    """Return a systemd whose `systemctl cat` shows the file `unit`."""
    (folder / "run/systemd/system").mkdir(parents=True)
    programs = folder / "bin"
    programs.mkdir()
    program(programs, "systemctl", f"#!/bin/sh\n[ \"$1\" = cat ] && cat '{folder}/unit'\n")
    (folder / "unit").write_text(UNIT, "ascii")
    return Systemd(folder, {"PATH": f"{programs}:/usr/bin:/bin"})


@pytest.mark.parametrize(
    ("lines", "file"),
    [
        ("", None),
        ("LoadCredential=other:/root/x", None),
        ("LoadCredential=secrets.env:/root/x", SecretFile(Path("/root/x"), credential=True)),
        ("LoadCredential=secrets.env", SecretFile(Path("/etc/credstore/secrets.env"), credential=True)),
        ("LoadCredential=secrets.env:/root/x\nLoadCredential=", None),
        ("LoadCredential=secrets.env:/a\nLoadCredential=secrets.env:/b", SecretFile(Path("/b"), credential=True)),
        (
            "LoadCredentialEncrypted=secrets.env:/root/x",
            SecretFile(Path("/root/x"), credential=True, encrypted=True),
        ),
    ],
)
def test_the_unit_names_the_sources_of_its_credential(systemd, folder, lines, file):
    (folder / "unit").write_text(f"{UNIT}{lines}\n", "ascii")
    assert secret_writer.of_service(CONFIG, systemd) == file
    assert secret_writer.place(CONFIG, systemd) == (file or SecretFile(CONFIG.parent / "secrets.env"))


def test_without_a_service_the_secrets_are_beside_the_configuration(systemd, folder):
    (folder / "unit").write_text(f"{UNIT}LoadCredential=secrets.env:/root/x\n", "ascii")
    mine = folder / "appliance.yaml"
    assert secret_writer.place(mine, systemd) == SecretFile(folder / "secrets.env")
    (folder / "bin" / "systemctl").unlink()
    assert secret_writer.of_service(CONFIG, systemd) is None


def test_secrets_set_in_the_unit_are_not_changed(systemd, folder):
    (folder / "unit").write_text(f"{UNIT}SetCredential=secrets.env:A=hush\n", "ascii")
    with pytest.raises(Refused, match=r"are in pi-appliance\.service itself \(SetCredential=\)") as error:
        secret_writer.place(CONFIG, systemd)
    assert "hush" not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="a credential is root's")
def test_root_reads_the_credential_of_the_service(systemd, folder):
    file = folder / "mine.env"
    (folder / "unit").write_text(f"{UNIT}LoadCredential=secrets.env:{file}\n", "ascii")
    SecretFile(file, credential=True).store({"X_KEY": "hush", "OTHER": "b"}, owner=folder)
    result = secret_writer.load(CONFIG, {"X_KEY": "mine"}, ["X_KEY"], systemd)
    assert (dict(result), result.origin("X_KEY"), result.origin("OTHER")) == (
        {"X_KEY": "mine", "OTHER": "b"},
        "the environment",
        str(file),
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_other_users_learn_who_can_read_it(systemd, folder):
    (folder / "unit").write_text(f"{UNIT}LoadCredential=secrets.env:/root/x\n", "ascii")
    with (
        files.as_user(65534),
        pytest.raises(Refused, match="from /root/x, but the user nobody cannot; run this with sudo"),
    ):
        secret_writer.load(CONFIG, {}, (), systemd)


def test_an_encrypted_credential_is_decrypted_changed_and_encrypted_again(systemd, folder, monkeypatch):
    program(folder / "bin", "systemd-creds", CREDS)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    file = SecretFile(folder / "secrets.cred", credential=True, encrypted=True)
    file.store({"A": "first"}, owner=folder)
    file.store({"B": "second"}, owner=folder)
    assert file.values() == {"A": "first", "B": "second"}
    assert file.path.read_bytes() == b"A=svefg\nB=frpbaq\n"
    file.path.write_bytes(b"damaged")
    with pytest.raises(Refused, match="cannot be decrypted: bad tag; only root can"):
        file.store({"A": "c"}, owner=folder)
    assert file.path.read_bytes() == b"damaged"
