"""The network `x` over TLS: failures before sending are certain, those after it are not."""

import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from pi_appliance.errors import Unavailable, Uncertain
from tests.posting.networks.x_account import HELLO, connected

Broken = Callable[[ssl.SSLSocket], None]


def below(broken: Callable[[socket.socket], None]) -> Broken:
    """Return `broken` applied to the connection below TLS."""

    def do(secured: ssl.SSLSocket) -> None:
        with socket.socket(fileno=secured.detach()) as raw:
            broken(raw)

    return do


def reset(line: socket.socket) -> None:
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def send_no_tls(line: socket.socket) -> None:
    line.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")


def send_a_damaged_record(line: socket.socket) -> None:
    line.sendall(b"\x17\x03\x03\x00\x30" + b"z" * 48)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Create a certificate for localhost with its key in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, made = tmp_path / "key.pem", tmp_path / "made.pem"
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, "-keyout", str(key), "-out", str(made)],
        check=True,
        capture_output=True,
    )
    made.write_bytes(made.read_bytes() + key.read_bytes())
    return made


@contextmanager
def server(certificate: Path, broken: Broken) -> Iterator[tuple[str, list[bytes]]]:
    """Receive a post over TLS and break the connection with `broken`; yield address and data."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    received: list[bytes] = []

    def serve() -> None:
        line, _ = listener.accept()
        try:
            secured = context.wrap_socket(line, server_side=True)
        except OSError:  # the other side does not trust us
            line.close()
            return
        with secured:
            received.append(secured.recv(65_536))
            broken(secured)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://localhost:{listener.getsockname()[1]}", received
        thread.join()


@pytest.mark.slow_variants
@pytest.mark.parametrize("broken", [reset, send_no_tls, send_a_damaged_record])
def test_a_connection_lost_after_sending_is_uncertain(certificate, monkeypatch, broken):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    lines = server(certificate, below(broken))
    with lines as (address, received), pytest.raises(Uncertain, match="broke before it answered"):
        connected(address).post(HELLO, key="k")
    assert received[0].startswith(b"POST /2/tweets")


def test_an_untrusted_certificate_is_unavailable_because_nothing_was_sent(certificate, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    with server(certificate, below(reset)) as (address, received), pytest.raises(Unavailable, match="certificate"):
        connected(address).post(HELLO, key="k")
    assert received == []


def never_answer(line: socket.socket) -> None:
    line.recv(65_536)  # until the other side gives up


@pytest.mark.parametrize("broken", [reset, send_no_tls, send_a_damaged_record, never_answer])
def test_a_connection_lost_before_tls_is_unavailable_because_nothing_was_sent(broken):
    def serve() -> None:
        line, _ = listener.accept()
        with line:
            line.recv(65_536)  # it says hello
            broken(line)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        network = connected(f"https://localhost:{listener.getsockname()[1]}", timeout=timedelta(seconds=0.3))
        with pytest.raises(Unavailable, match="online"):
            network.post(HELLO, key="k")
        thread.join()


def test_a_slow_drip_over_tls_ends_at_the_timeout(certificate, monkeypatch):
    def drip(line: ssl.SSLSocket) -> None:
        line.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 50000\r\n\r\n")
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                line.sendall(b" ")

    over = threading.Event()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with server(certificate, drip) as (address, received):
        with pytest.raises(Uncertain, match="took too long"):
            connected(address, timeout=timedelta(seconds=0.3)).post(HELLO, key="k")
        over.set()
    assert received[0].startswith(b"POST /2/tweets")
