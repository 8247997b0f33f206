"""The QR code, read back from the terminal and from the picture."""

import re
import socket

import pytest
import zxingcpp
from PIL import Image

from pi_appliance.config import page_address
from pi_appliance.config.options import Web
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.system import network
from pi_appliance.web import qr_code
from tests.installation import Installation

CELLS = {" ": (255, 255), "▀": (0, 255), "▄": (255, 0), "█": (0, 0)}
EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing listens
needs_address = pytest.mark.skipif(not network.local_addresses(), reason="this machine has no address but its own")


def scan_code(lines: list[str], scale: int = 6) -> str:
    """Return the text that a camera reads from a terminal with `lines`."""
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    picture = Image.new("L", (len(plain[0]), 2 * len(plain)), 128)
    for row, line in enumerate(plain):
        for column, message in enumerate(line):
            for half in (0, 1):
                picture.putpixel((column, 2 * row + half), CELLS[message][half])
    around = Image.new("L", (picture.width + 4, picture.height + 4), 0)  # a dark terminal around it
    around.paste(picture, (2, 2))
    (result,) = zxingcpp.read_barcodes(around.resize((scale * around.width, scale * around.height)))
    return result.text


@pytest.mark.parametrize(
    "text", ["http://192.168.1.20:8080/", "http://a.local/", f"http://{'long-name-' * 6}.local:8080/"]
)
def test_a_camera_reads_the_code_on_the_terminal(text: str) -> None:
    lines = list(qr_code.code_as_lines(text))
    assert scan_code(lines) == text
    for line in lines:
        plain = line.removeprefix("\x1b[38;5;16;48;5;231m").removesuffix("\x1b[0m")
        assert len(plain) < 80
        assert set(plain) <= set(CELLS)
        assert plain[:4] + plain[-4:] == " " * 8, "the quiet zone"


def test_a_camera_reads_the_picture() -> None:
    text = "http://192.168.1.20:8080/"
    picture = qr_code.code_as_svg(text).decode()
    (size,) = {int(each) for each in re.findall(r'(?:width|height)="(\d+)"', picture)}
    assert 'fill="#fff"' in picture
    image = Image.new("L", (size, size), 255)
    column = row = 0.0
    (path,) = re.findall(r'class="qrline" .*?d="(.*?)"', picture)
    for step, words in re.findall(r"([Mmh])([-\d. ]+)", path):  # lines as thick as a module
        numbers = [float(each) for each in words.split()]
        if step == "h":
            image.paste(
                0, (int(8 * column), int(8 * (row - 0.5)), int(8 * (column + numbers[0])), int(8 * (row + 0.5)))
            )
            column += numbers[0]
        else:
            column, row = (numbers[0], numbers[1]) if step == "M" else (column + numbers[0], row + numbers[1])
    (result,) = zxingcpp.read_barcodes(image)
    assert result.text == text


@needs_address
def test_the_command_shows_the_address_and_never_the_password(installation: Installation) -> None:
    installation.write("", "web: {host: 0.0.0.0, port: 8123}")
    (installation.folder / "secrets.env").write_text("WEB_PASSWORD=open sesame\n")
    (installation.folder / "secrets.env").chmod(0o600)
    done = installation.run("qr", environment={"PYTHONUTF8": "1"})
    assert done.returncode == 0, done.stderr
    *code, first, name = [each for each in done.stdout.splitlines() if not each.startswith("or http://1")]
    assert scan_code(code) == first == f"http://{network.local_addresses()[0]}:8123/"
    assert name == f"or http://{socket.gethostname().partition('.')[0]}.local:8123/"
    assert "sesame" not in done.stdout
    picture = installation.folder / "code.svg"
    done = installation.run("qr", "--svg", str(picture))
    assert done.stdout.startswith(first)
    assert "<svg" in picture.read_text()


def test_an_unreachable_page_is_reported_with_a_remedy(installation: Installation) -> None:
    installation.write("", "web: {port: 8123}")
    done = installation.run("qr")
    assert (done.returncode, done.stdout) == (1, "")
    assert "listens on 127.0.0.1" in done.stderr
    assert "write host: 0.0.0.0 under web:; then the page asks for a password" in done.stderr
    with pytest.raises(Refused, match="port: 8080"):
        page_address.addresses(Web(host=EVERYWHERE, port=0))
    with pytest.raises(Unavailable, match="no address"):
        page_address.addresses(Web(host="203.0.113.9"))
