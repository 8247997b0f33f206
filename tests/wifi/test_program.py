"""The real daemon and the commands for Wi-Fi, with a fake nmcli in their search path."""

import json
from pathlib import Path

from tests.fakes.nmcli import HOME, World
from tests.installation import PROGRAM, Installation
from tests.test_daemon import running_daemon
from tests.warm_program import run_process


def test_the_commands_join_and_forget_and_the_first_start_names_the_hot_spot(
    installation: Installation, tmp_path: Path
) -> None:
    world = World(tmp_path / "bin", networks=[HOME])
    installation.extra_environment = world.environment
    installation.write("", "name: Kitchen\nweb: {host: 0.0.0.0, port: 0}\nhotspot: {}")

    def join(password: str, *more: str) -> tuple[int, str]:
        ended = run_process(
            [*PROGRAM, "system", "wifi", "join", "Home", *more, "--config", str(installation.config)],
            env=installation.environment(),
            input=f"{password}\n",
            capture_output=True,
            text=True,
        )
        return ended.returncode, ended.stdout + ended.stderr.partition("\n")[2]

    with running_daemon(installation) as daemon:
        secrets = (installation.folder / "secrets.env").read_text()
        password = secrets.strip().removeprefix("HOTSPOT_PASSWORD=")
        line = f"Without a network, its Wi-Fi is Kitchen set-up with the password {password}; open http://10.42.0.1"
        assert line in daemon.output
        assert line in installation.run("qr").stdout
        status, output = join("wrong and long")
        assert (status, output) == (
            1,
            "pi-appliance: Home did not accept the password; it is wrong, or the machine is too far away\n",
        )
        assert join("wrong and long", "--json") == (status, output)
        assert join("correct horse") == (0, "Home is joined\n")
        status, output = join("correct horse", "--json")
        assert (status, json.loads(output)) == (0, installation.json("system", "wifi", "list"))
        assert json.loads(output)["last"] == {"ssid": "Home", "state": "done", "message": "Home is joined"}
        assert installation.run("system", "wifi").stdout == " 72 %  Home  connected, known, password\nHome is joined\n"
        assert installation.run("system", "wifi", "forget", "Home").stdout == "Home is forgotten\n"
        assert world["profiles"] == {}
        assert installation.run("system", "wifi", "forget", "Home").returncode == 2
        assert "correct horse" not in json.dumps(world["calls"]) + daemon.output
        assert password not in json.dumps(installation.json("logs"))


def test_the_check_of_the_file_names_a_hot_spot_that_would_not_help(installation: Installation) -> None:
    installation.write("", "hotspot: {}")
    secrets = installation.folder / "secrets.env"
    secrets.write_text("HOTSPOT_PASSWORD=short\n")
    secrets.chmod(0o600)
    errors = installation.run("config", "check").stderr
    assert "appliance.yaml:4:1: no phone reaches the page over it: the page listens on 127.0.0.1; write host" in errors
    assert "appliance.yaml:4:1: HOTSPOT_PASSWORD is too short, so it does not open; write 8 or more" in errors
    installation.write("", f"hotspot: {{name: {'x' * 33}}}")
    assert "cannot be the name of a Wi-Fi; write up to 32 letters" in installation.run("config", "check").stderr
