"""Check text files: lines that a network would reject, and lines that repeat earlier ones."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path

from pi_appliance.config.options import Config
from pi_appliance.posting import lines
from pi_appliance.posting.exactly_once import post_limits
from pi_appliance.posting.lines import PostLine, line_fingerprint, normalize_line
from pi_appliance.posting.model import PostLimits
from pi_appliance.posting.tweet_job import TWEET_KIND, OverlongPolicy, RejectedLine, draft_line, require_tweet_job

SIMILARITY_THRESHOLD = 0.9  # similarity of two lines, from 0 to 1, above which they are reported
_FEW_WORDS = 5  # a line with fewer words (or of a script without spaces) is indexed by letter trigrams
_TRIGRAM = 3
_LINES_PER_WORD = 16  # indexed lines per word; it is enough to name one earlier line
_COMPARED_LINES = 4  # earlier lines that are compared: those with the most words in common
_MIN_COMMON_WORDS = 1 / 3  # share of common words above which lines are compared letter by letter


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A line that is similar to an earlier one."""

    line: int
    like: int
    ratio: float  # 1: equal after normalization


def find_near_duplicates(lines: Sequence[PostLine]) -> list[NearDuplicate]:
    """Return the lines that are similar to an earlier one, in file order."""
    duplicates, first, index = [], dict[str, int](), _LineIndex()
    for line in lines:
        same = first.setdefault(line_fingerprint(line), line.number)
        near = index.nearest(line) if same == line.number else NearDuplicate(line.number, same, 1.0)
        if near:
            duplicates.append(near)
        if same == line.number:
            index.add(line)
    return duplicates


def similarity(text: str, other: str) -> float:
    """Return the length of the longest common subsequence, as a share of both texts."""
    if not text or not other:
        return float(text == other)
    # Longest common subsequence with bits: a bit per letter of `text`, which is 1 until the letter
    # is matched. One addition of integers computes a column of the usual table.
    places: dict[str, int] = defaultdict(int)
    for place, letter in enumerate(text):
        places[letter] |= 1 << place
    unmatched = mask = (1 << len(text)) - 1
    for letter in other:
        hits = unmatched & places.get(letter, 0)
        unmatched = ((unmatched + hits) | (unmatched - hits)) & mask
    return 2 * (len(text) - unmatched.bit_count()) / (len(text) + len(other))


class _LineIndex:
    """Earlier lines by their words: comparing every pair of lines would take minutes on a Pi."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str, frozenset[str]]] = []
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, line: PostLine) -> None:
        text, words = _index_words(line)
        for word in words:
            if len(self._by_word[word]) < _LINES_PER_WORD:
                self._by_word[word].append(len(self._lines))
        self._lines.append((line.number, text, words))

    def nearest(self, line: PostLine) -> NearDuplicate | None:
        """Return the most similar line so far, if it is above the threshold."""
        text, words = _index_words(line)
        ratios = (self._compare(text, words, index) for index in self._candidates(words))
        best, number = max(ratios, default=(0.0, 0))
        return NearDuplicate(line.number, -number, best) if best >= SIMILARITY_THRESHOLD else None

    def _candidates(self, words: frozenset[str]) -> set[int]:
        """Return the lines with the most words, and with the most rare words in common."""
        lines_by_word = [self._by_word[word] for word in sorted(words) if word in self._by_word]
        rare = [lines for lines in lines_by_word if len(lines) < _LINES_PER_WORD]
        most = (Counter(chain.from_iterable(some)).most_common(_COMPARED_LINES) for some in (lines_by_word, rare))
        return {index for index, _ in chain.from_iterable(most)}

    def _compare(self, text: str, words: frozenset[str], index: int) -> tuple[float, int]:
        """Return the similarity to line `index`, and minus `index`: `max` prefers early lines."""
        number, other, other_words = self._lines[index]
        shorter, longer = sorted((len(text), len(other)))
        if 2 * shorter < SIMILARITY_THRESHOLD * (shorter + longer):
            return 0.0, -number
        if len(words & other_words) < _MIN_COMMON_WORDS * min(len(words), len(other_words)):
            return 0.0, -number
        return similarity(text, other), -number


def _index_words(line: PostLine) -> tuple[str, frozenset[str]]:
    text, pictures = normalize_line(line)
    words = [*text.split(), *pictures]
    text = " ".join(words)
    if len(words) >= _FEW_WORDS:
        return text, frozenset(words)
    return text, frozenset(text[start : start + _TRIGRAM] for start in range(max(1, len(text) - _TRIGRAM + 1)))


_LINE_END = re.compile(rb"\r\n|\r|\n")
_LONGEST_VALUES = {"date": "30 September 2026", "time": "23:59", "temperature": "100 °C"}
_SUMMARY_LENGTH = 80  # assumed length of a report's summary


class Severity(StrEnum):
    """How serious a finding about a line is."""

    REFUSED = "refused"  # the line cannot be posted
    WARNING = "warning"  # the line is posted, but may not be intended
    THREAD = "thread"  # the line is posted in several parts


@dataclass(frozen=True, slots=True)
class LineSource:
    """A text file, and the limits and placeholder values with which its lines are checked.

    Limits of networks and values of placeholders.
    """

    path: Path
    limits: Mapping[str, PostLimits]
    too_long: OverlongPolicy
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintNote:
    """A finding about one line, or about the file if `line` is None."""

    line: int | None
    severity: Severity
    message: str
    network: str | None = None
    length: int | None = None  # length as the network counts it
    max_length: int | None = None
    parts: int | None = None  # parts of a thread


@dataclass(frozen=True, slots=True)
class LintResult:
    """A checked file: number of lines, number of lines that fit each network, and the notes."""

    file: Path
    lines: int
    fit: Mapping[str, int]
    notes: Sequence[LintNote]

    @property
    def is_good(self) -> bool:
        """Whether there are lines, and all of them can be posted."""
        return all(note.severity is not Severity.REFUSED for note in self.notes)


def job_sources(config: Config, job: str | None = None) -> list[LineSource]:
    """Return the text files of `job`, or of all tweet jobs.

    A file that several jobs use in the same way is returned once.

    Raises:
        UnknownName: The job does not exist.
        Refused: The job does not post lines.
    """
    if job is not None:
        require_tweet_job(config, job)
    sources: dict[tuple[object, ...], LineSource] = {}
    for name, each in config.jobs.items():
        if each.kind == TWEET_KIND and job in (None, name):
            options = each.options
            has_report = options.report_from is not None
            key = (options.lines, options.network, options.too_long, has_report)
            limits = {network: post_limits(config, network) for network in options.network}
            sources[key] = LineSource(options.lines, limits, options.too_long, _longest_values(report=has_report))
    return list(sources.values())


def file_source(config: Config, path: Path, networks: Sequence[str]) -> LineSource:
    """Return `path` to be checked as if a job posted it to `networks`, by default to all networks.

    Raises UnknownName for an unknown network.
    """
    limits = {network: post_limits(config, network) for network in networks or tuple(config.networks)}
    return LineSource(path, limits, OverlongPolicy.REFUSE, _longest_values(report=True))


def check_source(source: LineSource) -> LintResult:
    """Check every line of `source`. Problems of the file itself are notes as well."""
    try:
        data = source.path.read_bytes()
    except OSError as error:
        return _file_error(source, None, f"cannot be read: {error.strerror}; create it with one post per line")
    try:
        text = lines.decode_text(data)
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(data[: error.start])) + 1
        return _file_error(source, line, f"byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8")
    parsed = lines.parse_lines(text)
    if not parsed:
        return _file_error(source, None, "has no line to post; write one post per line")
    notes = [note for line in parsed for note in check_line(line, source)]
    refused = {
        (note.line, name)
        for note in notes
        if note.severity is Severity.REFUSED
        for name in source.limits
        if note.network in (None, name)
    }
    fit = {name: sum((line.number, name) not in refused for line in parsed) for name in source.limits}
    notes = sorted([*notes, *_hash_notes(text), *_duplicate_notes(parsed)], key=lambda note: note.line or 0)
    return LintResult(source.path, len(parsed), fit, notes)


def _longest_values(*, report: bool) -> dict[str, str]:
    values = {**_LONGEST_VALUES, "hostname": os.uname().nodename}
    return values | {"last-report": "m" * _SUMMARY_LENGTH} if report else values


def _file_error(source: LineSource, line: int | None, message: str) -> LintResult:
    note = LintNote(line=line, severity=Severity.REFUSED, message=message)
    return LintResult(source.path, 0, dict.fromkeys(source.limits, 0), [note])


def check_line(line: PostLine, source: LineSource) -> Iterator[LintNote]:
    """Yield the notes about `line` alone."""
    folder = source.path.parent
    draft = draft_line(line, folder, {}, source.values)
    if isinstance(draft, RejectedLine):
        yield LintNote(line=line.number, severity=Severity.REFUSED, message=draft.reason)
        return
    for file, alt in line.pictures:
        if not alt:
            message = f"the picture {file} has no description; write ![description]({file})"
            yield LintNote(line=line.number, severity=Severity.WARNING, message=message)
    text = lines.fill_placeholders(line.text, source.values)
    for name, limits in source.limits.items():
        draft = draft_line(line, folder, {name: limits}, source.values, source.too_long)
        severity, message, parts = Severity.REFUSED, "", None
        if isinstance(draft, RejectedLine):
            message = draft.reason
        elif (parts := len(draft.posts[name])) > 1:
            severity, message = Severity.THREAD, f"a thread of {parts} parts on {name}"
        if message:
            yield LintNote(
                line=line.number,
                severity=severity,
                message=message,
                network=name,
                length=limits.text_length(text),
                max_length=limits.max_length,
                parts=parts,
            )


def _hash_notes(text: str) -> Iterator[LintNote]:
    """Yield a warning for each line that is posted with its # and may be meant as a comment."""
    for number, row in enumerate(lines.LINE_END.split(text.removeprefix("\ufeff")), start=1):
        line = row.strip()
        if line.startswith("#") and not lines.is_comment(line):
            message = "it is posted, with its #; write a space after the # for a comment, or \\# if it is a post"
            yield LintNote(line=number, severity=Severity.WARNING, message=message)


def _duplicate_notes(parsed: Sequence[PostLine]) -> Iterator[LintNote]:
    for each in find_near_duplicates(parsed):
        message = f"the same as line {each.like}"
        if each.ratio < 1:
            message = f"nearly the same as line {each.like} ({int(100 * each.ratio)} %)"
        yield LintNote(line=each.line, severity=Severity.WARNING, message=message)
