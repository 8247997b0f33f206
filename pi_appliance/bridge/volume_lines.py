"""What an MPD client sends, with each `setvol` above what is allowed made what is allowed; all else stays to the byte.

Only what may become a `setvol` is held until its line ends; other bytes pass at once.
"""

import re
from collections.abc import Callable

LONGEST = 16_384  # bytes of one line; MPD closes the connection where one is longer
_COMMAND = b"setvol"
# A line as MPD reads it: words apart by anything up to the space, the last one perhaps in quotes, where \ frees a sign.
_LINE = re.compile(
    rb'(?P<before>setvol[\x01-\x20]+)(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\x00-\x20"\']+))(?P<after>[\x01-\x20]*)',
    re.DOTALL,
)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
# MPD reads numbers as C does: zeros in front count for nothing, and a minus goes round the end of what a word of the
# machine holds. What is longer is too large for it.
_NUMBER = re.compile(rb"[\t-\r ]*(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,20})")
_WORDS = (1 << 32, 1 << 64)
_LOUDEST = 100


class VolumeLines:
    """The lines of one client. ALLOWED tells the loudest that is allowed when a line goes by."""

    def __init__(self, allowed: Callable[[], int]) -> None:
        self._allowed, self._held, self._at_start = allowed, b"", True

    def feed(self, data: bytes) -> bytes:
        """Take what the client sent next, and return what goes on to MPD."""
        out, data, self._held = bytearray(), self._held + data, b""
        place = 0
        while place < len(data):
            end = data.find(b"\n", place)
            if self._at_start and _may_be_ours(data, place):
                if end < 0 and len(data) - place <= LONGEST:
                    self._held = data[place:]
                    break
                if end >= 0:
                    out += self._clamped(data[place:end])
                    place = end
            # The rest of a line that is none of ours, with its end if that is there already.
            stop = len(data) if end < 0 else end + 1
            out += data[place:stop]
            place, self._at_start = stop, end >= 0
        return bytes(out)

    def rest(self) -> bytes:
        """Return what is still held when the client has said its last."""
        held, self._held = self._held, b""
        return held

    def _clamped(self, line: bytes) -> bytes:
        text, nul, beyond = line.partition(b"\0")  # MPD reads as far as the first NUL
        match = _LINE.fullmatch(text)
        if match is None:
            return line
        quoted = match["quoted"] is not None
        number = _ESCAPED.sub(rb"\1", match["quoted"]) if quoted else match["plain"]
        if (loudest := self._allowed()) >= _volume(number):
            return line  # what is no volume MPD itself refuses
        lowered = b'"%d"' % loudest if quoted else b"%d" % loudest
        return match["before"] + lowered + match["after"] + nul + beyond


def _volume(number: bytes) -> int:
    """Return the volume that MPD takes NUMBER for; 0 where it takes it for none."""
    match = _NUMBER.fullmatch(number)
    if match is None:
        return 0
    told = int(match["digits"])
    found = [told] if match["sign"] != b"-" else [word - told for word in _WORDS]
    return next((each for each in found if 0 <= each <= _LOUDEST), 0)


def _may_be_ours(data: bytes, place: int) -> bool:
    begin = data[place : place + len(_COMMAND)]
    return _COMMAND.startswith(begin)
