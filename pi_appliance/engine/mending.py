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
    began = _began(state)
    store = Store(state / "history.db", mend=partial(_mend, state))
    newest = max((run for _, run, _ in began), default=0)
    if newest > store.newest_number():
        now = clock.now()
        store.seal(at=now, boot=clock.boot_name(), newest=newest, known=_claims(began))
        log.warning(
            "%s knows nothing of run %s, which began: it was lost or put back; no slot of before %s is run again",
            *(store.path, newest, f"{now:%Y-%m-%d %H:%M:%S} UTC"),
        )
    return store


def _began(state: Path) -> list[tuple[str, int, str | None]]:
    """Return what each lock remembers of the last run that held it: job, number, slot."""
    found = ((path.stem, locks.claimed(path)) for path in (state / "locks").glob("*.lock"))
    return [(job, *known) for job, known in found if known]


def _claims(began: list[tuple[str, int, str | None]]) -> dict[str, int]:
    return {slot_key(job, due): run for job, run, due in began if due}


def _mend(state: Path, path: Path, wrong: str) -> None:
    saved = salvage.mend(path, now=clock.now(), boot=clock.boot_name(), known=_claims(_began(state)))
    if saved.aside is None:
        log.warning("%s: the new file is in its place now", wrong)
        return
    lost = "; some claims could not be read, so no slot of before now is run again" if saved.sealed else ""
    log.warning(
        "%s; put aside as %s, saved %s runs and %s claims in a new one%s",
        *(" ".join(wrong.split()), saved.aside.name, saved.runs, saved.claims, lost),
    )
