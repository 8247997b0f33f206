"""A thousand edits of fifty files as owners write them: everything but the value stays byte for byte."""

import random
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.config import editing
from pi_appliance.config.config_file import ConfigFile
from pi_appliance.config.yaml_tree import YamlPath, parse_yaml
from pi_appliance.errors import ApplianceError, Refused

NOTES = ("", "", "  # the neighbours", " # ändern?", "  #")
REMARKS = ("# Is it right?  pi-appliance config check", "#", '# - {from: "22:00"}', "# Küche — 7 °C", "# tab\there", "")
GOOD: Mapping[YamlPath, tuple[Any, ...]] = {
    ("time-zone",): ("Europe/London", "Asia/Tokyo"),
    ("name",): ("Küche", "a: b", "#1", "yes", "007"),
    ("stop-grace",): ("7s", "1m30s"),
    ("volume", "maximum"): (55, 70, 100),
    ("volume", "quiet"): ([{"from": "21:30", "to": "06:15", "maximum": 25}], []),
    ("radio", "silence-timeout"): ("30s",),
    ("radio", "fallback"): (["FIP"], ["FIP", "playlist:Quiet, at night"]),
    ("retention",): ({"max-runs": 9, "max-age": "30d"}, {"max-age": "10d"}),
    ("jobs", "daily", "schedule"): ("@hourly", ["0 6 * * *", "30 18 * * sat,sun"], {"every": "15m"}),
    ("jobs", "daily", "chance"): ("1/3", 0.5),
    ("jobs", "daily", "with", "network"): (["here", "there"], "there"),
    ("jobs", "daily", "retry"): ({"max-retries": 2},),
    ("jobs", "new"): ({"kind": "tweet", "with": {"lines": 'It\'s "new": 100 %', "network": "here"}},),
}
"""Values that are valid in each of the files, by their path."""
WRONG: Mapping[YamlPath, Any] = {
    ("volume", "maximum"): "loud",
    ("time-zone",): "Mars",
    ("jobs", "daily", "schedule"): "61 * * * *",
    ("jobs", "daily", "kind"): "twit",
    ("unknown",): 1,
}


def make_file(rng: random.Random) -> str:
    """Return a configuration with comments, quotes, styles, an order and ends of lines chosen at random."""
    step, note = rng.choice((2, 4)), lambda: rng.choice(NOTES)
    pad, quote = " " * step, rng.choice(("'", '"'))

    def section(name: str, lines: dict[str, str]) -> str:
        if rng.random() < 0.4:
            return f"{name}: {{{', '.join(f'{key}: {value}' for key, value in lines.items())}}}{note()}"
        entries = [f"{pad}{key}: {value}{note()}" for key, value in lines.items()]
        return "\n".join([f"{name}:{note()}", *_with_remarks(entries, rng, pad)])

    quiet = f"[{{from: {quote}22:00{quote}, to: {quote}07:00{quote}, maximum: 20}}]"
    job = [
        f"{pad * 2}kind: tweet{note()}",
        f"{pad * 2}schedule: {quote}0 18 * * *{quote}{note()}",
        f"{pad * 2}chance: 1/4{note()}",
        f"{pad * 2}with:{note()}\n{pad * 3}lines: lines.txt{note()}\n{pad * 3}network: [here]{note()}",
    ]
    script = f"{pad}backup:\n{pad * 2}kind: command\n{pad * 2}with:\n{pad * 3}run:\n{pad * 3}- sh\n{pad * 3}- -c"
    program = f"{script}\n{pad * 3}- |\n{pad * 4}set -eu  # no comment\n\n{pad * 4}echo: done"
    parts = [
        "state-dir: state",
        f"time-zone: {quote}UTC{quote}{note()}",
        section("volume", {"maximum": "60", "quiet": quiet}),
        section("radio", {"silence-timeout": "20s", "fallback": "[]"}),
        section("networks", {"here": "{kind: preview}", "there": "{kind: preview}"}),
        "\n".join([f"jobs:{note()}", f"{pad}daily:{note()}", *_with_remarks(job, rng, pad * 2), program]),
    ]
    rng.shuffle(parts)
    text = "\n".join(_with_remarks(parts, rng, "")) + rng.choice(("", "\n", "\n\n# the end", "\n# the end\n"))
    text = rng.choice(("", "---\n", "# mine\n\n")) + text
    return text.replace("\n", "\r\n") if rng.random() < 0.2 else text


def _with_remarks(lines: list[str], rng: random.Random, pad: str) -> Iterator[str]:
    for line in lines:
        if rng.random() < 0.3:
            yield (pad + rng.choice(REMARKS)).rstrip()
        yield line


def data_of(text: str) -> Any:
    return parse_yaml(text, "").data


def comments(text: str) -> list[str]:
    """Return all comments in their order. In these files, # begins one everywhere but in the values of GOOD."""
    return [line[line.index("#") :].strip() for line in text.splitlines() if "#" in line and '"#1"' not in line]


def replaced_part(before: str, after: str) -> str:
    """Return the part of `before` between the common beginning and the common end of both texts."""
    start = next((n for n, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
    if start is None:
        start = min(len(before), len(after))
    end, most = 0, min(len(before), len(after)) - start
    while end < most and before[-1 - end] == after[-1 - end]:
        end += 1
    return before[start : len(before) - end]


@pytest.mark.parametrize("files", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_edits_keep_everything_else(tmp_path: Path, files: int) -> None:
    rng, seconds, edits, refused = random.Random(files), count(), 0, 0
    for number in range(files):
        path = tmp_path / f"{number}.yaml"
        path.write_bytes(make_file(rng).encode())
        file = ConfigFile(
            path, tmp_path / "state", lambda: datetime(2026, 11, 22, tzinfo=UTC) + timedelta(seconds=next(seconds))
        )
        for _ in range(20):
            before = path.read_bytes().decode()
            where = rng.choice(list(GOOD))
            value = rng.choice(GOOD[where])
            edits += 1
            if rng.random() < 0.2:
                wrong = rng.choice(list(WRONG))
                with pytest.raises(ApplianceError):
                    file.edit(lambda data, at=wrong: editing.set_value(data, at, WRONG[at]))
                assert path.read_bytes().decode() == before
            expected = editing.set_value(data_of(before), where, value)
            try:
                after = file.edit(lambda data, at=where, new=value: editing.set_value(data, at, new)).after
            except Refused:
                refused += 1
                assert path.read_bytes().decode() == before
                continue
            assert path.read_bytes().decode() == after
            assert editing.same(data_of(after), expected)
            assert after.count("\r\n") == (after.count("\n") if "\r\n" in before else 0)
            old = replaced_part(before, after)
            comments_before = comments(before)
            lost = [each for each in comments_before if each not in comments(after)]
            assert not lost or all(each in old for each in lost), (before, where, value, lost)
            if not isinstance(value, (dict, list)) and isinstance(_value_at(data_of(before), where), (str, int, float)):
                assert "\n" not in old.strip()  # one line at most: its value
                assert comments(after) == comments_before
    assert edits == 20 * files
    assert refused <= edits // 20


def _value_at(data: Any, path: YamlPath) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, Mapping) else None
    return data


def test_two_editors_at_once_lose_nothing(tmp_path: Path) -> None:
    path, seconds = tmp_path / "appliance.yaml", count()
    path.write_text(make_file(random.Random(1)).replace("\r", ""))
    before = comments(path.read_text())

    def edit(name: str) -> None:
        file = ConfigFile(
            path, tmp_path / "state", lambda: datetime(2026, 11, 22, tzinfo=UTC) + timedelta(seconds=next(seconds))
        )
        for number in range(8):
            added, timeout = ("networks", f"{name}-{number}"), f"{number + 1}m"
            file.edit(lambda data, at=added: editing.set_value(data, at, {"kind": "preview"}))
            file.edit(lambda data, new=timeout: editing.set_value(data, ("jobs", "daily", "timeout"), new))

    threads = [threading.Thread(target=edit, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    data = data_of(path.read_text())
    assert set(data["networks"]) == {"here", "there", *(f"{name}-{n}" for name in ("one", "two") for n in range(8))}
    assert data["jobs"]["daily"]["timeout"] == "8m"
    assert comments(path.read_text()) == before
