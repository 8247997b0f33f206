"""Edits of a YAML file: the value is set, and every other byte stays."""

import difflib
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.config.editing import remove_value, rewrite, same, set_value
from pi_appliance.config.yaml_tree import YamlPath, parse_yaml
from pi_appliance.errors import Refused

FILE = """\
# The appliance of the kitchen.
time-zone: Europe/Berlin  # where it stands
jobs:
  # the alarm
  wake:
    kind: music  # an alarm
    schedule: ["30 6 * * 1-5", '0 9 * * 6']  # not on Sunday
    with: {do: wake, playlist: Morning, volume: 30}

  # four times a day
  tweets:
    kind: tweet
    schedule:
    - "0 0 * * *"
    # noon
    - "0 12 * * *"
    with:
      lines: tweets.txt
      # network: x
notify: {}
web:
volume: {max: 60}  # loud enough
"""


def data_of(text: str) -> Any:
    return parse_yaml(text, "file").data


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


def with_value(path: YamlPath, value: object, text: str = FILE) -> list[str]:
    return changed_lines(text, rewrite(text, set_value(data_of(text), path, value)))


def without(path: YamlPath, text: str = FILE) -> list[str]:
    return changed_lines(text, rewrite(text, remove_value(data_of(text), path)))


def test_a_scalar_keeps_its_comment() -> None:
    assert with_value(("time-zone",), "UTC") == [
        "-time-zone: Europe/Berlin  # where it stands",
        "+time-zone: UTC  # where it stands",
    ]


def test_a_value_in_brackets_is_changed_in_its_place() -> None:
    before = "-    with: {do: wake, playlist: Morning, volume: 30}"
    path = ("jobs", "wake", "with")
    assert with_value((*path, "volume"), 45) == [before, "+    with: {do: wake, playlist: Morning, volume: 45}"]
    after = "+    with: {do: wake, playlist: Morning, volume: 30, fade: 5m}"
    assert with_value((*path, "fade"), "5m") == [before, after]
    assert without((*path, "playlist")) == [before, "+    with: {do: wake, volume: 30}"]
    assert without((*path, "volume")) == [before, "+    with: {do: wake, playlist: Morning}"]


def test_an_entry_is_added_after_the_last_one_and_its_comments() -> None:
    job = {"kind": "command", "schedule": "0 6 * * *", "with": {"command": ["echo", "a: b"]}}
    assert with_value(("jobs", "night"), job) == [
        "+  night:",
        "+    kind: command",
        '+    schedule: "0 6 * * *"',
        "+    with:",
        '+      command: [echo, "a: b"]',
    ]
    edited = rewrite(FILE, set_value(data_of(FILE), ("jobs", "night"), job))
    assert "      # network: x\n  night:" in edited


def test_an_entry_is_removed_with_its_lines_only() -> None:
    assert without(("jobs", "wake")) == [f"-{line}" for line in FILE.splitlines()[4:8]]
    assert "  # the alarm\n\n  # four times a day" in rewrite(FILE, remove_value(data_of(FILE), ("jobs", "wake")))


def test_an_entry_is_added_below_its_commented_example() -> None:
    text = "# the name\n# name: Kitchen\n\n# mqtt:\n#   host: a\n# other\njobs:\n  a: 1\n  # b: 2\n\n  c: 3\n"
    new = {"jobs": {"a": 1, "c": 3, "b": 4}, "name": "Hall", "mqtt": {"host": "b"}}
    assert rewrite(text, new) == (
        "# the name\n# name: Kitchen\nname: Hall\n\n# mqtt:\n#   host: a\nmqtt:\n  host: b\n# other\n"
        "jobs:\n  a: 1\n  # b: 2\n  b: 4\n\n  c: 3\n"
    )


def test_an_entry_is_added_below_the_comments_that_end_the_last_section() -> None:
    text = "jobs:\n  a: 1\n\n  # an example\n  # b: 2\n\n# the end\n"
    assert rewrite(text, {"jobs": {"a": 1}, "name": "Hall"}) == (
        "jobs:\n  a: 1\n\n  # an example\n  # b: 2\nname: Hall\n\n# the end\n"
    )


def test_items_are_inserted_and_removed_between_comments() -> None:
    path = ("jobs", "tweets", "schedule")
    assert with_value(path, ["0 0 * * *", "0 6 * * *", "0 12 * * *"]) == ['+    - "0 6 * * *"']
    assert without((*path, 0)) == ['-    - "0 0 * * *"']
    assert with_value(path, ["0 3 * * *", "0 0 * * *", "0 12 * * *"]) == ['+    - "0 3 * * *"']


def test_a_section_replaces_nothing_and_a_value_a_section() -> None:
    assert with_value(("web",), {"port": 80}) == ["+  port: 80"]
    assert with_value(("notify",), {"on-failure": ["phone"]}) == ["-notify: {}", "+notify:", "+  on-failure: [phone]"]
    assert with_value(("jobs", "tweets", "schedule"), "@daily")[-1] == '+    schedule: "@daily"'


@pytest.mark.parametrize("text", ["", "# only a comment", "a: 1", "a: 1\r\nb:\r\n  c: 2 # x\r\n", "---\na: 1\n"])
def test_a_key_is_added_to_any_file(text: str) -> None:
    edited = rewrite(text, set_value(data_of(text), ("new", "key"), "value"))
    assert edited.startswith(text)
    assert data_of(edited)["new"] == {"key": "value"}
    assert ("\r\n" in edited) == ("\r\n" in text)
    assert edited.count("\n") == edited.count("\r\n") or "\r\n" not in text


def test_a_value_shared_by_an_alias_is_refused() -> None:
    text = "a: &x {b: 1}\nc: *x\n"
    with pytest.raises(Refused, match="alias"):
        rewrite(text, set_value(data_of(text), ("c", "b"), 2))
    assert rewrite(text, set_value(data_of(text), ("d",), 2)) == text + "d: 2\n"


def test_a_missing_value_cannot_be_removed() -> None:
    with pytest.raises(Refused, match=r"jobs\.none is not in the file"):
        remove_value(data_of(FILE), ("jobs", "none"))
    with pytest.raises(Refused, match="not in a section"):
        set_value(data_of(FILE), ("time-zone", "x"), 1)


TEXTS = st.one_of(
    st.sampled_from(["yes", "12:30", "06:45", "0 6 * * *", "a: b", "#x", "null", "1e3", "- a", "", " a", "don't", '"']),
    st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Co", "Cn")), max_size=20),
)
SCALARS = st.one_of(TEXTS, st.integers(-1000, 1000), st.booleans(), st.none(), st.just("two\nlines\n"))
KEYS = st.sampled_from([*"abcdefg", "long-key", "mit leer", "x: y", "12:30"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)


def write(value: object, rng: random.Random, column: int = 0) -> Iterator[str]:
    """Yield the lines of `value` in a style chosen at random, with a comment here and there."""
    pad, note = " " * column, lambda: rng.choice(["", "", "  # a note", " #"])
    for key, each in value.items() if isinstance(value, Mapping) else enumerate(value):  # type: ignore[var-annotated, arg-type]
        if rng.random() < 0.2:
            yield f"{pad}# about {len(str(key))}"
        if rng.random() < 0.1:
            yield ""
        start = f"{pad}-" if isinstance(value, list) else f"{pad}{json.dumps(key, ensure_ascii=False)}:"
        if isinstance(each, (dict, list)) and each and rng.random() < 0.7:
            yield start + note()
            same_column = isinstance(each, list) and not isinstance(value, list) and rng.random() < 0.5
            yield from write(each, rng, column + (0 if same_column else rng.choice([1, 2, 4])))
        elif isinstance(each, str) and each.endswith("\n") and rng.random() < 0.5:
            yield f"{start} |"
            yield from (f"{pad}    {line}" for line in each.splitlines())
        elif each is None and rng.random() < 0.5:
            yield start + note()
        else:
            yield f"{start} {json.dumps(each, ensure_ascii=False)}{note()}"


def paths(value: object, path: YamlPath = ()) -> Iterator[YamlPath]:
    yield path
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from paths(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from paths(each, (*path, place))


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=5), VALUES, st.randoms(use_true_random=False))
def test_any_edit_of_any_file_changes_only_its_value(data: dict[str, Any], value: object, rng: random.Random) -> None:
    text = "\n".join(write(data, rng)) + rng.choice(["", "\n", "\n# the end\n"])
    before = data_of(text)
    path = rng.choice([each for each in paths(before) if each])
    expected = remove_value(before, path) if rng.random() < 0.3 else set_value(before, path, value)
    edited = rewrite(text, expected)
    assert same(data_of(edited), expected)
    assert yaml.safe_load(edited) is not None
    removed = [line[1:] for line in changed_lines(text, edited) if line[0] == "-"]
    if len(path) > 1:  # the lines of other keys at the top stay
        key = json.dumps(path[0], ensure_ascii=False)
        assert all(line[:1] != '"' or line.startswith(key) for line in removed)
