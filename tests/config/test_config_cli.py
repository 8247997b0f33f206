"""`pi-appliance config`: every problem at once with its place, and no traceback."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pi_appliance import plugins
from pi_appliance.__main__ import main
from pi_appliance.config import loader
from pi_appliance.config.yaml_tree import parse_yaml
from tests.installation import ROOT

GOOD = """\
state-dir: state
time-zone: Europe/London
web: {host: 127.0.0.1, port: 8080}
networks:
  preview: {kind: preview}
jobs:
  tweets:
    kind: tweet
    schedule: ["00:00", "06:00", "12:00", "18:00"]
    started-by: cron
    chance: 1/4
    timeout: 2m
    retry: {max-retries: 3, delay: 1m}
    with: {lines: tweets.txt, network: preview}
  backup:
    kind: command
    schedule: {times: ["03:30"], days: [mon-fri]}
    with:
      run: [/usr/bin/true, "--all"]
"""
PLACED = re.compile(r".*appliance\.yaml:\d+:\d+: .+")


def checked(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    """Return the exit status of `config check` and its output."""
    try:
        main(["config", "check", "--config", str(path), *more])
        status = 0
    except SystemExit as error:
        status = int(error.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


def test_a_valid_file_is_reported_as_valid(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(GOOD, "utf-8")
    status, out, _ = checked(path, capsys)
    assert status == 0
    assert "2 jobs, 1 network, 0 stations: " in out


def test_every_problem_is_reported_with_line_column_and_remedy(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(
        "state-dir: state\n"
        "time-zone: Europe/Londn\n"
        "web: {port: eighty}\n"
        "networks:\n"
        "  bird: {kind: twiter}\n"
        "jobs:\n"
        "  one:\n"
        "    kind: comand\n"
        "    schedul: '@daily'\n"
        "  two:\n"
        "    kind: command\n"
        "    schedule: 61 * * * *\n"
        "    chance: 5/4\n"
        "    started-by: crn\n"
        "    timeout: 5\n"
        "    with: {rum: [ls]}\n"
        "  Three:\n"
        "    kind: command\n"
        "    chance: 1/2\n"
        "    with: {run: ls}\n"
        "  two: {kind: command, with: {run: [ls]}}\n",
        "utf-8",
    )
    status, _, err = checked(path, capsys)
    output = [line.partition("appliance.yaml:")[2] for line in err.splitlines()]
    assert status == 2
    assert output == [
        "2:12: no time zone is called 'Europe/Londn'; write an IANA name such as Europe/London",
        "3:13: 'eighty' is not a whole number",
        f"5:16: no kind of network is called 'twiter'; known: {', '.join(plugins.names('networks'))}",
        "8:11: no kind of job is called 'comand'; did you mean 'command'?",
        "9:5: unknown key 'schedul'; did you mean 'schedule'?",
        "17:3: 'Three' cannot be a name; use up to 60 small letters, digits and -, such as nightly-puzzles",
        "19:5: 'chance' needs a schedule; add schedule: …",
        "20:17: 'ls' is not a list; write it with [brackets], or one - item a line",
        "21:3: 'two' was given before, at 10:3; keep one of the two",
    ]


def test_a_wrong_section_hides_no_wrong_value_in_another(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(
        "state-dir: state\n"
        "web: {port: 70000}\n"
        "volume: {maximum: loud}\n"
        "max-concurrent-runs: 9999999999999999999\n"
        "retention: {max-runs: 0}\n"
        "jobs: {wake: {kind: music, with: {action: alarm, play: []}}}\n",
        "utf-8",
    )
    _, _, err = checked(path, capsys)
    assert [line.partition("appliance.yaml:")[2] for line in err.splitlines()] == [
        "2:13: 70000 is not a valid port; write 1024 to 65535",
        "3:19: 'loud' is not a whole number",
        "4:22: 9999999999999999999 is too large; write at most 18 digits",
        "5:23: 0 keeps nothing; write 1 or more",
        "6:56: the list is empty; write at least one name",
    ]


def test_a_right_value_is_not_compared_with_the_default_of_a_wrong_one(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(
        "state-dir: state\n"
        "networks: {preview: {kind: preview}}\n"
        "jobs:\n"
        "  wake: {kind: music, with: {action: alarm, play: [a.ogg], volume: loud, start-volume: 60}}\n"
        "  posts: {kind: tweet, with: {lines: a.txt, network: preview, attach: report, report-from: 5}}\n",
        "utf-8",
    )
    _, _, err = checked(path, capsys)
    assert [line.partition("appliance.yaml:")[2] for line in err.splitlines()] == [
        "4:68: 'loud' is not a whole number",
        '5:92: 5 is not a text; put it in "quotes"',
    ]


def test_a_value_of_a_wrong_type_hides_no_wrong_value_beside_it(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(
        "state-dir: state\n"
        "stations: 5\n"
        "max-concurrent-runs: 0\n"
        "web: {host: 5, port: 70000}\n"
        'volume: {maximum: 101, quiet: [{from: "22:00", to: "07:00", maximum: 102}, {from: 5}]}\n'
        "jobs:\n"
        "  one:\n"
        "    kind: command\n"
        "    nice: 20\n"
        "    timeout: soon\n"
        "    chance: 1/4\n"
        "    retry: {max-retries: -1, delay: soon}\n"
        "    triggers: {button: {pin: 44, hold: long}}\n"
        "    with: {run: [], environment: 3}\n"
        "  two: {kind: music, with: {action: alarm, play: 5, volume: 103}}\n"
        "  three: {kind: tweet, with: {lines: a.txt, network: preveiw}, timeout: soon,\n"
        "    depends-on: [one, fuor], notify: {on-failure: [x]}}\n"
        "networks: {preview: {kind: preview}}\n",
        "utf-8",
    )
    _, _, err = checked(path, capsys)
    assert [line.partition("appliance.yaml:")[2].partition(";")[0] for line in err.splitlines()] == [
        "2:11: 5 is not a file name",
        "3:22: 0 would never start a job",
        "4:13: 5 is not a text",
        "4:22: 70000 is not a valid port",
        "5:19: 101 is not a valid volume",
        "5:70: 102 is not a valid volume",
        "5:76: 'maximum' is missing",
        "5:76: 'to' is missing",
        '5:83: 5 is not a time of day such as "22:00"',
        "9:11: 20 is not a valid niceness",
        "10:14: write a duration such as 90s, 15m, 1h30m or 2d",
        "11:5: 'chance' needs a schedule",
        "12:26: -1 is not a number of retries",
        "12:37: write a duration such as 90s, 15m, 1h30m or 2d",
        "13:30: 44 is not a GPIO pin",
        "13:40: write a duration such as 90s, 15m, 1h30m or 2d",
        "14:17: no program is named",
        "14:34: 3 is not a section",
        "15:50: 5 is not a name or a list of names",
        "15:61: 103 is not a valid volume",
        "16:54: no network is called 'preveiw'",
        "16:73: write a duration such as 90s, 15m, 1h30m or 2d",
        "17:23: no job is called 'fuor'",
        "17:52: no notifier is called 'x'",
    ]


def test_a_wrong_or_missing_key_hides_no_wrong_value_beside_it(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(
        "web: {port: 70000}\n"
        "mqtt: {port: 0}\n"
        "backup: {keep: 0}\n"
        'volume: {quiet: [{from: 5, to: "00:00", maximum: 101}]}\n'
        "networks:\n"
        "  sky: {kind: bluesky, with: {handle: 5, languages: [1-2]}}\n"
        "  fed: {kind: mastodon, with: {language: 12}}\n"
        "jobs:\n"
        "  one: {schedule: 61 * * * *, nice: 99, chance: 1/2, timeout: 0s, depends-on: [fuor]}\n"
        "  two: {kind: command, with: {success-exit-codes: [300]}}\n"
        "  three: {kind: music, with: {action: alrm, volume: 101}}\n"
        "  four: {kind: music, with: {action: alarm, fade: long, volume: 101}}\n",
        "utf-8",
    )
    _, _, err = checked(path, capsys)
    assert [line.partition("appliance.yaml:")[2].partition(";")[0] for line in err.splitlines()] == [
        "1:1: 'state-dir' is missing",
        "1:13: 70000 is not a valid port",
        "2:7: 'host' is missing",
        "2:14: 0 is not a valid port",
        "3:9: 'folder' is missing",
        "3:16: 0 keeps nothing",
        '4:25: 5 is not a time of day such as "22:00"',
        "4:50: 101 is not a valid volume",
        "6:39: 5 is not a text",
        "6:54: '1-2' is not a language",
        "7:31: 'server' is missing",
        "7:42: 12 is not a text",
        "9:8: 'kind' is missing",
        "9:19: invalid minute in '61 * * * *': 0-59",
        "9:37: 99 is not a valid niceness",
        "9:63: a run needs some time",
        "9:80: no job is called 'fuor'",
        "10:30: 'run' is missing",
        "10:52: 300 is not an exit status",
        "11:39: 'alrm' is not known here",
        "11:53: 101 is not a valid volume",
        "12:29: the alarm has nothing to play",
        "12:51: write a duration such as 90s, 15m, 1h30m or 2d",
        "12:65: 101 is not a valid volume",
    ]


def test_each_wrong_value_is_reported_once(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(
        "state-dir: state\n"
        "volume: {start: 300, maximum: 200}\n"
        "jobs:\n"
        "  wake: {kind: music, with: {action: alarm, play: [a.ogg], volume: 200, start-volume: 300}}\n"
        "  soft: {kind: music, with: {action: alarm, play: [a.ogg], volume: -1}}\n"
        "  door: {kind: command, with: {run: [ls]}, triggers: {button: {pin: 3, debounce-ms: 5000}}}\n",
        "utf-8",
    )
    _, _, err = checked(path, capsys)
    assert [line.partition("appliance.yaml:")[2] for line in err.splitlines()] == [
        "2:17: 300 is not a valid volume; write 0 to 100",
        "2:31: 200 is not a valid volume; write 0 to 100",
        "4:68: 200 is not a valid volume; write 0 to 100",
        "4:87: 300 is not a valid volume; write 0 to 100",
        "5:68: -1 is not a valid volume; write 0 to 100",
        "6:85: 5000 is not a valid number of milliseconds; write 0 to 1000",
    ]


def test_problems_and_warnings_are_json_for_programs(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text("state-dir: state\nweb: {port: eighty}\njobs: {one: {kind: comand}}\n", "utf-8")
    status, out, err = checked(path, capsys, "--json")
    problems = [
        {"line": 2, "column": 13, "message": "'eighty' is not a whole number", "hint": ""},
        {"line": 3, "column": 20, "message": "no kind of job is called 'comand'", "hint": "did you mean 'command'?"},
    ]
    assert json.loads(out) == {
        "config": str(path),
        "content": "",
        "problems": [{"file": str(path), **each} for each in problems],
        "warnings": [],
    }
    assert (status, err) == (2, "")

    path.write_text(GOOD.replace("{kind: preview}", "{kind: x}"), "utf-8")
    _, _, text = checked(path, capsys)
    status, out, err = checked(path, capsys, "--json")
    result = json.loads(out)
    assert (status, err, result["content"], result["problems"]) == (0, "", "2 jobs, 1 network, 0 stations", [])
    places = [(each["line"], each["column"], each["hint"]) for each in result["warnings"]]
    assert (5, 3, "run: pi-appliance networks login preview") in places
    assert places[-1] == (0, 0, "to add one: pi-appliance jobs install")
    assert len(places) == len(text.splitlines())

    status, out, err = checked(tmp_path / "gone.yaml", capsys, "--json")
    assert (status, err, len(json.loads(out)["problems"])) == (2, "", 1)


def test_the_keys_are_json_for_programs(capsys):
    with pytest.raises(SystemExit):
        main(["config", "keys", "--json"])
    sections = {each["section"]: each["keys"] for each in json.loads(capsys.readouterr().out)}
    with pytest.raises(SystemExit):
        main(["config", "keys"])
    assert [f"### {name}" for name in sections] == re.findall("^###.*", capsys.readouterr().out, re.MULTILINE)
    keys = {each["key"]: each for each in sections["The file"]}
    assert (keys["state-dir"]["required"], keys["state-dir"]["default"]) == (True, None)
    assert (keys["stop-grace"]["required"], keys["stop-grace"]["default"]) == (False, "10s")
    assert (keys["stations"]["required"], keys["stations"]["default"]) == (False, None)
    assert all(each["description"] for each in keys.values())
    assert "lines" in [each["key"] for each in sections["jobs: with, kind tweet"]]


def test_the_files_of_a_new_configuration_are_json_for_programs(tmp_path, capsys):
    folder = tmp_path / "new"
    with pytest.raises(SystemExit):
        main(["config", "init", str(folder), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["config"] == str(folder / "appliance.yaml")
    assert result["files"] == sorted(str(each) for each in folder.rglob("*") if each.is_file())


def test_a_folder_of_an_unknown_user_is_reported(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(
        "state-dir: ~no-such-user/state\n"
        "player: {kind: mpd, with: {address: ~no-such-user/mpd}}\n"
        "jobs: {a: {kind: command, triggers: {file: {path: ~no-such-user/in}}, with: {run: [ls]}}}\n",
        "utf-8",
    )
    _, _, err = checked(path, capsys)
    assert [line.partition("appliance.yaml:")[2] for line in err.splitlines()] == [
        "1:12: no user owns '~no-such-user/state'; write the whole path",
        "2:37: '~no-such-user/mpd' is not an address of MPD; no user owns '~no-such-user/mpd'; write the whole path",
        "3:51: no user owns '~no-such-user/in'; write the whole path",
    ]


def test_a_number_in_quotes_is_no_number(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text('state-dir: state\nweb: {port: "8080"}\njobs: {}\n', "utf-8")
    assert "2:13: '8080' is not a whole number; write it without quotes" in checked(path, capsys)[2]


@pytest.mark.parametrize("trap", ["12:30", "on", "no", "yes", "off", "017", "1_000", "0x1F", "1e3x", "=", "<<"])
def test_yaml_1_1_surprises_stay_text(tmp_path, trap):
    assert parse_yaml(f"a: {trap}", "f").data == {"a": trap}


@pytest.mark.parametrize(
    ("text", "value"),
    [("8080", 8080), ("-3", -3), ("0.25", 0.25), ("true", True), ("False", False), ("~", None), ("'8080'", "8080")],
)
def test_plain_values_have_their_usual_types(text, value):
    data = parse_yaml(f"a: {text}", "f").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a: \xff\xfe", "1:4: byte 0xFF is not UTF-8; save the file as UTF-8"),
        (b"a: [1, 2", "not YAML"),
        (b"jobs:\n\ta: 1", "2:1: not YAML"),
        (b"jobs:\n\ta: 1", "; indent with spaces, never with tabs"),
        (b"name: @home", '; put a text that begins with @ in "quotes"'),
        (b"a: 1\n---\nb: 2", "2:1: a second document begins here; keep one, without ---"),
        (b"", "1:1: the file has no keys"),
        (b"- a\n- b", "1:1: the file has no keys"),
        (b"[" * 100_000, "too many brackets"),
        (b"a: &a [*a]", "stands inside itself"),
        (b"a: *b", "no anchor &b"),
        (b"a: !!python/object:os.system x", "the tag"),
        (b"? [a]\n: b", "a key must be a plain word"),
        (b"a: \x07", "U+0007 is not allowed"),
        (b'state: "a\\0b"', "1:8: the character U+0000 is not allowed"),
        (b'"a\\0b": 1', "1:1: the character U+0000 is not allowed"),
    ],
)
def test_an_unreadable_configuration_is_reported_with_its_place(tmp_path, capsys, content, says):
    path = tmp_path / "appliance.yaml"
    path.write_bytes(content)
    status, _, err = checked(path, capsys)
    assert status == 2
    assert says in err
    assert PLACED.fullmatch(err.splitlines()[0])


@pytest.mark.parametrize(
    ("given", "zone"), [("Asia/Tokyo", "Asia/Tokyo"), (":Asia/Tokyo", "Asia/Tokyo"), (":{link}", "Asia/Tokyo")]
)
def test_the_zone_of_the_environment_is_a_name_or_a_file(tmp_path, monkeypatch, given, zone):
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    (tmp_path / "appliance.yaml").write_text("state-dir: state\n", "utf-8")
    monkeypatch.setenv("TZ", given.format(link=link))
    assert loader.load_config(tmp_path / "appliance.yaml").time_zone.key == zone


@pytest.mark.parametrize("section", ["web", "mpd-proxy"])
def test_an_invalid_port_is_reported(tmp_path, capsys, section):
    path = tmp_path / "appliance.yaml"
    path.write_text(f"state-dir: state\n{section}: {{port: 99999}}\n", "utf-8")
    status, _, err = checked(path, capsys)
    assert status == 2
    assert f"2:{len(section) + 10}: 99999 is not a valid port; write 1024 to 65535" in err


def test_a_missing_file_or_a_folder_is_reported(tmp_path, capsys):
    status, _, err = checked(tmp_path / "appliance.yaml", capsys)
    assert (status, "No such file" in err) == (2, True)
    assert "check its name" in err
    status, _, err = checked(tmp_path, capsys)
    assert (status, "Is a directory" in err) == (2, True)


def _unknown_key(text: str, dice: random.Random) -> str:
    lines = text.splitlines()
    at = dice.choice([n for n, line in enumerate(lines) if line.startswith("    ") and line[4] != " "])
    return "\n".join([*lines[:at], f"    z{dice.randrange(10**6)}: 1", *lines[at:]])


def _wrong_value(text: str, dice: random.Random) -> str:
    key, wrongs = dice.choice(
        [
            ("port", ["x", "1.5", "[]", "{}", "", "true", "'8080'"]),
            ("chance", ["0", "2", "-1/4", "1/0", "a", "[]", "5/4"]),
            ("timeout", ["5", "soon", "-1m", "[]", "1y", "{}"]),
            ("started-by", ["both", "1", "[]", "Cron", ""]),
            ("kind", ["z9", "1", "[]", "", "twet", "{}"]),
            ("time-zone", ["Mars/Base", "1", "[]", "../../etc/passwd", "Europe", "{}"]),
            ("schedule", ["61 * * * *", "5", "[]", "'@often'", "every 0s", "{days: [mon]}", "['25:00']", "true", "{}"]),
            ("times", ["x", "true", "1.5", "[]"]),
            ("lines", ["5", "[]", "true", "{}"]),
            ("network", ["nowhere", "5", "[]"]),
            ("state-dir", ["5", "[]", "{}", "''"]),
            ("web", ["5", "[]", "text"]),
            ("jobs", ["5", "[]", "text"]),
            ("run", ["5", "[]", "text", "[1]", "{}"]),
        ]
    )
    pattern = re.compile(rf"(\b{key}:) ?(\[[^\]]*\]|\{{[^}}]*\}}|[^,}}\n]*)")
    places = list(pattern.finditer(text))
    place = dice.choice(places)
    rest = text[place.end() :]
    if key in ("web", "jobs"):  # the lines below must not remain as a continuation
        rest = re.sub(r"^(\n  .*)*", "", rest)
    return f"{text[: place.end(1)]} {dice.choice(wrongs)}{rest}"


def _broken_syntax(text: str, dice: random.Random) -> str:
    at = dice.choice([match.end() for match in re.finditer(r": ", text)])
    return (
        text[:at]
        + dice.choice(["[", "{", '"', "'", "\t- ", "&", "*", "!!x ", "%", "@", "`", "| |", "] ", "} ", "\x01"])
        + text[at:]
    )


def _duplicate_line(text: str, dice: random.Random) -> str:
    lines = text.splitlines()
    at = dice.choice([n for n, line in enumerate(lines) if re.fullmatch(r" *[a-z-]+: .+", line)])
    return "\n".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])


def _missing(text: str, dice: random.Random) -> str:
    return re.sub(
        dice.choice([r"    kind: tweet\n", r"state-dir: state\n", r"lines: tweets.txt, ", r"      run: .*\n"]), "", text
    )


@pytest.mark.slow_variants
@pytest.mark.parametrize("spoil", [_unknown_key, _wrong_value, _broken_syntax, _duplicate_line, _missing])
def test_a_thousand_malformed_files_give_a_message_and_exit_2(tmp_path, capsys, spoil: Callable[..., str]):
    path = tmp_path / "appliance.yaml"
    for seed in range(200):
        text = spoil(GOOD, random.Random(seed))
        path.write_text(text, "utf-8")
        status, _, err = checked(path, capsys)
        assert status == 2, f"seed {seed} passed:\n{text}"
        assert all(PLACED.fullmatch(line) for line in err.splitlines()), f"seed {seed}: {err}\n{text}"
        assert err.strip()


def test_random_bytes_cause_no_traceback(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    dice = random.Random(1)
    for _ in range(300):
        raw = bytearray(GOOD.encode())
        for _ in range(dice.randrange(1, 8)):
            raw[dice.randrange(len(raw))] = dice.choice(b"\t\n :-[]{}&*!|>'\"%@`,?#\x00\xff\xc3aZ09")
        path.write_bytes(bytes(raw))
        status, out, err = checked(path, capsys)
        assert status in (0, 2)
        assert out if status == 0 else all(PLACED.fullmatch(line) for line in err.splitlines())


def test_the_schema_has_every_key_and_every_kind(capsys):
    with pytest.raises(SystemExit):
        main(["config", "schema"])
    schema = json.loads(capsys.readouterr().out)
    job = schema["properties"]["jobs"]["additionalProperties"]
    assert {"kind", "schedule", "started-by", "chance", "timeout", "retry", "with"} <= set(job["properties"])
    assert {"tweet", "command"} <= set(job["properties"]["kind"]["enum"])
    assert job["additionalProperties"] is False
    tweet = next(each["then"] for each in job["allOf"] if each["if"]["properties"]["kind"]["const"] == "tweet")
    assert set(tweet["properties"]["with"]["required"]) == {"lines", "network"}
    assert all(len(each["description"]) > 5 for each in job["properties"].values())


def test_the_example_of_the_repository_is_valid(capsys):
    status, out, err = checked(ROOT / "config" / "appliance.yaml", capsys)
    assert (status, err.count("\n")) == (0, 1)
    assert "the set-up is not finished: the page has no password yet; run: pi-appliance qr (warning)" in err
    assert "valid" in out


def test_an_invalid_list_item_is_reported_at_its_place(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(GOOD.replace('"12:00"', '"25:00"'), "utf-8")
    _, _, err = checked(path, capsys)
    assert "appliance.yaml:9:34: '25:00' is not a valid time of day; write 00:00 to 23:59" in err


def test_a_network_name_cannot_be_a_path(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(GOOD.replace("preview:", "../x:"), "utf-8")
    status, _, err = checked(path, capsys)
    assert (status, "'../x' cannot be a name" in err) == (2, True)


def test_a_problem_of_the_next_run_is_a_warning(tmp_path, capsys):
    path = tmp_path / "appliance.yaml"
    path.write_text(GOOD.replace("{kind: preview}", "{kind: x}"), "utf-8")
    status, out, err = checked(path, capsys)
    assert (status, "valid, with warnings" in out) == (0, True)
    assert (
        f"appliance.yaml:14:19: {tmp_path}/tweets.txt does not exist; create it with one post per line (warning)" in err
    )
    assert "appliance.yaml:5:3: missing secrets: X_CONSUMER_KEY, X_CONSUMER_SECRET" in err
    assert "tweets: cron has no entry for it" in err


def test_without_a_configuration_the_searched_places_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PI_APPLIANCE_CONFIG", raising=False)
    with pytest.raises(SystemExit) as error:
        main(["config", "check"])
    assert error.value.code == 2
    output = capsys.readouterr().err
    assert output.startswith(
        "pi-appliance: there is no config/appliance.yaml here, no appliance.yaml, and no /etc/pi-appliance/"
    )
    assert "--config" in output
