"""The marked block is inserted, replaced and removed without other changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import Refused
from pi_appliance.scheduling.crontab import remove_block, set_block

MINE, YOURS = b"/etc/mine.yaml", b"/home/pi/my config (2)/yours.yaml"
LINES = [b"0 6 * * * true", b"@reboot true"]

ODD = [
    b"",
    b"\r",
    b"FOO = bar",
    b"X=",
    b"\t",
    b"# BEGIN pi-appliance",
    b"# END",
    b"0 6 * * * echo 100\\% % in",
    b"\xff\x80",
    b"@daily x",
]
line = st.sampled_from(ODD) | st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b""))
text = st.none() | st.builds(
    lambda lines, end: b"\n".join(lines) + end, st.lists(line, max_size=6), st.sampled_from([b"", b"\n"])
)


@given(text)
def test_insert_twice_and_remove_restores_the_same_bytes(before: bytes | None) -> None:
    once = set_block(before, MINE, LINES)
    assert set_block(once, MINE, LINES) == once
    assert b"".join(each + b"\n" for each in LINES) in once
    assert remove_block(once, MINE) == before


@given(text)
def test_a_block_replaces_the_former_block(before: bytes | None) -> None:
    assert set_block(set_block(before, MINE, [b"old"]), MINE, LINES) == set_block(before, MINE, LINES)


@given(text, st.booleans())
def test_two_owners_in_any_order_restore_the_same_bytes(before: bytes | None, mine_first: bool) -> None:
    both = set_block(set_block(before, MINE, LINES), YOURS, LINES)
    first, second = (MINE, YOURS) if mine_first else (YOURS, MINE)
    assert remove_block(remove_block(both, first), second) == before


@given(text, st.lists(line).map(lambda lines: b"".join(each + b"\n" for each in lines)))
def test_lines_added_after_the_block_stay(before: bytes | None, added: bytes) -> None:
    # The former last line must keep its newline: another line follows it now.
    start = before if not before or before.endswith(b"\n") or not added else before + b"\n"
    after = remove_block(set_block(before, MINE, LINES) + added, MINE)
    assert (after or b"") == (start or b"") + added


@given(text)
def test_removing_a_missing_block_changes_nothing(before: bytes | None) -> None:
    assert remove_block(before, MINE) == before


@pytest.mark.parametrize(
    "damaged",
    [
        set_block(b"", MINE, LINES).replace(b"# END pi-appliance", b"# the end"),
        set_block(b"", MINE, LINES).replace(b"# BEGIN pi-appliance", b"# the beginning"),
        set_block(b"", MINE, LINES) * 2,
        b"# END pi-appliance /etc/mine.yaml\n# BEGIN pi-appliance /etc/mine.yaml\n",
    ],
    ids=["no end", "no beginning", "twice", "upside down"],
)
def test_a_damaged_block_is_refused(damaged: bytes) -> None:
    with pytest.raises(Refused, match="damaged"):
        set_block(damaged, MINE, LINES)
    with pytest.raises(Refused, match="by hand"):
        remove_block(damaged, MINE)


def test_an_owner_with_a_longer_name_is_another_owner() -> None:
    longer = set_block(b"", b"/etc/mine.yaml.old", LINES)
    assert remove_block(longer, MINE) == longer
    assert remove_block(set_block(longer, MINE, LINES), MINE) == longer
