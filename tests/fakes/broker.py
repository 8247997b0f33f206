"""A real MQTT broker on this machine, and a client that records the published messages."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import paho.mqtt.client as paho
import pytest

from tests.installation import wait_until

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin")


class Broker:
    """A broker. `messages` are the newest of each topic, `log` are all with their topics."""

    def __init__(self, folder: Path, settings: str = "allow_anonymous true") -> None:
        self._folder, self._settings = folder, settings
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.messages: dict[str, str] = {}
        self.log: list[tuple[str, str, bool]] = []
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.client.on_connect = lambda client, *_: client.subscribe("#", 1)
        self.client.on_message = self._note

    def _note(self, _client, _data, message) -> None:
        text = message.payload.decode()
        self.log.append((message.topic, text, message.retain))
        self.messages[message.topic] = text

    def start(self) -> None:
        """Start it, or start it again without its messages."""
        config = self._folder / "mosquitto.conf"
        config.write_text(f"listener {self.port} 127.0.0.1\nuser root\npersistence false\n{self._settings}\n")
        assert MOSQUITTO is not None
        self._process = subprocess.Popen([MOSQUITTO, "-c", config], stderr=subprocess.DEVNULL)
        wait_until(self._is_listening)

    def _is_listening(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def watch(self, user: str = "", password: str = "") -> None:
        """Connect the client."""
        if user:
            self.client.username_pw_set(user, password)
        self.client.connect("127.0.0.1", self.port)
        self.client.loop_start()
        wait_until(self.client.is_connected)

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        """Publish a message, and return when the broker has it."""
        self.client.publish(topic, payload, 1, retain).wait_for_publish(10)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """Return a broker that is not started yet."""
    if MOSQUITTO is None:
        pytest.skip("mosquitto is not installed")
    broker = Broker(tmp_path)
    yield broker
    broker.client.loop_stop()
    broker.client.disconnect()
    broker.stop()
