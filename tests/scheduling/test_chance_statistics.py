"""100,000 draws of the chance: as many hits as there should be, anywhere, with the gaps that chance would leave.

The secrets are fixed, so each of these tests always ends alike. A p-value is any number between 0 and 1, evenly, if the
chance is as it should be; one below one in 100,000, in some hundred tests, shows that it is not.
"""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby, pairwise

import pytest

from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.chance import Chance, is_selected, uniform_for_label, uniform_for_slot
from tests.scheduling import chi_squared

DRAWS = 100_000
IMPLAUSIBLE = 1e-5
SECRETS = [bytes(range(32)), b"\x00" * 32, b"another installation, another 32"]
CHANCES = [
    Chance(1, 4),
    Chance(1, 2),
    Chance(1, 3),
    Chance(1, 7),
    Chance(1, 24),
    Chance(3, 4),
    Chance(2, 5),
    Chance(1, 1000),
]
DAILY = [Chance(1, 4), Chance(2, 5), Chance(1, 1000)]  # all chances are compared with the same draws
SECRETS_OF_CHANCES = [  # daily the other secrets with one chance
    pytest.param(
        chance,
        secret,
        marks=[] if (chance in DAILY and secret == SECRETS[0]) or chance == Chance(1, 4) else [pytest.mark.slow],
    )
    for chance in CHANCES
    for secret in SECRETS
]
FEWER = [  # of which something is to be seen in a part of the draws
    pytest.param(each, marks=[] if each in DAILY else [pytest.mark.slow]) for each in CHANCES if each.denominator < 1000
]


@cache
def slots() -> list[datetime]:
    """Return enough slots at 0, 6, 12 and 18 o'clock local time, from 2026 on."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    return [begin + timedelta(hours=6) * number for number in range(DRAWS)]


@cache
def dues() -> list[str]:
    return [slot_times.format_slot(at) for at in slots()]


@cache
def hits(chance: Chance, secret: bytes = SECRETS[0], job: str = "tweets") -> list[bool]:
    return [is_selected(chance, secret=secret, job=job, due=due) for due in dues()]


@pytest.mark.slow_variants
@pytest.mark.parametrize(("chance", "secret"), SECRETS_OF_CHANCES, ids=str)
def test_the_number_of_used_slots_is_as_expected(chance, secret):
    used = sum(hits(chance, secret))
    expected = DRAWS * float(chance.fraction)
    assert chi_squared.p_value([used, DRAWS - used], [expected, DRAWS - expected]) > IMPLAUSIBLE


@pytest.mark.slow_variants
@pytest.mark.parametrize("chance", FEWER, ids=str)
def test_every_time_of_day_and_weekday_has_its_share(chance):
    counts, all_ = Counter(), Counter()
    for at, hit in zip(slots(), hits(chance), strict=True):
        all_[at.hour, at.weekday()] += 1
        counts[at.hour, at.weekday()] += hit
    table = [(counts[cell], all_[cell] - counts[cell]) for cell in all_]
    assert len(table) == 28
    assert chi_squared.of_table(table) > IMPLAUSIBLE


@pytest.mark.parametrize("chance", FEWER, ids=str)
def test_every_year_has_its_share(chance):
    years = [hits(chance)[start : start + 1461] for start in range(0, DRAWS - 1461, 1461)]
    assert chi_squared.of_table([(sum(year), len(year) - sum(year)) for year in years]) > IMPLAUSIBLE


@pytest.mark.parametrize("chance", FEWER, ids=str)
def test_the_gaps_between_used_slots_are_those_of_chance(chance):
    """The number of slots until the next used one has a geometric distribution."""
    p = float(chance.fraction)
    at = [index for index, hit in enumerate(hits(chance)) if hit]
    gaps = Counter(later - earlier for earlier, later in pairwise(at))
    count = gaps.total()
    told_apart = [gap for gap in range(1, 1000) if count * p * (1 - p) ** (gap - 1) >= 20]
    observed = [gaps[gap] for gap in told_apart]
    expected = [count * p * (1 - p) ** (gap - 1) for gap in told_apart]
    observed.append(count - sum(observed))  # the longer ones together
    expected.append(count - sum(expected))
    assert chi_squared.p_value(observed, expected) > IMPLAUSIBLE


@pytest.mark.slow_variants
@pytest.mark.parametrize(("chance", "secret"), SECRETS_OF_CHANCES, ids=str)
def test_no_run_of_used_or_of_unused_slots_is_longer_than_chance_allows(chance, secret):
    """Nor are they shorter. Both bounds would be passed once in a thousand million times.

    That a run of so many slots that come out alike begins at a slot has a probability of p^length. Runs are not counted
    twice if the slot before them came out differently: of those, there are (1 - p) p^length times DRAWS on the average,
    and that there is none has a probability of e^-average.
    """
    for hit, p in ((True, float(chance.fraction)), (False, 1 - float(chance.fraction))):
        longest = max((len([*run]) for value, run in groupby(hits(chance, secret)) if value is hit), default=0)
        at_most = math.log(1e-9 / DRAWS) / math.log(p)
        at_least = math.log(-math.log(1e-9) / (DRAWS * (1 - p))) / math.log(p)
        assert int(at_least) <= longest <= at_most


@pytest.mark.parametrize("apart", [1, 2, 4, 28])  # the next slot, the same time tomorrow, in a week
@pytest.mark.parametrize("chance", FEWER, ids=str)
def test_slots_are_independent(chance, apart):
    used = hits(chance)
    together = Counter(zip(used[:-apart], used[apart:], strict=True))
    assert chi_squared.of_table([[together[a, b] for b in (True, False)] for a in (True, False)]) > IMPLAUSIBLE


@pytest.mark.slow_variants
@pytest.mark.parametrize("other", ["bot", "tweets2", "weets", "Tweets", "share"])
@pytest.mark.parametrize("chance", [Chance(1, 4), Chance(1, 2)], ids=str)
def test_jobs_are_independent_at_the_same_slots(chance, other):
    together = Counter(zip(hits(chance), hits(chance, job=other), strict=True))
    assert chi_squared.of_table([[together[a, b] for b in (True, False)] for a in (True, False)]) > IMPLAUSIBLE


def test_installations_are_independent():
    together = Counter(zip(hits(Chance(1, 4)), hits(Chance(1, 4), SECRETS[1]), strict=True))
    assert chi_squared.of_table([[together[a, b] for b in (True, False)] for a in (True, False)]) > IMPLAUSIBLE


def test_the_drawn_line_is_even_and_independent_of_the_slot():
    drawn = [int(uniform_for_label(SECRETS[0], "tweets", due, "line") * 20) for due in dues()]
    counts = Counter(drawn)
    assert chi_squared.p_value([counts[each] for each in range(20)], [DRAWS / 20] * 20) > IMPLAUSIBLE
    others = (
        hits(Chance(1, 4)),
        [int(uniform_for_slot(SECRETS[0], "tweets", due) * 4) for due in dues()],
        [int(uniform_for_label(SECRETS[0], "tweets", due, "another label") * 4) for due in dues()],
        [int(uniform_for_label(SECRETS[0], "bot", due, "line") * 4) for due in dues()],
        [0, *(each // 5 for each in drawn[:-1])],  # of the slot before
    )
    for other in others:
        together = Counter(zip(drawn, other, strict=True))
        kinds = sorted({value for _, value in together if together[0, value]})
        assert chi_squared.of_table([[together[each, kind] for kind in kinds] for each in range(20)]) > IMPLAUSIBLE


def test_a_draw_is_stable_and_below_one():
    some = [uniform_for_label(SECRETS[0], "tweets", str(number), "line") for number in range(1000)]
    assert some == [uniform_for_label(SECRETS[0], "tweets", str(number), "line") for number in range(1000)]
    assert all(0 <= each < 1 for each in some)
    assert len(set(some)) == 1000


@pytest.mark.parametrize(
    ("free", "distance", "p"),
    [
        (1, 3.841459, 0.05),
        (1, 10.827566, 0.001),
        (2, 5.991465, 0.05),
        (10, 18.307038, 0.05),
        (30, 20.599235, 0.9),
        (4, 0.0, 1.0),
    ],
)
def test_the_test_statistics_match_the_tables(free, distance, p):
    assert chi_squared.upper_tail(free / 2, distance / 2) == pytest.approx(p, rel=1e-5)


def test_the_test_detects_a_biased_chance():
    used = [number % 4 == 0 for number in range(DRAWS)]  # every fourth slot: the count is right, the order is not
    together = Counter(pairwise(used))
    assert chi_squared.p_value([sum(used), DRAWS - sum(used)], [DRAWS / 4, DRAWS * 3 / 4]) > 0.99
    assert chi_squared.of_table([[together[a, b] for b in (True, False)] for a in (True, False)]) < 1e-100
