"""The history opened: mended where it is damaged, and not believed where runs began that it does not know of."""

import logging
from functools import partial
from pathlib import Path

from pi_appliance.store import salvage
from pi_appliance.store.sqlite import Store, slot_key
from pi_appliance.system import clock, locks

log = logging.getLogger("pi_appliance.history")


def open_history(state: Path) -> Store:
    """Open the history in the folder STATE. Tells the owner where it was damaged. Raises Unavailable."""
    known = _began(state)
    store = Store(state / "history.db", mend=partial(_mend, state))
    if known and max(known.values()) > store.newest():
        now = clock.now()
        store.seal(at=now, boot=clock.boot_name(), known=known)
        log.warning(
            "%s knows nothing of run %s, which began: it was lost or put back; no slot of before %s is run again",
            *(store.path, max(known.values()), f"{now:%Y-%m-%d %H:%M:%S} UTC"),
        )
    return store


def _began(state: Path) -> dict[str, int]:
    """Return the claims of the last run of each job, with its number, as its lock remembers them."""
    found = ((path.stem, locks.claimed(path)) for path in (state / "locks").glob("*.lock"))
    return {slot_key(job, known[1] or ""): known[0] for job, known in found if known}


def _mend(state: Path, path: Path, wrong: str) -> None:
    saved = salvage.mend(path, now=clock.now(), boot=clock.boot_name(), known=_began(state))
    if saved.aside is None:
        log.warning("%s: the new file is in its place now", wrong)
        return
    lost = "; some claims could not be read, so no slot of before now is run again" if saved.sealed else ""
    log.warning(
        "%s; put aside as %s, saved %s runs and %s claims in a new one%s",
        *(" ".join(wrong.split()), saved.aside.name, saved.runs, saved.claims, lost),
    )
