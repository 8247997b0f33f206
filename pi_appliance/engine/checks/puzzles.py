"""Check of the puzzles: how fast they run here."""

from collections.abc import Iterator, Mapping

from pi_appliance.engine.checks.patient import Patient
from pi_appliance.model.finding import Finding, not_here, ok, warn
from pi_appliance.puzzles import _kernels


def kernels(_: Patient) -> Iterator[Finding]:
    """Tell whether the kernels run compiled, as plain Python, or so because they are newer than what was compiled."""
    yield of_states(dict(_kernels.states()))


def of_states(states: Mapping[str, str]) -> Finding:
    """Return what there is to say of the kernels and their STATES."""
    name = "puzzles"
    plain = ", ".join(kernel for kernel, state in states.items() if state == "plain")
    stale = ", ".join(kernel for kernel, state in states.items() if state == "stale")
    if not states:
        return not_here(name, "no kernels")
    if stale:
        why = f"kernels stale: {stale} changed since compiled, and so runs as plain Python, slower"
        return warn(name, why, "start deploy/run.sh or deploy/install.sh again; both compile what has changed")
    if "compiled" not in states.values():
        return ok(name, "kernels plain: slower, with the same answers; a C compiler at install would make them fast")
    return ok(name, "kernels compiled" + (f", but plain, slower: {plain}" if plain else ""))
