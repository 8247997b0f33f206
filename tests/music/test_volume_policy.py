"""The volume policy: quiet hours over midnight, on weekdays, and at clock changes."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.config.loader import load_config
from pi_appliance.config.options import QuietHours, VolumePolicy
from pi_appliance.config.units import Days
from pi_appliance.errors import ConfigError
from pi_appliance.music.volume_limits import max_volume, next_limit_change

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours(from_=time(22), to=time(7), maximum=20)
POLICY = VolumePolicy(maximum=80, quiet=[NIGHT])


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("shown", "loudest"),
    [("21:59:59", 80), ("22:00:00", 20), ("23:59:59", 20), ("00:00:00", 20), ("06:59:59", 20), ("07:00:00", 80)],
)
def test_quiet_hours_may_span_midnight(shown: str, loudest: int) -> None:
    assert max_volume(POLICY, at(f"2026-05-01 {shown}")) == loudest


def test_without_a_policy_every_volume_is_allowed() -> None:
    now = at("2026-05-01 23:00")
    assert (max_volume(None, now), next_limit_change(None, now, BERLIN)) == (100, None)
    assert next_limit_change(VolumePolicy(maximum=50), now, BERLIN) is None


def test_a_night_belongs_to_the_day_on_which_it_begins() -> None:
    friday = VolumePolicy(quiet=[QuietHours(from_=time(23), to=time(5), maximum=10, days=Days([5]))])
    nights = [max_volume(friday, at(f"2026-05-{day:02} {hour}")) for day in (1, 2, 3) for hour in ("04:00", "23:30")]
    assert nights == [100, 10, 10, 100, 100, 100]  # 1 May 2026 is a Friday
    assert next_limit_change(friday, at("2026-05-02 06:00"), BERLIN) == at("2026-05-08 23:00")


def test_of_two_limits_the_lower_applies_and_each_edge_is_known() -> None:
    policy = VolumePolicy(maximum=80, quiet=[NIGHT, QuietHours(from_=time(5), to=time(9), maximum=40)])
    edges, now = [], at("2026-05-01 12:00")
    for _ in range(3):
        result = next_limit_change(policy, now, BERLIN)
        assert result is not None
        now = result
        edges.append((f"{now.astimezone(BERLIN):%H:%M}", max_volume(policy, now.astimezone(BERLIN))))
    assert edges == [("22:00", 20), ("07:00", 40), ("09:00", 80)]


def test_an_edge_without_effect_is_not_a_change() -> None:
    policy = VolumePolicy(maximum=10, quiet=[NIGHT])
    assert next_limit_change(policy, at("2026-05-01 12:00"), BERLIN) is None


def test_quiet_hours_start_late_at_a_nonexistent_time() -> None:
    policy = VolumePolicy(quiet=[QuietHours(from_=time(2, 30), to=time(4), maximum=10)])
    change = next_limit_change(policy, at("2026-03-29 01:00"), BERLIN)  # 02:00 to 03:00 is left out
    assert change == datetime(2026, 3, 29, 1, tzinfo=UTC)  # 03:00
    assert max_volume(policy, change.astimezone(BERLIN)) == 10


def test_quiet_hours_at_a_repeated_time_apply_twice() -> None:
    policy = VolumePolicy(quiet=[QuietHours(from_=time(2), to=time(2, 30), maximum=10)])
    now, edges = at("2026-10-25 00:00"), []
    for _ in range(4):
        result = next_limit_change(policy, now, BERLIN)
        assert result is not None
        now = result
        edges.append(f"{now:%H:%M}")
    assert edges == ["00:00", "00:30", "01:00", "01:30"]  # UTC: at 02:00 summer time, and again at 02:00 winter time


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def test_the_limit_is_constant_between_changes(zone: str) -> None:
    here = ZoneInfo(zone)
    policy = VolumePolicy(
        maximum=90,
        quiet=[
            QuietHours(from_=time(1, 45), to=time(2, 15), maximum=30),
            QuietHours(from_=time(22), to=time(7), maximum=50, days=Days([0, 3])),
        ],
    )
    for begin in (
        datetime(2026, 3, 1, tzinfo=UTC),
        datetime(2026, 4, 1, tzinfo=UTC),
        datetime(2026, 10, 24, tzinfo=UTC),
    ):
        now, coming = begin, next_limit_change(policy, begin, here)
        while now < begin + timedelta(days=12):
            loudest = max_volume(policy, now.astimezone(here))
            now += timedelta(minutes=5)
            changed = max_volume(policy, now.astimezone(here)) != loudest
            assert changed == (now == coming), now
            if changed:
                coming = next_limit_change(policy, now, here)


def problems_of(tmp_path: Path, section: str) -> list[str]:
    path = tmp_path / "appliance.yaml"
    path.write_text(f"state-dir: state\n{section}\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return [str(problem).partition("appliance.yaml:")[2] for problem in caught.value.problems]


def test_every_form_of_a_policy_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "appliance.yaml"
    quiet = '[{from: "22:00", to: "7:00", maximum: 20, days: [mon-fri, sun]}, {from: 13:00, to: 15:00, maximum: 0}]'
    path.write_text(f"state-dir: state\nvolume: {{start: 30, maximum: 80, quiet: {quiet}}}\nresume: false\n", "utf-8")
    config = load_config(path)
    assert config.volume is not None
    assert config.volume.start == 30
    assert config.volume.quiet == [
        QuietHours(from_=time(22), to=time(7), maximum=20, days=Days([0, 1, 2, 3, 4, 5])),
        QuietHours(from_=time(13), to=time(15), maximum=0),
    ]
    assert not config.resume


@pytest.mark.parametrize(
    ("section", "output"),
    [
        ("volume: {maximum: 101}", "2:19: 101 is not a valid volume; write 0 to 100"),
        ("volume: {start: -1}", "2:17: -1 is not a valid volume; write 0 to 100"),
        ("volume: {start: 50, maximum: 40}", "2:17: 50 is more than `maximum`, 40; write 40 or less"),
        (
            'volume: {quiet: [{from: "25:00", to: "07:00", maximum: 5}]}',
            '2:25: \'25:00\' is not a valid time of day; write "00:00" to "23:59"',
        ),
        (
            'volume: {quiet: [{from: "07:00", to: "07:00", maximum: 5}]}',
            '2:38: it is the same time as `from`; write a later time, such as "07:00"',
        ),
        (
            'volume: {quiet: [{from: "07:00", maximum: 5}]}',
            "2:18: 'to' is missing; add to: … (when it ends; an earlier",
        ),
        (
            'volume: {quiet: [{from: "07:00", to: "08:00", maximum: 5, days: [lundi]}]}',
            "2:65: 'lundi' is not a day; ",
        ),
        (
            'volume: {quiet: [{from: "07:00", to: "08:00", maximum: 200}]}',
            "2:56: 200 is not a valid volume; write 0 to 100",
        ),
        ("radio: {silence-timeout: 0s}", "2:26: a station needs longer than that to start; write 5s or more"),
        ("radio: {retry-every: 1s}", "2:22: that leaves no time for music between two attempts; write 10s or more"),
        ("radio: {fallback: ['fip', ' ']}", "2:27: nothing is named to play; write the name of a station"),
        ("resume: maybe", "2:9: 'maybe' is not true or false"),
    ],
)
def test_an_invalid_policy_is_reported_in_one_line_with_its_place(tmp_path: Path, section: str, output: str) -> None:
    (problem,) = problems_of(tmp_path, section)
    assert problem.startswith(output)
