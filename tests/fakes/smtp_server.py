"""A mail server on loopback with AUTH PLAIN and LOGIN for one user."""

import base64
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class FakeSmtp:
    """The received mails, with the user of each in `signed_in`."""

    user: str
    password: str
    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    signed_in: list[str] = field(default_factory=list)


@contextmanager
def fake_smtp(user: str, password: str) -> Iterator[FakeSmtp]:
    """Run the server for the block."""
    fake = FakeSmtp(user, password)

    class Handler(_Handler):
        state = fake

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(socketserver.StreamRequestHandler):
    state: FakeSmtp

    def handle(self) -> None:
        welcome = False
        self._say("220 fake")
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].upper()
            if verb == "EHLO":
                self._say("250-fake")
                self._say("250-8BITMIME")
                self._say("250 AUTH LOGIN PLAIN")
            elif verb == "AUTH":
                welcome = self._given(line) == (self.state.user, self.state.password)
                self._say("235 welcome" if welcome else "535 5.7.8 who are you?")
            elif verb == "QUIT":
                self._say("221 bye")
                return
            elif not welcome:
                self._say("530 sign in first")
            elif verb == "DATA":
                self._say("354 go on")
                self.state.mails.append(self._mail())
                self.state.signed_in.append(self.state.user)
                self._say("250 taken")
            else:  # MAIL, RCPT, RSET
                self._say("250 well")

    def _given(self, line: str) -> tuple[str, str]:
        """Return the user and the password of an AUTH command."""
        words = line.split()
        if words[1].upper() == "PLAIN":
            _, user, password = _decoded(words[2] if words[2:] else self._asked("")).split("\0")
            return user, password
        user = _decoded(words[2]) if words[2:] else _decoded(self._asked("VXNlcm5hbWU6"))
        return user, _decoded(self._asked("UGFzc3dvcmQ6"))

    def _asked(self, what: str) -> str:
        self._say(f"334 {what}")
        return self.rfile.readline().decode().strip()

    def _mail(self) -> EmailMessage:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        mail = message_from_bytes(b"".join(lines), policy=policy.default)
        assert isinstance(mail, EmailMessage)
        return mail

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
