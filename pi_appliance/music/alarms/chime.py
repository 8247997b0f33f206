"""The built-in alarm sound: a synthesized chime as a WAV file."""

import math
import struct
from functools import lru_cache

SAMPLE_RATE = 22_050  # Hz
SECONDS = 12  # length of the pattern, which is repeated
MIME = "audio/wav"

# Start in seconds and pitch in Hz of each bell: a chord of D major, up and down.
_BELLS = ((0.0, 293.66), (1.2, 369.99), (2.4, 440.0), (3.6, 587.33), (6.0, 587.33), (7.2, 440.0), (8.4, 369.99))
# Partials of a bell: multiple of its pitch, amplitude, half-life in seconds.
_PARTIALS = ((1.0, 0.6, 0.9), (2.0, 0.25, 0.45), (3.01, 0.1, 0.2), (4.2, 0.05, 0.1))
_ATTACK = 0.02  # seconds; without it each bell would start with a click
_BELL_SECONDS = 5.0
_FADE_SECONDS = 3.6  # after which a bell is quiet enough to be cut off
_PEAK = 0.8  # of the range of a sample


@lru_cache(maxsize=1)
def chime(amplitude: float = 1.0, seconds: float = SECONDS) -> bytes:
    """Return the pattern, or its first `seconds`, as mono 16-bit samples. `amplitude` is 0 to 1."""
    length = int(SAMPLE_RATE * seconds)
    wave = [0.0] * length
    for start, pitch in _BELLS:
        if start + _FADE_SECONDS > seconds:
            break  # it would be cut off with a click
        first = int(start * SAMPLE_RATE)
        for offset, value in enumerate(_bell(pitch)):
            if first + offset >= length:
                break
            wave[first + offset] += value
    peak = max(abs(value) for value in wave)
    scale = 32_767 * _PEAK * min(max(amplitude, 0.0), 1.0) / peak
    return struct.pack(f"<{length}h", *(int(value * scale) for value in wave))


def wav(pcm: bytes) -> bytes:
    """Return the samples `pcm` of `chime` as a WAV file."""
    format_chunk = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, SAMPLE_RATE, SAMPLE_RATE * 2, 2, 16)
    header = struct.pack("<4sI4s", b"RIFF", 36 + len(pcm), b"WAVE")
    return header + format_chunk + struct.pack("<4sI", b"data", len(pcm)) + pcm


def _bell(pitch: float) -> list[float]:
    values = [0.0] * int(_BELL_SECONDS * SAMPLE_RATE)
    for multiple, level, half_life in _PARTIALS:
        angle = 2 * math.pi * pitch * multiple / SAMPLE_RATE
        decay = 0.5 ** (1 / (half_life * SAMPLE_RATE))
        for number in range(len(values)):
            values[number] += level * math.sin(angle * number)
            level *= decay  # noqa: PLW2901 - the partial decays
            if level < 1e-5:
                break
    attack = int(_ATTACK * SAMPLE_RATE)
    for number in range(attack):
        values[number] *= number / attack
    return values
