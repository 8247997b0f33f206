"""Check of the posts: what only the owner can tell, what is left, and months that cost all they may."""

from collections.abc import Iterator

from pi_appliance.core import amounts
from pi_appliance.engine.checks.patient import UNKNOWN, Patient
from pi_appliance.errors import ApplianceError
from pi_appliance.model.finding import Finding, fail, not_here, ok, warn
from pi_appliance.model.post import OPEN, State
from pi_appliance.store.posts import Posts

_NAME = "posts"


def posts(patient: Patient) -> Iterator[Finding]:
    """Tell of posts that are uncertain or still to be sent, and what this month has cost."""
    if patient.config is None or not patient.config.networks:
        yield not_here(_NAME, UNKNOWN if patient.trouble else "the configuration names no network")
        return
    if patient.kept_out or not patient.is_us:
        yield not_here(_NAME, "only the owner of the state folder can read the history")
        return
    try:
        with patient.history() as store:
            counts = Posts(store).counts() if store else {}
            spent = Posts(store).spent(patient.clock.now()) if store else {}
    except ApplianceError:
        yield not_here(_NAME, "the history cannot be read, see there")
        return
    if uncertain := counts.get(State.UNCERTAIN, 0):
        yield fail(
            _NAME, f"{_count(uncertain)} perhaps there; only its account shows it", patient.command("tweets list")
        )
    if left := sum(counts.get(state, 0) for state in OPEN):
        yield warn(_NAME, f"{_count(left)} still to be sent or looked up", patient.command("tweets list"))
    if not uncertain and not left:
        cost = "".join(f", {network} has cost {amounts.render_money(amount)}" for network, amount in spent.items())
        yield ok(_NAME, f"none waits, none is uncertain{cost}{' this month' if cost else ''}")


def _count(number: int) -> str:
    return "1 post is" if number == 1 else f"{number} posts are"
