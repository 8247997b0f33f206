"""Random cron expressions that pi-appliance takes, for Hypothesis."""

from hypothesis import strategies as st

from pi_appliance.scheduling import schedule

_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    ranges = st.tuples(numbers, numbers).filter(lambda ends: ends[0] < ends[1]).map(lambda ends: f"{ends[0]}-{ends[1]}")
    steps = st.tuples(st.just("*") | ranges, st.integers(1, high).map(str)).map("/".join)
    part = st.just("*") | numbers.map(str) | ranges | steps
    return st.lists(part, min_size=1, max_size=2).map(",".join)


def _readable(expression: str) -> bool:
    try:
        return bool(schedule.parse_expression(expression))
    except ValueError:
        return False


expressions = st.tuples(*(_field(*ends) for ends in _FIELDS)).map(" ".join).filter(_readable)
"""Five fields that `cron_expression.parse` accepts."""
