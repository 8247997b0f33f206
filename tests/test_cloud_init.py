"""The file for the first start of a new card installs the newest release, and repeats that until it succeeds."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.fakes.release_server import ReleaseServer, release_server
from tests.test_deploy_scripts import ROOT, write_fake_programs

FILE = ROOT / "deploy/cloud-init/vendor-data"
INSTALL = 'echo install.sh "$*" >>ROOT/calls; [ ! -e ROOT/broken ] && mkdir -p ROOT/opt/pi-appliance/current'
PROGRAMS = ("systemctl", "sysctl", "runuser", "pi-appliance")


class Card(NamedTuple):
    """A new card below `root`, whose list of releases is at `server`."""

    root: Path
    server: ReleaseServer

    def boot(self, code: str = "") -> list[str]:
        """Run the boot commands of cloud-init, and return the calls of systemctl."""
        (script,) = yaml.safe_load(FILE.read_text())["bootcmd"]
        script = script.replace("code=\n", f"code={code}\n", 1).replace('Path("/")', f'Path("{self.root}")')
        script = re.sub(r"releases=\S+", f"releases={self.server.address}/releases", script, count=1)
        script = re.sub(r"(?<=[ >])/(?=opt/|etc/systemd|usr/local)", f"{self.root}/", script)
        subprocess.run(["sh"], input=script, env=self.environment, text=True, check=True, cwd="/")
        return self.calls()

    def start(self, status: int = 0) -> str:
        """Run the command of the systemd unit, which repeats it each minute until it succeeds. Return its output."""
        unit = (self.root / "etc/systemd/system/pi-appliance-first-boot.service").read_text()
        assert "Restart=on-failure\nRestartSec=60\n" in unit
        assert "StartLimitIntervalSec=0\n" in unit, "systemd never gives up"
        line = re.search("ExecStart=/usr/bin/python3 (.*)", unit)
        assert line is not None
        ended = subprocess.run(
            [sys.executable, *shlex.split(line[1])],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd="/",
        )
        assert ended.returncode == status, ended.stdout
        return ended.stdout

    def calls(self) -> list[str]:
        """Return the programs that were called since the last time."""
        file = self.root / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines

    @property
    def environment(self) -> dict[str, str]:
        """The environment with fakes of programs that change the machine."""
        return {**os.environ, "PATH": f"{self.root}/bin:/usr/bin:/bin"}


def archive(root: Path) -> bytes:
    """Return the archive of a release that only notes its installation."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as members:
        content = INSTALL.replace("ROOT", str(root)).encode()
        info = tarfile.TarInfo("pi-appliance-0.2.0/deploy/install.sh")
        info.size = len(content)
        members.addfile(info, io.BytesIO(content))
    return target.getvalue()


@pytest.fixture
def card(tmp_path: Path) -> Iterator[Card]:
    for folder in ("etc/systemd/system", "etc/sysctl.d", "var/lib", "var/cache"):
        (tmp_path / folder).mkdir(parents=True)
    write_fake_programs(tmp_path / "bin", **{name: f'echo {name} "$*" >>{tmp_path}/calls' for name in PROGRAMS})
    for name in PROGRAMS:
        (tmp_path / "bin" / name).chmod(0o755)
    with release_server("0.2.0", archive(tmp_path)) as server:
        yield Card(tmp_path, server)


@pytest.mark.skipif(not shutil.which("cloud-init"), reason="cloud-init is not installed")
def test_cloud_init_accepts_the_file() -> None:
    result = subprocess.run(
        ["cloud-init", "schema", "--config-file", FILE], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_it_sets_nothing_that_the_imager_sets() -> None:
    """The Imager writes keys into user-data, and keys there replace ours."""
    assert set(yaml.safe_load(FILE.read_text())) == {"bootcmd"}


def test_the_newest_release_is_installed_and_its_page_needs_no_port(card: Card) -> None:
    assert card.boot() == [
        "systemctl daemon-reload",
        "systemctl enable --quiet pi-appliance-first-boot.service",
        "systemctl start --no-block pi-appliance-first-boot.service",
    ]
    card.start()
    assert card.calls() == [
        "install.sh --yes",
        f"sysctl --quiet --load {card.root}/etc/sysctl.d/60-pi-appliance.conf",
        "runuser -u pi-appliance -- pi-appliance config set web.port 80 --config /etc/pi-appliance/appliance.yaml",
        "systemctl restart pi-appliance",
        "pi-appliance qr --config /etc/pi-appliance/appliance.yaml",
        "systemctl disable --quiet pi-appliance-first-boot",
    ]
    source = (card.root / "etc/pi-appliance-update.conf").read_text()
    assert source == f"address={card.server.address}/releases\n", "later updates come from there"
    assert list((card.root / "var/cache").iterdir()) == []
    assert not (card.root / "var/lib/pi-appliance").exists(), "the appliance makes a code of its own"
    assert card.boot() == [], "the next boot leaves it alone"


def test_without_network_it_is_tried_again(card: Card) -> None:
    card.boot()
    address, card.server.address = card.server.address, "http://127.0.0.1:1"
    digest, card.server.digest = card.server.digest, "0" * 64
    assert "not ready yet" in card.start(status=1), "the archive is not reached"
    card.server.address = address
    assert "SHA-256" in card.start(status=1)
    card.server.digest = digest
    (card.root / "broken").touch()
    assert "not ready yet" in card.start(status=1)
    assert card.calls() == ["install.sh --yes"]
    assert card.boot()[-1].startswith("systemctl start"), "also after a restart"
    (card.root / "broken").unlink()
    card.start()
    assert card.calls()[-1] == "systemctl disable --quiet pi-appliance-first-boot"


def test_a_code_in_the_file_opens_the_first_page(card: Card) -> None:
    card.boot("K7MQ-42XW")
    card.start()
    setup = card.root / "var/lib/pi-appliance/setup.json"
    assert json.loads(setup.read_text()) == {"code": "K7MQ-42XW"}
    assert setup.stat().st_mode & 0o777 == 0o600


def test_where_port_80_belongs_to_root_the_page_stays_at_8080(card: Card) -> None:
    write_fake_programs(card.root / "bin", sysctl="exit 1")
    card.boot()
    assert "http://NAME.local:8080" in card.start()
    assert card.calls()[-1] == "systemctl disable --quiet pi-appliance-first-boot"
    assert list((card.root / "etc/sysctl.d").iterdir()) == []


def test_an_address_that_others_could_answer_is_refused(card: Card) -> None:
    card.server.address = "http://example.org"
    card.boot()
    assert "begins with https://" in card.start(status=1)
