"""Posts that a network did not take: the list, and sending them again there or dropping them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pi_appliance.errors import InvalidOption, Refused, UnknownName
from pi_appliance.jobs.reports import latest_report
from pi_appliance.posting.line_file import replace_line
from pi_appliance.posting.lines import line_fingerprint, parse_line
from pi_appliance.posting.model import Post, PostRecord, record_json
from pi_appliance.posting.preview import PostPreview
from pi_appliance.posting.store import PostDatabase
from pi_appliance.posting.tweet_job import TWEET_KIND, attach_report
from pi_appliance.posting.tweet_lines import hold_lines, line_file
from pi_appliance.scheduling.appliance import Appliance

_DROP_REASON = "you do not want it there"


def describe_refused(appliance: Appliance, job: str | None = None) -> list[Mapping[str, Any]]:
    """Return what networks did not take, newest first: one entry per line and slot, with its posts.

    Raises:
        UnknownName: There is no such job.
    """
    config = appliance.config
    if job is not None and job not in config.jobs:
        raise UnknownName("job", job, tuple(config.jobs))
    records = [
        each
        for name in config.jobs
        if job in (None, name)
        for each in PostDatabase(appliance.store).resendable_posts(name)
    ]
    slots: dict[tuple[str, str], list[PostRecord]] = {}
    for record in sorted(records, key=lambda each: each.id, reverse=True):
        slots.setdefault((record.job, record.slot), []).insert(0, record)
    numbers = {name: _line_numbers(appliance, name) for name, _ in slots}
    entries: list[Mapping[str, Any]] = []
    for (name, slot), of_slot in slots.items():
        number, text = numbers[name].get(of_slot[0].line, (None, of_slot[0].text))
        posts = [record_json(each) for each in of_slot]
        entries.append({"post": of_slot[0].id, "job": name, "slot": slot, "line": number, "text": text, "posts": posts})
    return entries


def resend(
    appliance: Appliance, number: int, text: str | None, version: str | None, *, now: datetime
) -> Sequence[PostRecord]:
    """Send the post `number` again to each network that did not take it.

    A new `text` also replaces the line in the file. The networks that have the old text keep it.

    Raises:
        UnknownName: There is no such post.
        Refused: The job is posting just now, the text does not fit, or the file was changed.
        InvalidOption: The text is not a valid line.
    """
    database = PostDatabase(appliance.store)
    records = _posts_of_slot(appliance, number)
    job = records[0].job
    if appliance.store.requests.pending(job):
        raise Refused(f"{job} is posting just now; wait until its run has ended")
    if text is None:
        with hold_lines(appliance.config):
            return database.resend_posts(number, now=now)
    if appliance.config.jobs[job].kind != TWEET_KIND:
        raise Refused(f"the posts of {job} are not lines of a file, so their text cannot be changed")
    if not text.strip():
        raise InvalidOption("'text' must not be empty; drop the post if it is not wanted")
    posts = _make_posts(appliance, records, text, now)
    fingerprint = line_fingerprint(parse_line(0, text.strip()))
    place = _line_numbers(appliance, job).get(records[0].line)
    if place is None:
        with hold_lines(appliance.config):
            return database.resend_posts(number, now=now, posts=posts, line=fingerprint)
    sent: list[PostRecord] = []

    def edit(content: str) -> str:
        changed = replace_line(content, place[0], text)
        # Recorded before the file is written: a run must not find the new line unused in between.
        sent.extend(database.resend_posts(number, now=now, posts=posts, line=fingerprint))
        return changed

    line_file(appliance.config, job).change(edit, version)
    return sent


def drop(appliance: Appliance, number: int) -> Sequence[PostRecord]:
    """Record that the owner does not want the post `number` where it is not. Raises UnknownName."""
    _posts_of_slot(appliance, number)
    return PostDatabase(appliance.store).drop_posts(number, _DROP_REASON)


def _posts_of_slot(appliance: Appliance, number: int) -> list[PostRecord]:
    records = [each for job in appliance.config.jobs for each in PostDatabase(appliance.store).resendable_posts(job)]
    first = next((each for each in records if each.id == number), None)
    if first is None:
        raise UnknownName("refused post", str(number), [str(each.id) for each in records])
    return [each for each in reversed(records) if (each.job, each.slot) == (first.job, first.slot)]


def _line_numbers(appliance: Appliance, job: str) -> Mapping[str, tuple[int, str]]:
    """Return number and text of each line of the file of `job`, by fingerprint."""
    if appliance.config.jobs[job].kind != TWEET_KIND:
        return {}
    try:
        content = line_file(appliance.config, job).read().lines()
    except Refused:  # the posts are still listed, with the text that was sent
        return {}
    return {line_fingerprint(line): (line.number, text) for line, text in reversed(content)}


def _make_posts(
    appliance: Appliance, records: Sequence[PostRecord], text: str, now: datetime
) -> Mapping[str, Sequence[Post]]:
    """Return the posts of `text` for the networks of `records`, with their old attachments."""
    job, networks = records[0].job, {each.network for each in records}
    options = appliance.config.jobs[job].options
    preview = PostPreview(appliance, job, now)
    limits = {name: each for name, each in preview.limits.items() if name in networks}
    if missing := sorted(networks - limits.keys()):
        raise Refused(f"{job} does not post to {', '.join(missing)} any more; drop this post")
    posts = preview.draft_text(text.strip(), limits)
    if options.attach is None:
        return posts
    report = latest_report(appliance.config, appliance.store, options.report_from, picture=False)
    store = PostDatabase(appliance.store).for_job(job, 0, lambda: now)
    attached: dict[str, Sequence[Post]] = {}
    for name, parts in posts.items():  # one network may have the animation, another the still picture
        old = store.load_post(min((each for each in records if each.network == name), key=lambda each: each.part))
        own = report and replace(report, picture=old.pictures[-1] if old.pictures else None)
        attached |= attach_report({name: parts}, options, own, limits)
    return attached
