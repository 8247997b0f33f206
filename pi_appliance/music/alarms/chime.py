"""The bundled sound, reckoned out here: a gentle chime that every alarm can fall back on; and the form of WAV."""

import math
import struct
from functools import lru_cache

RATE = 22_050  # samples a second
SECONDS = 12  # how long the pattern is; it is made to be repeated
MIME = "audio/wav"

# When each bell is struck, in seconds, and its pitch in Hz: four notes of the chord of D major, up, and down again.
_BELLS = ((0.0, 293.66), (1.2, 369.99), (2.4, 440.0), (3.6, 587.33), (6.0, 587.33), (7.2, 440.0), (8.4, 369.99))
# What rings in a bell: how many times as high as its pitch, how loud, and in how many seconds it is half as loud.
_PARTIALS = ((1.0, 0.6, 0.9), (2.0, 0.25, 0.45), (3.01, 0.1, 0.2), (4.2, 0.05, 0.1))
_ATTACK = 0.02  # seconds; a blow without it would click
_LONGEST = 5.0  # seconds after which nothing is heard of a bell
_LOUDEST = 0.8  # of what a sample can hold, where bells ring together


@lru_cache(maxsize=1)
def chime(amplitude: float = 1.0) -> bytes:
    """Return the pattern as samples of 16 bits, one channel, RATE a second; AMPLITUDE is from 0 to 1."""
    length = RATE * SECONDS
    wave = [0.0] * length
    for start, pitch in _BELLS:
        first = int(start * RATE)
        for offset, value in enumerate(_bell(pitch)):
            if first + offset >= length:
                break
            wave[first + offset] += value
    top = max(abs(value) for value in wave)
    scale = 32_767 * _LOUDEST * min(max(amplitude, 0.0), 1.0) / top
    return struct.pack(f"<{length}h", *(int(value * scale) for value in wave))


def wav(pcm: bytes) -> bytes:
    """Return PCM, as `chime` gives it, as a WAV file."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, RATE * 2, 2, 16)
    return struct.pack("<4sI4s", b"RIFF", 36 + len(pcm), b"WAVE") + form + struct.pack("<4sI", b"data", len(pcm)) + pcm


def _bell(pitch: float) -> list[float]:
    values = [0.0] * int(_LONGEST * RATE)
    for times, loud, half in _PARTIALS:
        turn, fade = 2 * math.pi * pitch * times / RATE, 0.5 ** (1 / (half * RATE))
        level = loud
        for number in range(len(values)):
            values[number] += level * math.sin(turn * number)
            level *= fade
            if level < 1e-5:
                break
    ramp = int(_ATTACK * RATE)
    for number in range(ramp):
        values[number] *= number / ramp
    return values
