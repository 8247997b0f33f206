"""The chance: one in N over time, and the same answer for the same slot."""

import pytest

from pi_appliance.scheduling.chance import Chance, is_selected, parse_chance, uniform_for_slot

SECRET = b"s" * 32


@pytest.mark.parametrize("draws", [2, 3, 4, 7, 10])
def test_one_in_n_slots_is_used_over_time(draws):
    count = 20_000
    hits = sum(is_selected(Chance(1, draws), secret=SECRET, job="j", due=str(n)) for n in range(count))
    expected, spread = count / draws, (count / draws * (1 - 1 / draws)) ** 0.5
    assert abs(hits - expected) < 4 * spread


def test_the_same_slot_decides_alike_and_another_secret_differently():
    chance = Chance(1, 2)
    decisions = [
        [is_selected(chance, secret=secret, job="j", due=str(n)) for n in range(64)]
        for secret in (SECRET, SECRET, b"x")
    ]
    assert decisions[0] == decisions[1]
    assert decisions[0] != decisions[2]


def test_two_jobs_at_the_same_slots_decide_independently():
    chance = Chance(1, 2)
    a, b = ([is_selected(chance, secret=SECRET, job=job, due=str(n)) for n in range(64)] for job in "ab")
    assert a != b


def test_without_a_chance_and_with_one_in_one_every_slot_is_used():
    assert all(
        is_selected(chance, secret=SECRET, job="j", due=str(n)) for n in range(99) for chance in (None, Chance(1, 1))
    )


@pytest.mark.parametrize(
    ("written", "chance"), [("1/4", (1, 4)), (" 3 / 7 ", (3, 7)), (0.25, (250_000, 1_000_000)), (1, (1, 1))]
)
def test_a_chance_is_parsed(written, chance):
    assert parse_chance(written) == Chance(*chance)


@pytest.mark.parametrize("written", ["0/4", "5/4", "1/0", "often", 0, 1.5, -0.1, True, None, [], "1e3"])
def test_an_invalid_chance_is_refused(written):
    with pytest.raises(ValueError, match="more than 0 and at most 1"):
        parse_chance(written)


def test_shares_are_even_and_stable():
    shares = [
        uniform_for_slot(b"secret", "tweets", f"2026-05-{day:02}T{hour:02}:00:00Z")
        for day in range(1, 29)
        for hour in range(24)
    ]
    assert all(0 <= each < 1 for each in shares)
    assert len(set(shares)) == len(shares)
    for tenth in range(10):  # 672 draws: 67 a tenth, give or take four standard deviations
        assert 36 <= sum(int(each * 10) == tenth for each in shares) <= 98
    assert uniform_for_slot(b"secret", "tweets", "2026-05-01T00:00:00Z") == shares[0]
    assert uniform_for_slot(b"another", "tweets", "2026-05-01T00:00:00Z") != shares[0]
    assert uniform_for_slot(b"secret", "other", "2026-05-01T00:00:00Z") != shares[0]
