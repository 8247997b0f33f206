"""Messages of a real broker start jobs, also after it was away."""

import shutil
import subprocess
from pathlib import Path

import pytest

from pi_appliance.storage.model import Outcome, Trigger
from tests.fakes.broker import Broker, broker
from tests.installation import Installation, wait_until
from tests.test_daemon import QUIET, running_daemon

__all__ = ["broker"]

JOBS = """\
door: {kind: command, triggers: {mqtt: {topic: 'home/+/door', payload: open}}, with: {run: ['true']}}
kept: {kind: command, triggers: {mqtt: {topic: [home/kept, other/#], retained: true}}, with: {run: ['true']}}
new: {kind: command, triggers: {mqtt: {topic: home/kept}}, with: {run: ['true']}}
"""


def sections(broker: Broker, more: str = "") -> str:
    return f"{QUIET}\nmqtt: {{host: 127.0.0.1, port: {broker.port}{more}}}"


def is_working(installation: Installation) -> bool:
    return all(each["problem"] == "" for each in installation.json("jobs", "triggers"))


def count_runs(installation: Installation, job: str, runs: int) -> None:
    wait_until(lambda: installation.outcomes(job) == [Outcome.SUCCEEDED] * runs)


def test_messages_start_jobs_also_after_the_broker_was_away(installation: Installation, broker: Broker) -> None:
    installation.write(JOBS, sections(broker, ", discovery: false"))
    with running_daemon(installation) as daemon:
        wait_until(lambda: not is_working(installation))
        problem = installation.json("jobs", "triggers")[0]["problem"]
        assert problem.startswith(f"the broker 127.0.0.1:{broker.port} is not reached: ")
        assert "FAIL  triggers" in installation.run("doctor").stdout
        assert "is not reached" in installation.run("logs", "--problems").stdout
        broker.start()
        broker.watch()
        broker.publish("home/kept", "hello", retain=True)
        wait_until(lambda: is_working(installation))
        broker.publish("home/front/door", "closed")
        broker.publish("home/front/door", "open")
        broker.publish("home/front/side/door", "open")
        count_runs(installation, "door", 1)
        assert installation.runs("door")[0].trigger is Trigger.MQTT
        count_runs(installation, "kept", 1)
        assert installation.runs("new") == []  # the message was there before
        broker.publish("other/a/b", "")
        count_runs(installation, "kept", 2)
        installation.run("jobs", "pause", "door")
        broker.publish("home/back/door", "open")
        broker.publish("other/c", "")
        count_runs(installation, "kept", 3)
        assert len(installation.runs("door")) == 1
        broker.stop()
        wait_until(lambda: not is_working(installation))
        broker.start()
        wait_until(lambda: is_working(installation) and broker.client.is_connected())
        broker.publish("other/d", "")
        count_runs(installation, "kept", 4)
        assert "Traceback" not in daemon.output


def test_a_wrong_password_is_a_problem(installation: Installation, broker: Broker, tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-c", "-b", passwords, "pi", "right one"], check=True, capture_output=True)
    broker._settings = f"password_file {passwords}"
    broker.start()
    secrets = installation.folder / "secrets.env"
    secrets.write_text("MQTT_PASSWORD=wrong one\n")
    secrets.chmod(0o600)
    installation.write(JOBS, sections(broker, ", user: pi"))
    with running_daemon(installation) as daemon:
        wait_until(lambda: not is_working(installation))
        secrets.write_text("MQTT_PASSWORD=right one\n")
        assert installation.run("reload").returncode == 0
        wait_until(lambda: is_working(installation))
        assert "wrong one" not in daemon.output


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_an_encrypted_connection_checks_the_certificate(
    installation: Installation, broker: Broker, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    broker._settings = f"allow_anonymous true\ncertfile {certificate}\nkeyfile {key}"
    broker.start()
    installation.write(JOBS, sections(broker, ", tls: true"))
    with running_daemon(installation):
        wait_until(lambda: "certificate" in installation.json("jobs", "triggers")[0]["problem"])
        installation.write(JOBS, sections(broker, f", tls: true, ca-file: '{certificate}'"))
        assert installation.run("reload").returncode == 0
        wait_until(lambda: is_working(installation))
        installation.write(JOBS, sections(broker, f", tls: true, ca-file: '{tmp_path}/missing.pem'"))
        assert installation.run("reload").returncode == 0
        wait_until(lambda: "No such file" in installation.json("jobs", "triggers")[0]["problem"])


@pytest.mark.parametrize(
    ("jobs", "more", "problem"),
    [
        (JOBS, QUIET, "no MQTT broker is named; add a section such as mqtt: {host: 192.168.1.2}"),
        (JOBS.replace("home/+/door", "home/do+or"), "mqtt: {host: localhost}", "'home/do+or' is not a topic"),
        (JOBS, "mqtt: {host: 'mqtt://localhost'}", "'mqtt://localhost' is not the name of a host"),
    ],
)
def test_what_cannot_work_is_refused(installation: Installation, jobs: str, more: str, problem: str) -> None:
    installation.write(jobs, more)
    checked = installation.run("config", "check")
    assert checked.returncode == 2
    assert problem in checked.stderr
