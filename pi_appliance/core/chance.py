"""Chance: decides for each slot whether it is used, at random to a reader, the same each time it is asked.

The decision is HMAC-SHA256 over job and slot with a secret of the installation. So a slot that is run twice decides
twice alike, the coming slots can be previewed, and nobody without the secret can tell them.
"""

import hashlib
import hmac

from pi_appliance.model.schedule import Chance

# In front of the slot, so that none of the three gives anything away about the others.
_SHARE, _DRAW = "share", "draw"


def picks(chance: Chance | None, *, secret: bytes, job: str, due: str) -> bool:
    """Say whether the slot DUE of JOB is used. Without a chance every slot is."""
    if chance is None:
        return True
    digest = hmac.digest(secret, f"{job}\n{due}".encode(), hashlib.sha256)
    # 128 bits against a fraction in whole numbers: no rounding, so 1/1 is always and the rest is as even as HMAC.
    return int.from_bytes(digest[:16]) * chance.draws < chance.hits << 128


def share(secret: bytes, job: str, due: str) -> float:
    """Return the draw of the slot DUE of JOB: from 0 to just under 1, evenly, the same each time it is asked."""
    return _even(secret, _SHARE, job, due)


def draw(secret: bytes, job: str, slot: str, label: str) -> float:
    """Return what was drawn for LABEL at SLOT of JOB: from 0 to just under 1, evenly, the same each time."""
    return _even(secret, _DRAW, job, slot, label)


def _even(secret: bytes, *about: str) -> float:
    digest = hmac.digest(secret, "\n".join(about).encode(), hashlib.sha256)
    return (int.from_bytes(digest[:8]) >> 11) / (1 << 53)  # as many bits as a float holds
