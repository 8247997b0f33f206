"""Tells systemd how the daemon is (sd_notify's protocol: one datagram a message). Does nothing elsewhere."""

import contextlib
import socket
from collections.abc import Mapping


class Notifier:
    """The notify socket of the service, where there is one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # A leading @ stands for Linux' abstract name space.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog = int(environment.get("WATCHDOG_USEC", "0")) / 1_000_000
        """Seconds after which systemd takes silence for a hang; 0 if it does not watch."""

    def say(self, *messages: str) -> None:
        """Send messages such as READY=1, STATUS=…, WATCHDOG=1, STOPPING=1."""
        if not self._address:
            return
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock,
        ):
            sock.connect(self._address)
            sock.sendall("\n".join(messages).encode())
