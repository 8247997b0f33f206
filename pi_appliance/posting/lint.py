"""Checks text files before their lines are to be posted: what each network would refuse, and what repeats itself."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path

from pi_appliance import plugins
from pi_appliance.config.model import Config
from pi_appliance.errors import Refused, UnknownName
from pi_appliance.posting import lines
from pi_appliance.posting.interface import PostLimits
from pi_appliance.posting.lines import Line, fingerprint, normalize
from pi_appliance.posting.tweet_job import OverlongPolicy, RejectedLine, draft

SIMILARITY_THRESHOLD = (
    0.9  # of 1: twice the letters that two lines have in common, in the same order, by the letters of both
)
_FEW = 5  # words; a line with fewer, or in a script without spaces, is known by pieces of so many letters
_PIECE = 3
_KEPT = 16  # lines that are remembered for a word: to be told of one earlier line is enough
_COMPARED = 4  # lines, of those with the most words in common
_COMMON = 1 / 3  # of the words; with fewer in common, lines are not compared letter by letter


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A line that is like an earlier one; both by their numbers."""

    line: int
    like: int
    ratio: float  # 1: the same to a reader


def find(lines: Sequence[Line]) -> list[NearDuplicate]:
    """Return for each line that is like an earlier one which one that is, in the order of the file."""
    found, first, seen = [], dict[str, int](), _Index()
    for line in lines:
        same = first.setdefault(fingerprint(line), line.number)
        near = seen.nearest(line) if same == line.number else NearDuplicate(line.number, same, 1.0)
        if near:
            found.append(near)
        if same == line.number:
            seen.add(line)
    return found


def ratio(text: str, other: str) -> float:
    """Return how much of TEXT and OTHER is the same, from 0 to 1."""
    if not text or not other:
        return float(text == other)
    # The longest common subsequence, a bit for each letter of TEXT: what it has not in common so far is 1. A column of
    # the usual table is one addition of whole numbers this way.
    places: dict[str, int] = defaultdict(int)
    for place, letter in enumerate(text):
        places[letter] |= 1 << place
    apart = whole = (1 << len(text)) - 1
    for letter in other:
        hits = apart & places.get(letter, 0)
        apart = ((apart + hits) | (apart - hits)) & whole
    return 2 * (len(text) - apart.bit_count()) / (len(text) + len(other))


class _Index:
    """The lines so far, found by their words: to compare each with each would take minutes on a Pi."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str, frozenset[str]]] = []
        self._with: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, line: Line) -> None:
        text, words = _words(line)
        for word in words:
            if len(self._with[word]) < _KEPT:
                self._with[word].append(len(self._lines))
        self._lines.append((line.number, text, words))

    def nearest(self, line: Line) -> NearDuplicate | None:
        """Return the line so far that LINE is most like, if it is near."""
        text, words = _words(line)
        best, number = max((self._compared(text, words, index) for index in self._candidates(words)), default=(0.0, 0))
        return NearDuplicate(line.number, -number, best) if best >= SIMILARITY_THRESHOLD else None

    def _candidates(self, words: frozenset[str]) -> set[int]:
        """Return those with the most WORDS in common, and those with the most rare ones: all may begin alike."""
        known = [self._with[word] for word in sorted(words) if word in self._with]
        rare = [lines for lines in known if len(lines) < _KEPT]
        most = (Counter(chain.from_iterable(some)).most_common(_COMPARED) for some in (known, rare))
        return {index for index, _ in chain.from_iterable(most)}

    def _compared(self, text: str, words: frozenset[str], index: int) -> tuple[float, int]:
        """Return how much TEXT of WORDS is like the line at INDEX, and its number, the less the better."""
        number, other, others = self._lines[index]
        shorter, longer = sorted((len(text), len(other)))
        if 2 * shorter < SIMILARITY_THRESHOLD * (shorter + longer) or len(words & others) < _COMMON * min(
            len(words), len(others)
        ):
            return 0.0, -number
        return ratio(text, other), -number


def _words(line: Line) -> tuple[str, frozenset[str]]:
    text, pictures = normalize(line)
    words = [*text.split(), *pictures]
    text = " ".join(words)
    if len(words) >= _FEW:
        return text, frozenset(words)
    return text, frozenset(text[start : start + _PIECE] for start in range(max(1, len(text) - _PIECE + 1)))


KIND = "tweet"
_END = re.compile(rb"\r\n|\r|\n")
# What the words in braces stand for at the longest. How long the summary of a report will be, nobody knows.
_LONGEST = {"date": "30 September 2026", "time": "23:59", "temperature": "100 °C"}
_SUMMARY = 80


class Weight(StrEnum):
    """How much a note matters."""

    REFUSED = "refused"  # the line is not posted as it stands
    WARNING = "warning"  # it is posted, but the owner may not want it so
    THREAD = "thread"  # it is posted in several parts


@dataclass(frozen=True, slots=True)
class Source:
    """A text file, the networks its lines are to go to, and what the words in braces stand for at the longest."""

    path: Path
    rules: Mapping[str, PostLimits]
    long: OverlongPolicy
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is to be said of a line, or of the whole file where `line` is None."""

    line: int | None
    weight: Weight
    what: str
    network: str | None = None
    length: int | None = None  # as the network counts it
    limit: int | None = None
    parts: int | None = None  # of a thread


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that was checked: how many lines it has, how many of them fit each network, and what is to be said."""

    path: Path
    lines: int
    fit: Mapping[str, int]
    notes: Sequence[Note]

    @property
    def good(self) -> bool:
        """Whether there are lines, and all of them can be posted."""
        return all(note.weight is not Weight.REFUSED for note in self.notes)


def sources(config: Config, job: str | None = None) -> list[Source]:
    """Return the text files that jobs post from, or JOB alone, each once for each way in which it is used.

    Raises UnknownName; Refused for a job that posts no lines.
    """
    if job is not None and job not in config.jobs:
        raise UnknownName("job", job, tuple(config.jobs))
    if job is not None and config.jobs[job].kind != KIND:
        raise Refused(f"{job} posts no lines of a file: it is of kind {config.jobs[job].kind}, not {KIND}")
    found: dict[tuple[object, ...], Source] = {}
    for name, each in config.jobs.items():
        if each.kind == KIND and job in (None, name):
            options = each.options
            key = (options.lines, options.network, options.long, options.report_of is not None)
            found[key] = Source(
                options.lines,
                rules(config, options.network),
                options.long,
                _values(report=options.report_of is not None),
            )
    return list(found.values())


def source(config: Config, path: Path, networks: Sequence[str]) -> Source:
    """Return the text file PATH as if a job posted from it to NETWORKS, or to all there are. Raises UnknownName."""
    return Source(path, rules(config, networks or tuple(config.networks)), OverlongPolicy.REFUSE, _values(report=True))


def rules(config: Config, networks: Sequence[str]) -> dict[str, PostLimits]:
    """Return what each of NETWORKS takes, without asking it. Raises UnknownName."""
    found = {}
    for name in networks:
        if name not in config.networks:
            raise UnknownName("network", name, tuple(config.networks))
        part = config.networks[name]
        found[name] = plugins.load("networks", part.kind).rules(part.options, config.network_dirs(name))
    return found


def check(source: Source) -> Checked:
    """Check every line of SOURCE. What is wrong with the file itself is a note, too."""
    try:
        data = source.path.read_bytes()
    except OSError as error:
        return _nothing(source, None, f"cannot be read: {error.strerror}; write it, one post a line")
    try:
        read = lines.parse(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = len(_END.findall(data[: error.start])) + 1
        return _nothing(source, line, f"byte 0x{data[error.start]:02x} is no UTF-8 text; save the file as UTF-8")
    if not read:
        return _nothing(source, None, "holds no line to post; write one post a line")
    notes = [note for line in read for note in _of_line(line, source)]
    refused = {
        (note.line, name)
        for note in notes
        if note.weight is Weight.REFUSED
        for name in source.rules
        if note.network in (None, name)
    }
    fit = {name: sum((line.number, name) not in refused for line in read) for name in source.rules}
    return Checked(source.path, len(read), fit, sorted([*notes, *_repeated(read)], key=lambda note: note.line or 0))


def _values(*, report: bool) -> dict[str, str]:
    values = {**_LONGEST, "hostname": os.uname().nodename}
    return values | {"last-report": "m" * _SUMMARY} if report else values


def _nothing(source: Source, line: int | None, what: str) -> Checked:
    note = Note(line=line, weight=Weight.REFUSED, what=what)
    return Checked(source.path, 0, dict.fromkeys(source.rules, 0), [note])


def _of_line(line: Line, source: Source) -> Iterator[Note]:
    alone = draft(line, source.path.parent, {}, source.values)
    if isinstance(alone, RejectedLine):
        yield Note(line=line.number, weight=Weight.REFUSED, what=alone.why)
        return
    for file, alt in line.pictures:
        if not alt:
            what = f"nobody is told what {file} shows; write ![what it shows]({file})"
            yield Note(line=line.number, weight=Weight.WARNING, what=what)
    text = lines.fill(line.text, source.values)
    for name, each in source.rules.items():
        made = draft(line, source.path.parent, {name: each}, source.values, source.long)
        weight, what, parts = Weight.REFUSED, "", None
        if isinstance(made, RejectedLine):
            what = made.why
        elif (parts := len(made.posts[name])) > 1:
            weight, what = Weight.THREAD, f"a thread of {parts} parts on {name}"
        if what:
            length, limit = each.weigh(text), each.limit
            yield Note(
                line=line.number, weight=weight, what=what, network=name, length=length, limit=limit, parts=parts
            )


def _repeated(read: Sequence[Line]) -> Iterator[Note]:
    for each in find(read):
        same = each.ratio == 1
        what = (
            f"the same as line {each.like}"
            if same
            else f"nearly the same as line {each.like} ({int(100 * each.ratio)} %)"
        )
        yield Note(line=each.line, weight=Weight.WARNING, what=what)
