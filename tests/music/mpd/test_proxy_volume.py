"""The volume policy on the MPD proxy: `setvol` is limited in every form, a relative `volume` too."""

import asyncio
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.music.mpd.proxy_commands import MAX_LINE_BYTES, CommandFilter
from pi_appliance.music.radio.streams import require_public_host


class Lines(CommandFilter):
    """A filter with `volumes` by partition; others do not exist. `fed()` returns the sent bytes."""

    def __init__(self, allowed: int = 30, **volumes: int) -> None:
        async def read_volume(partitions: Sequence[str]) -> int | None:
            return next((volumes[name] for name in reversed(partitions) if name in volumes), None)

        super().__init__(lambda: allowed, read_volume)

    def fed(self, data: bytes) -> bytes:
        out = list[bytes]()
        with pytest.raises(StopIteration):  # it has nothing to wait for
            self.feed(data, out.append).send(None)
        return b"".join(out)


def filter_volume(data: bytes, allowed: int = 30) -> bytes:
    lines = Lines(allowed)
    return lines.fed(data) + lines.flush()


@pytest.mark.parametrize(
    ("data", "goes_on"),
    [
        (b"setvol 100\n", b"setvol 30\n"),
        (b'setvol "100"\n', b'setvol "30"\n'),
        (b'setvol "1\\00"\r\n', b'setvol "30"\r\n'),
        (b"setvol\t+99 \r\n", b"setvol\t30 \r\n"),
        (b"setvol 031\n", b"setvol 30\n"),
        (b"setvol 0000000000000000000000100\n", b"setvol 30\n"),
        (b'setvol "-18446744073709551516"\n', b'setvol "30"\n'),  # 100 to the C library of a 64-bit machine
        (b"setvol -4294967196\n", b"setvol 30\n"),  # and of a 32-bit one
        (b"setvol 100\0junk\n", b"setvol 30\0junk\n"),
        (
            b'command_list_begin\nsetvol "50"\nplay\ncommand_list_end\n',
            b'command_list_begin\nsetvol "30"\nplay\ncommand_list_end\n',
        ),
        (b"setvol 31\nsetvol 30\nsetvol 0\n", b"setvol 30\nsetvol 30\nsetvol 0\n"),
    ],
)
def test_a_volume_above_the_limit_is_lowered(data: bytes, goes_on: bytes) -> None:
    assert filter_volume(data) == goes_on
    lines = Lines()
    one_by_one = b"".join(lines.fed(bytes([byte])) for byte in data)
    assert one_by_one == goes_on, "the same where each byte comes by itself"


@pytest.mark.parametrize(
    "data",
    [
        b"setvol 30\n",
        b"setvol 101\n",  # MPD refuses it, in its own words
        b"setvol -5\n",
        b"setvol 18446744073709551716\n",  # too large: it does not overflow
        b"setvol " + b"9" * 5000 + b"\n",
        b"setvol abc\n",
        b"setvol\n",
        b"setvol 100 100\n",
        b"setvol 'a' 100\n",
        b" setvol 100\n",  # MPD closes the connection
        b"setvolume 100\n",
        b"volume -5\n",  # quieter, so nothing needs to be known
        b"volume +0\n",
        b"volume 101\n",
        b"volume x\n",
        b"volume\n",
        b"volumes 5\n",
        b'add "setvol 100"\n',
        b"set",
        b"setvol 100",  # without an end it is not a line
        b"\n\n\xff\xfe\nGET / HTTP/1.1\r\n",
    ],
)
def test_other_commands_stay_unchanged(data: bytes) -> None:
    assert filter_volume(data) == data


@pytest.mark.parametrize(
    ("data", "goes_on"),
    [
        (b"volume 3\n", b"setvol 23\n"),
        (b'volume\t"+90" \r\n', b'setvol\t"30" \r\n'),
        (b"partition attic\nvolume 3\n", b"partition attic\nsetvol 8\n"),
        (b'partition "attic"\npartition nowhere\nvolume 3\n', b'partition "attic"\npartition nowhere\nsetvol 8\n'),
        (b"partition attic\npartition default\nvolume 3\n", b"partition attic\npartition default\nsetvol 23\n"),
        (
            b"command_list_begin\nsetvol 7\nvolume 3\nvolume -20\nvolume 1\ncommand_list_end\nvolume 3\n",
            b"command_list_begin\nsetvol 7\nsetvol 10\nsetvol 0\nsetvol 1\ncommand_list_end\nsetvol 23\n",
        ),
    ],
)
def test_a_relative_volume_becomes_an_absolute_one_within_the_limit(data: bytes, goes_on: bytes) -> None:
    assert Lines(default=20, attic=5).fed(data) == goes_on
    lines = Lines(default=20, attic=5)
    assert b"".join(lines.fed(bytes([byte])) for byte in data) == goes_on


def test_where_the_volume_is_not_known_it_does_not_rise() -> None:
    assert filter_volume(b"volume 3\n") == b"volume 0\n"


def test_an_address_of_this_machine_loses_its_command() -> None:
    async def no_volume(_: Sequence[str]) -> int | None:
        return None

    async def scenario() -> bytes:
        lines = CommandFilter(lambda: 100, no_volume, lambda uri: require_public_host(uri, ["localhost:8000"]))
        out = list[bytes]()
        for start in range(0, len(data), 7):
            await lines.feed(data[start : start + 7], out.append)
        return b"".join(out)

    data = b"".join(
        [
            b'add "http://127.0.0.1:6600/"\naddid HTTP://[::1]/ 3\nload "http:\\//169.254.169.254/x.m3u"\n',
            b'command_list_begin\nplaylistadd mine http://0/\nadd "http://192.0.2.1/fm"\ncommand_list_end\n',
            b'add http://localhost:8000/\nadd "Albums/1 :// 2"\nsetvol 100\n',
        ]
    )
    assert asyncio.run(scenario()) == b"".join(
        [
            b"add\naddid\nload\n",
            b'command_list_begin\nplaylistadd\nadd "http://192.0.2.1/fm"\ncommand_list_end\n',
            b'add http://localhost:8000/\nadd "Albums/1 :// 2"\nsetvol 100\n',
        ]
    )


def test_a_command_without_a_volume_is_passed_on_before_its_line_ends() -> None:
    lines = Lines()
    assert lines.fed(b'add "a very lo') == b'add "a very lo'
    assert lines.fed(b"se") == b"se", "in the middle of a line"
    assert lines.fed(b'ng name"\nse') == b'ng name"\n'
    assert lines.fed(b"ek 1 2\n") == b"seek 1 2\n"


def test_a_line_without_end_is_not_buffered() -> None:
    lines = Lines()
    data, out = b"setvol " + b" " * (MAX_LINE_BYTES + 70_000) + b"100\n", b""
    for start in range(0, len(data), 1000):
        out += lines.fed(data[start : start + 1000])
        assert start + 1000 - len(out) <= MAX_LINE_BYTES + 1000
    assert out == data, "MPD does not take so long a line"
    assert lines.fed(b"setvol 99\n") == b"setvol 30\n"


def test_two_million_bytes_pass_unchanged() -> None:
    random_source = random.Random(5)
    data = b"command_list_begin\n" + b"".join(b'add "%d"\n' % random_source.randrange(10**12) for _ in range(150_000))
    lines, out = Lines(0), bytearray()
    for start in range(0, len(data), 65_536):
        out += lines.fed(data[start : start + 65_536])
    assert bytes(out) == data


WORDS = st.sampled_from(
    [
        b"setvol",
        b"volume",
        b"partition",
        b" ",
        b"\t",
        b'"',
        b"\\",
        b"5",
        b"100",
        b"77",
        b"\n",
        b"\r\n",
        b"play",
        b"s",
        b"\0",
        b"'",
    ]
)


@given(st.lists(WORDS, max_size=30).map(b"".join), st.lists(st.integers(0, 60), max_size=6))
def test_packet_boundaries_do_not_matter(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    lines = Lines(10)
    pieces = b"".join(lines.fed(data[low:high]) for low, high in pairwise(edges))
    assert pieces + lines.flush() == filter_volume(data, 10)


@given(st.binary(max_size=200))
def test_without_a_limit_every_byte_passes_unchanged(data: bytes) -> None:
    assert filter_volume(data, 100) == data
