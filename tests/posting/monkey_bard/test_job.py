"""The job kind `monkey-bard`: checkpoints, reports and their texts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.config.options import NetworkDirs
from pi_appliance.config.units import Names
from pi_appliance.errors import ConfigError, Refused, Unavailable
from pi_appliance.posting import monkey_bard_job, monkey_bard_state
from pi_appliance.posting.model import Network, Post, SentPost
from pi_appliance.posting.monkey_bard_job import Announce, Options
from pi_appliance.posting.monkey_bard_state import Keyboard, keystroke_block
from pi_appliance.posting.networks import preview
from pi_appliance.posting.x_text import text_length
from pi_appliance.storage.model import Result
from tests.fakes.context import FakeContext

SEED = 7
STREAM = keystroke_block(SEED, Keyboard.LETTERS, 0).decode("ascii")
NINE = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)
POEM = "Shall I compare thee\nto a summer's day?\n"


def early(length: int) -> str:
    """Return a text of this length that occurs early in the stream."""
    texts = (STREAM[at : at + length] for at in range(3, 3000))
    return next(text for text in texts if "  " not in text and text == text.strip())


@dataclass
class Cage:
    """The checkpoint, folder and networks of a monkey over many runs."""

    folder: Path
    text: str = POEM
    memory: str | None = None
    networks: Mapping[str, Network] = field(default_factory=dict)
    runs: int = 0

    def run(self, *, day: float = 0, run: int | None = None, **options: Any) -> Result:
        """Start a run some days after the first; `run` is the id of an interrupted one."""
        context = self.context(day=day, run=run)
        try:
            return monkey_bard_job.run(self.options(**options), context)
        finally:
            self.memory = context.state

    def context(self, *, day: float = 0, run: int | None = None) -> FakeContext:
        self.runs += 1
        when = NINE + timedelta(days=day)
        number = self.runs if run is None else run
        return FakeContext(self.folder, self.networks, run_id=number, state=self.memory, now=when)

    def options(self, **options: Any) -> Options:
        path = self.folder / "poem.txt"
        path.write_text(self.text, "utf-8")
        return Options(**{"text": path, "seed": SEED, "keystrokes": 1000, **options})

    @property
    def report(self) -> str:
        return (self.folder / "result.txt").read_text("utf-8")

    @property
    def remembered(self) -> dict[str, Any]:
        results: dict[str, Any] = json.loads(self.memory or "")
        return results


@pytest.fixture
def cage(tmp_path: Path) -> Cage:
    return Cage(tmp_path)


class Wall:
    """A network that stores its posts in a list and can be unavailable."""

    idempotent = True
    search_lag = timedelta(0)

    def __init__(self, limit: int = 280) -> None:
        self.posts: dict[str, str] = {}
        self.limits = preview.post_limits(preview.Options(limit=limit), NetworkDirs(Path(), Path()))
        self.answers = True

    def post(self, post: Post, *, key: str, thread: object = ()) -> SentPost:  # noqa: ARG002 - the shape of all networks
        if not self.answers:
            raise Unavailable("the wall does not answer")
        self.posts.setdefault(key, post.text)
        return SentPost(key, f"wall/{len(self.posts)}")

    def find_post(self, post: Post, *, key: str, known_ids: object, since_id: str = "") -> SentPost | None:  # noqa: ARG002 - the shape of all networks
        return SentPost(key, "") if key in self.posts else None

    def whoami(self) -> str:
        return "a wall"

    @property
    def texts(self) -> list[str]:
        return list(self.posts.values())


@pytest.fixture
def wall(cage: Cage) -> Wall:
    wall = Wall()
    cage.networks = {"wall": wall}
    return wall


NETWORKS = {"network": Names(["wall"])}

# --- the state


def test_a_run_types_a_number_of_keys_and_reports_its_progress(cage):
    result = cage.run()
    assert result.summary == ("1,000 keystrokes: “sh”, 2 of 37 letters; the next letter in about 19,700 more (20 runs)")
    assert dict(result.details) == {"keystrokes": 1000, "letters": 2, "of": 37, "seed": SEED}
    assert cage.report == (
        "Typed so far: [sh]all i compare thee\n\n"
        "Keystrokes:   1,000 since 2027-03-01 09:00+00:00\n"
        "Longest:      2 of 37 letters of poem.txt\n"
        "Next letter:  expected after 19,683 more keystrokes: 20 runs\n"
        "The whole:    expected after about 10⁵² keystrokes\n"
        "Keyboard:     letters, 27 keys\n"
        "Seed:         7\n\n"
        "Records, the newest first (letters, keystroke, when)\n"
        "     2                   407  2027-03-01 09:01+00:00\n"
        "     1                     4  2027-03-01 09:01+00:00\n"
    )


def test_runs_of_any_size_give_the_same_result(tmp_path):
    places = []
    for sizes in ([1000], [500, 500], [1, 998, 1], [300, 700]):
        folder = tmp_path / str(sizes)
        folder.mkdir()
        cage = Cage(folder)
        for size in sizes:
            cage.run(keystrokes=size)
        places.append((cage.remembered["progress"], [each[:2] for each in cage.remembered["events"]]))
    assert places == [places[0]] * 4


def test_the_excerpt_has_whole_lines_once_they_are_typed(cage):
    words = next(STREAM[at : at + 7] for at in range(3000) if STREAM[at : at + 7].find(" ") in (3, 4))
    typed = words.replace(" ", "\n")
    cage.text = f"{typed}x never this\nnor that"
    cage.run(keystrokes=4000)
    assert cage.report.startswith(f"Typed so far: [{typed}]x never this\n\nKeystrokes: ")


def test_without_a_seed_one_is_drawn_and_stored(cage):
    first = cage.run(seed=None).details["seed"]
    second = cage.run(seed=None)
    assert (second.details["seed"], second.details["keystrokes"]) == (first, 2000)
    assert f"Seed:         {first}\n" in cage.report


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 8}, "a new monkey, for another seed was set; "),
        ({"keyboard": Keyboard.TYPEWRITER}, "a new monkey, for another keyboard was set; "),
        ({"text": "another poem"}, "a new monkey, for another text was set; "),
        ({"seed": 8, "text": "another"}, "a new monkey, for another text and another seed was set; "),
    ],
)
def test_another_text_keyboard_or_seed_starts_another_monkey(cage, change, says):
    cage.run()
    options = dict(change)
    cage.text = options.pop("text", cage.text)
    result = cage.run(day=1, **options)

    assert result.summary.startswith(says + "1,000 keystrokes")
    assert "Earlier monkeys, the newest first\n" in cage.report
    assert "until 2027-03-02 09:00+00:00: “sh” of poem.txt with 1,000 keystrokes (letters, seed 7)" in cage.report
    assert cage.run(day=2, **options).summary.startswith("2,000 keystrokes")


def test_an_equivalent_change_keeps_the_monkey(cage):
    cage.run()
    cage.text = "SHALL I COMPARE THEE -- TO A SUMMER'S DAY..."
    assert cage.run().summary.startswith("2,000 keystrokes")


def test_the_text_must_exist_and_be_typeable(cage):
    options = cage.options()
    options.text.unlink()
    with pytest.raises(ConfigError, match=r"poem.txt:1:1: cannot be read: No such file or directory"):
        monkey_bard_job.run(options, cage.context())
    assert options.warnings()[0][0] == ("text",)
    options.text.write_bytes(b"caf\xe9")
    with pytest.raises(ConfigError, match="this is not a text file; save it as UTF-8"):
        monkey_bard_job.run(options, cage.context())
    options.text.write_text("one\n7\n", "utf-8")
    ((where, wrong, right),) = options.warnings()
    assert where == ("text",)
    assert wrong.endswith("poem.txt:2:1: the monkey has no key for '7'")
    assert right == "write it in letters, or take `keyboard: typewriter`"


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"version": 1}', "cut", "place", "longer"])
def test_a_damaged_checkpoint_is_refused_and_kept(cage, damage):
    cage.run()
    whole = cage.remembered
    if damage == "cut":
        damage = json.dumps(whole)[:-20]
    elif damage == "place":
        damage = json.dumps({**whole, "progress": [1000, 0, "x", 2, 0]})
    elif damage == "longer":
        damage = json.dumps({**whole, "progress": [1000, 0, 1000, 3, 0]})
    cage.memory = damage
    with pytest.raises(Refused) as error:
        cage.run()
    assert str(error.value) == (
        "memory/test.txt in the state folder is damaged, so its progress is unknown; "
        "move it away to let a new monkey begin"
    )
    assert cage.memory == damage


def test_a_checkpoint_of_a_later_version_is_refused(cage):
    cage.run()
    cage.memory = json.dumps({**cage.remembered, "version": 2})
    with pytest.raises(
        Refused, match=r"written by another pi-appliance \(its version 2\); update this one, or move it"
    ):
        cage.run()


def test_a_retried_run_types_nothing_more(cage):
    cage.run(run=5)
    assert cage.run(run=5).details["keystrokes"] == 1000
    assert cage.run(run=6).details["keystrokes"] == 2000


class Slow(FakeContext):
    """Each reading of the clock takes a minute; the power fails at the third progress report."""

    def clock(self) -> datetime:
        self.duration += timedelta(minutes=1)
        return self.now + self.duration

    def progress(self, done: float | None, note: str = "") -> None:
        super().progress(done, note)
        if len(self.progress_reports) == 4:
            raise KeyboardInterrupt


def test_typing_continues_after_a_power_cut(cage, tmp_path):
    options = cage.options(keystrokes=400_000)
    cut_off = Slow(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        monkey_bard_job.run(options, cut_off)
    cage.memory = cut_off.state
    saved = cage.remembered["progress"][0]
    assert 100_000 < saved < 300_000

    assert cage.run(run=1, keystrokes=400_000).details["keystrokes"] == 400_000
    went_on = (cage.remembered["progress"], [each[:2] for each in cage.remembered["events"]])
    straight = Cage(tmp_path)
    straight.run(keystrokes=400_000)
    assert went_on == (straight.remembered["progress"], [each[:2] for each in straight.remembered["events"]])


# --- notifications


def test_a_record_is_reported_once(cage, wall):
    result = cage.run(**NETWORKS)
    assert len(wall.texts) == 1
    assert "“sh”" in wall.texts[0]
    assert result.summary.endswith(f"; posted to wall: {wall.texts[0]}")
    assert result.details["link-wall"] == "wall/1"
    assert "posted" not in cage.run(day=5, **NETWORKS).summary  # nothing new
    assert len(wall.texts) == 1


def test_records_are_limited_to_the_configured_frequency(cage, wall):
    cage.run(keystrokes=5, **NETWORKS)
    cage.run(day=0.9, **NETWORKS)  # the second letter came
    assert len(wall.texts) == 1
    cage.run(day=1.1, **NETWORKS)
    assert len(wall.texts) == 2
    assert "“sh”" in wall.texts[1]


def test_a_record_of_a_clock_ahead_delays_nothing(cage, wall):
    cage.run(day=4000, keystrokes=5, **NETWORKS)
    cage.run(day=0, **NETWORKS)
    assert len(wall.texts) == 2


def test_each_run_is_reported_on_request(cage, wall):
    for _ in range(3):
        cage.run(announce=Announce.EVERY_RUN, **NETWORKS)
    assert ["3,000" in text for text in wall.texts] == [False, False, True]


def test_a_run_without_progress_is_reported_only_on_request(cage, wall):
    cage.run(keystrokes=3, **NETWORKS)
    assert wall.texts == []
    cage.text = "qqq"
    cage.run(keystrokes=3, announce=Announce.EVERY_RUN, **NETWORKS)
    assert wall.texts == ["3 keys were hit, and the first letter was not among them. The monkey is in no hurry."]


def test_the_end_is_reported_at_once_and_then_typing_stops(cage, wall):
    cage.text = early(4)
    cage.run(keystrokes=5, **NETWORKS)
    result = cage.run(day=0.1, **NETWORKS)
    assert f": “{cage.text}”, the whole text; there is nothing left to type; posted to wall" in result.summary
    assert cage.report.startswith(f"Typed so far: [{cage.text}]\n")
    assert "Next letter:  none; it has typed all of it\n" in cage.report
    output = len(wall.texts)
    again = cage.run(day=9, announce=Announce.EVERY_RUN, **NETWORKS)
    assert again.details["keystrokes"] == result.details["keystrokes"] <= 1005
    assert len(wall.texts) == output


def test_an_unsent_report_is_sent_once_by_a_later_run(cage, wall):
    wall.answers = False
    with pytest.raises(Unavailable, match="wall: not posted yet: the wall does not answer"):
        cage.run(**NETWORKS)
    assert cage.remembered["progress"][0] == 1000  # typed and kept all the same
    assert "1,000 since" in cage.report
    wall.answers = True
    cage.run(day=0.1, **NETWORKS)
    assert len(wall.texts) == 1
    assert "1,000 keystrokes" in wall.texts[0] or "1,000 keys" in wall.texts[0]
    cage.run(day=5, **NETWORKS)
    assert len(wall.texts) == 1


def test_a_run_for_a_pending_post_types_nothing(cage, wall):
    wall.answers = False
    with pytest.raises(Unavailable):
        cage.run(**NETWORKS)
    wall.answers = True
    context = cage.context(day=0.1)
    context.resume_only = True
    assert monkey_bard_job.run(cage.options(**NETWORKS), context).summary.startswith("posted to wall: of run 1: ")
    assert cage.remembered["progress"][0] == 1000


def test_a_report_lost_before_it_was_stored_is_made_by_the_next_run(cage, wall):
    class NoLimits(FakeContext):
        def limits(self, name: str) -> Any:  # noqa: ARG002 - the shape of a Context
            raise KeyboardInterrupt

    context = NoLimits(cage.folder, cage.networks)
    with pytest.raises(KeyboardInterrupt):
        monkey_bard_job.run(cage.options(**NETWORKS), context)
    cage.memory, cage.runs = context.state, 1
    cage.run(day=0.1, **NETWORKS)
    assert len(wall.texts) == 1


def test_a_sent_report_is_not_sent_again_after_a_kill(cage, wall):
    class Forgets(FakeContext):
        def save_state(self, text: str) -> None:
            if wall.posts:
                raise KeyboardInterrupt
            super().save_state(text)

    context = Forgets(cage.folder, cage.networks)
    with pytest.raises(KeyboardInterrupt):
        monkey_bard_job.run(cage.options(**NETWORKS), context)
    cage.memory, cage.runs = context.state, 1
    assert cage.run(run=1, **NETWORKS).details["link-wall"] == "wall/1"
    cage.run(day=5, **NETWORKS)
    assert len(wall.texts) == 1


# --- in which words


@pytest.mark.parametrize("wording", range(len(monkey_bard_job._SENTENCES)))
def test_every_wording_fits_with_long_numbers(cage, wording):
    memory = monkey_bard_job.MonkeyState(
        text="poem.txt",
        digest="",
        keyboard=Keyboard.LETTERS,
        seed=1,
        began=NINE,
        progress=monkey_bard_state.Progress(keystrokes=10**15, matched=20),
        typed=POEM[:20],
        ends=((NINE, 0), (NINE + timedelta(days=300), 10**9)),
    )
    view = monkey_bard_job.MonkeyView(memory, monkey_bard_job._load_target(cage.options()), 1000, UTC)
    text = monkey_bard_job.announcement_text(view, (wording + 0.5) / len(monkey_bard_job._SENTENCES), lambda _: True)
    assert "1,000,000,000,000,000 key" in text
    assert "“Shall I compare thee”" in text
    assert " years" in text
    assert text[0].isupper() or not text[0].isalpha()
    assert text_length(text) <= 280


def test_a_long_text_is_shortened_at_the_front_until_the_post_fits(cage, wall):
    cage.text = early(250)
    cage.run(keystrokes=4000, **NETWORKS)
    (text,) = wall.texts
    assert text_length(text) <= 280
    assert f"“…{cage.text[-160:]}”" in text
    assert "the whole text" in text or "all 250 letters" in text


def test_each_network_gets_a_text_that_fits(cage, wall):
    narrow = Wall(limit=160)
    cage.networks = {"wall": wall, "narrow": narrow}
    cage.text = early(250)
    cage.run(keystrokes=4000, network=Names(["wall", "narrow"]))
    assert text_length(narrow.texts[0]) <= 160 < text_length(wall.texts[0])


def test_the_time_to_the_next_letter_uses_the_newest_runs(cage):
    for hour in range(49):
        cage.run(day=hour / 24)
    # 1,000 keystrokes an hour; 27 ** (letters + 1) are needed, less the part that the latest keystrokes match.
    letters = cage.remembered["progress"][3]
    assert letters == 3
    assert "Next letter:  expected after 531,441 more keystrokes: 22 days at this pace\n" in cage.report
    assert len(cage.remembered["ends"]) == 30
