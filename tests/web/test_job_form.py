"""The form of a job: made of the schema, with the schedule in words, without and with scripts."""

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, expect

from pi_appliance import plugins
from pi_appliance.config.loader import load_config
from pi_appliance.jobs import editor
from tests.jobs.test_job_editing import JOBS, REST, text_of
from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_browser import TOO_SMALL, WIDTHS, browser, phone

__all__ = ["browser"]


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    indented = "".join(f"  {line}\n" for line in JOBS.splitlines())
    path = configuration(tmp_path, jobs=indented)
    path.write_text(path.read_text() + REST)
    (tmp_path / "lines.txt").write_text("One.\nTwo.\n")
    with serving(path) as result:
        yield result


def fields(page: str) -> list[tuple[str, str]]:
    """Return the fields that a browser would send of the form #job in `page`."""
    form = page[page.index('<form id="job"') : page.index("</form>", page.index('<form id="job"'))]
    pairs = []
    for match in re.finditer(r"<input\b([^>]*)>|<(select|textarea)\b([^>]*)>\n?(.*?)</\2>", form, re.DOTALL):
        plain, tag, attributes, content = match.groups()
        attributes = attributes or plain
        values = dict(re.findall(r'(\w[\w-]*)="([^"]*)"', attributes))
        if values.get("type") in ("checkbox", "radio") and not re.search(r"\bchecked\b", attributes):
            continue
        value = values.get("value", "")
        if tag == "textarea":
            value = content
        elif tag == "select":
            chosen = re.search(r"<option(?: value=\"([^\"]*)\")? selected>([^<]*)", content)
            first = re.search(r'<option value="([^"]*)"', content)
            value = (chosen[1] or chosen[2]) if chosen else first[1] if first else ""
        if "name" in values:
            pairs.append((unescape(values["name"]), unescape(value)))
    return pairs


def send(appliance: ServedAppliance, path: str, pairs: list[tuple[str, str]], **changed: str):
    names = {name.replace("__", "."): value for name, value in changed.items()}
    remaining_pairs = [(name, value) for name, value in pairs if name not in names]
    return appliance.request(path, urlencode([*remaining_pairs, *names.items()]))


def test_the_form_sent_as_it_is_changes_nothing(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    for name in ("daily", "solve", "backup"):
        page = appliance.request(f"/jobs/{name}/edit")
        assert page.status == 200
        answer = send(appliance, f"/jobs/{name}/edit", fields(page.text))
        assert (answer.status, answer.headers["location"]) == (303, f"/jobs/{name}?saved")
        assert text_of(appliance) == before


def test_only_what_was_changed_in_the_form_is_written(appliance: ServedAppliance) -> None:
    before, page = text_of(appliance), appliance.request("/jobs/daily/edit").text
    assert "Every day at 18:00, one time in four" in page
    form_fields = fields(page)
    changed = send(appliance, "/jobs/daily/edit", form_fields, repeat="every", count="6", unit="h", one_in="2",
                   with__too_long="", **{"with.too-long": "thread", "conditions.online": "true"})  # fmt: skip
    assert changed.status == 303, changed.text
    after = text_of(appliance)
    for old, new in (
        ('"0 18 * * *"  # evening', '"every 6h"  # evening'),
        ("chance: 1/4", "chance: 1/2"),
        ("send-within: 2h}  # and nowhere else", "send-within: 2h, too-long: thread}  # and nowhere else"),
    ):
        assert old in before
        assert new in after
    assert "    conditions:\n      online: true\n" in after
    assert "Every 6 hours, one time in two" in appliance.request("/jobs/daily").text
    stale = send(appliance, "/jobs/daily/edit", form_fields, nice="5")
    assert stale.status == 422
    assert "changed by somebody else" in stale.text
    assert text_of(appliance) == after


def test_a_wrong_value_is_shown_at_its_field_and_nothing_is_lost(appliance: ServedAppliance) -> None:
    before, form_fields = text_of(appliance), fields(appliance.request("/jobs/daily/edit").text)
    answer = send(appliance, "/jobs/daily/edit", form_fields, nice="99", cron="66 * * * *", repeat="cron")
    assert answer.status == 422
    assert "Invalid minute" in answer.text
    answer = send(appliance, "/jobs/daily/edit", form_fields, **{"with.lines": "", "nice": "99", "with.network": "zzz"})
    assert re.search(r'id="error-with.lines">It is needed', answer.text)
    answer = send(appliance, "/jobs/daily/edit", form_fields, nice="99")
    assert re.search(r'id="error-nice">99 is not a valid niceness; write 0 to 19', answer.text)
    assert "<details ><summary>Other events" in answer.text, "nothing in it was filled in"
    answer = send(appliance, "/jobs/daily/edit", form_fields, **{"retry.delay": "soon"})
    assert re.search(r'id="error-retry.delay">Write a duration', answer.text)
    assert 'value="soon"' in answer.text
    assert text_of(appliance) == before
    unknown = send(appliance, "/jobs/daily/edit", form_fields, **{"with.network": "zzz"})
    assert "No network is called" in unescape(unknown.text)


def test_the_puzzle_is_chosen_from_those_that_there_are(appliance: ServedAppliance) -> None:
    page = appliance.request("/new-job?kind=puzzle").text
    (options,) = re.findall(r'<select id="with.puzzle".*?>(.*?)</select>', page, re.DOTALL)
    assert set(re.findall(r"<option >(.*?)</option>", options)) == set(plugins.names("puzzles"))
    assert "<option selected>peg-solitaire</option>" in appliance.request("/jobs/solve/edit").text


def test_every_wrong_value_is_named_at_the_top_with_the_way_to_its_field(appliance: ServedAppliance) -> None:
    sent = fields(appliance.request("/jobs/daily/edit").text)
    page = send(appliance, "/jobs/daily/edit", sent, **{"nice": "99", "retry.delay": "soon"}).text
    (top,) = re.findall(r'<div class="notice bad" role="alert">(.*?)</div>', page, re.DOTALL)
    links = re.findall(r'<a href="#(.*?)">(.*?)</a>', top)
    assert sorted(links) == [("error-nice", "Nice"), ("error-retry.delay", "Delay")]
    assert "99 is not a valid niceness" in top
    assert all(f'id="{where}"' in page for where, _ in links)


def test_a_job_of_each_kind_can_be_added_but_not_one_that_starts_a_program(appliance: ServedAppliance) -> None:
    kinds = appliance.request("/new-job").text
    assert "can be added on the machine only" in kinds
    assert "kind=command" not in kinds
    assert appliance.request("/new-job?kind=command").text == kinds
    for kind, options in (
        ("tweet", {"with.lines": "lines.txt", "with.network": "here\r\nthere"}),
        ("puzzle", {"with.puzzle": "sudoku", "with.generate": "2"}),
        ("music", {"with.action": "volume", "with.volume": "30"}),
    ):
        form_fields = fields(appliance.request(f"/new-job?kind={kind}").text)
        answer = send(appliance, "/new-job", form_fields, name=f"my {kind}", **options)
        assert (answer.status, answer.headers.get("location")) == (303, f"/jobs/my-{kind}?saved"), answer.text
    jobs = appliance.daemon.appliance.config.jobs
    assert jobs["my-tweet"].options.network == ("here", "there")
    assert (jobs["my-puzzle"].options.generate, jobs["my-music"].options.volume) == (2, 30)
    before = text_of(appliance)
    taken = send(appliance, "/new-job", form_fields, name="daily", **options)
    assert (taken.status, text_of(appliance)) == (422, before)
    assert "already a job called daily" in taken.text
    program = appliance.request("/new-job", urlencode({"kind": "command", "name": "x", "with.run": "[id]"}))
    assert program.status in (400, 422)
    assert text_of(appliance) == before


def test_a_program_is_neither_shown_nor_changed_in_the_form_or_the_text(appliance: ServedAppliance) -> None:
    before, page = text_of(appliance), appliance.request("/jobs/backup/edit").text
    assert "secret-" not in page
    assert "can be changed on the machine only" in page
    form_fields = fields(page)
    send(appliance, "/jobs/backup/edit", form_fields, **{"with.run": "[id]", "with": "x", "conditions.command": "[id]"})
    assert text_of(appliance) == before
    text = unescape(re.search(r'<textarea class="file"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)[1])
    version = dict(form_fields)["version"]

    def save(new: str):
        return appliance.request(
            "/jobs/backup/text", urlencode({"text": new.replace("\n", "\r\n"), "version": version})
        )

    placeholder = '"(hidden: change it on the machine)"'
    refused = save(text.replace(placeholder, "{run: [id]}", 1))
    assert (refused.status, text_of(appliance)) == (422, before)
    assert "on the machine only" in refused.text
    assert "{run: [id]}" in unescape(refused.text), "the typed text is not lost"
    assert save(text.replace('"@daily"', '"@weekly"  # on Sundays') + "\nnice: 5\n").status == 303
    assert text_of(appliance) == before.replace('"@daily"', '"@weekly"  # on Sundays').replace(
        "[secret-check]}\n", "[secret-check]}\n    nice: 5\n"
    )


@pytest.mark.parametrize(
    ("query", "words", "first"),
    [
        ("repeat=times&times=06:00&days=", "Every day at 06:00", "06:00"),
        ("repeat=times&times=06:00&times=18:30&days=mon&days=tue&days=wed&days=thu&days=fri",
         "On weekdays at 06:00 and 18:30", ""),
        ("repeat=times&times=9:00&days=sat&days=sun&one_in=3", "At weekends at 09:00, one time in three", "09:00"),
        ("repeat=every&count=90&unit=m", "Every 90 minutes", ""),
        ("repeat=every&count=2&unit=h&one_in=12", "Every 2 hours, one time in 12", ""),
        ("repeat=monthly&day=1&time=07:15", "At 07:15 on the first day of every month", "01"),
        ("repeat=cron&cron=" + quote("*/45 * * * *"), "write a step that divides 60", ""),
        ("repeat=boot", "Once each time the machine starts", ""),
        ("repeat=none", "Only when you start it", ""),
        ("repeat=times&times=&days=", "Write a time of day, such as 06:00", ""),
        ("repeat=monthly&day=31&time=x", "is not a valid time of day", ""),
        ("repeat=every&count=x&unit=m", "Write how many minutes or hours", ""),
        ("repeat=times&times=06:00&one_in=0", "Write how many times there are", ""),
        ("repeat=times&times=06:00&time-zone=Mars", "No time zone is called 'Mars'", ""),
    ],
)  # fmt: skip
def test_a_schedule_is_shown_in_words_while_one_types(
    appliance: ServedAppliance, query: str, words: str, first: str
) -> None:
    part = unescape(appliance.request(f"/parts/schedule?{query}").text)
    assert words in part
    times = re.findall(r"<li>(\w{3} \d\d \w{3} \d{4}, [\d:]+)", part)
    assert len(times) in (0, 5)
    assert bool(times) == bool(re.search(r"^(Every|On|At) ", words)) or "step" in words
    assert first in "".join(times[:1])


def test_check_shows_the_words_and_saves_nothing(appliance: ServedAppliance) -> None:
    before, form_fields = text_of(appliance), fields(appliance.request("/jobs/daily/edit").text)
    answer = send(appliance, "/jobs/daily/edit", form_fields, repeat="every", count="3", unit="h", check="yes")
    assert answer.status == 200
    assert "Every 3 hours, one time in four" in answer.text
    assert "Nothing was saved yet" in answer.text
    assert text_of(appliance) == before


@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed")
def test_the_form_on_a_phone(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance, path="/jobs/daily/edit") as page:
        expect(page.locator("#when")).to_contain_text("Every day at 18:00, one time in four")
        page.get_by_text("every …").tap()
        page.locator("#count").fill("20")
        expect(page.locator("#when")).to_contain_text("Every 20 minutes, one time in four")
        page.locator("#one_in").fill("")
        expect(page.locator("#when strong")).to_have_text("Every 20 minutes")
        page.get_by_text("More options", exact=True).tap()
        page.get_by_label("Retry max retries").fill("7")
        assert page.evaluate(WIDTHS) == [393, 393]
        assert page.evaluate(TOO_SMALL) == []
        page.get_by_role("button", name="Save", exact=True).tap()
        expect(page.get_by_text("Saved, and in use.")).to_be_visible()
    assert "retry: {max-retries: 7}" in text_of(appliance)
    assert "chance" not in text_of(appliance)
    with phone(browser, appliance, script=False, path="/jobs/daily/edit") as page:
        page.get_by_role("switch", name="daily").tap()
        expect(page.get_by_text("Off: it is paused")).to_be_visible()
        page.get_by_text("Duplicate").first.tap()
        page.get_by_role("button", name="Duplicate").tap()
        expect(page.get_by_role("heading", name="daily-2")).to_be_visible()
        page.get_by_text("Delete").first.tap()
        page.get_by_role("button", name="Delete it").tap()
        expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
        said = page.get_by_role("status").filter(has_text="daily-2 was deleted.")
        expect(said).to_contain_text("The file before it is under Settings, Earlier texts.")
        assert list(appliance.daemon.appliance.config.jobs) == ["daily", "solve", "backup"]
        said.get_by_role("button", name="Undo").tap()
        expect(page.locator("#job-daily-2")).to_be_visible()
    assert list(appliance.daemon.appliance.config.jobs) == ["daily", "solve", "backup", "daily-2"]


@pytest.mark.parametrize("name", ["daily", "no-such-job", "<b>"])
def test_a_job_that_was_not_deleted_is_not_reported_as_deleted(appliance: ServedAppliance, name: str) -> None:
    assert appliance.request("/do/jobs/daily/copy", "new_name=second", Accept="application/json").status == 200
    page = appliance.request(f"/jobs?{urlencode({'deleted': name})}")
    assert page.status == 200
    assert "was deleted" not in page.text


def test_the_text_of_a_job_is_the_same_in_any_style_of_the_file(tmp_path: Path) -> None:
    job = "{kind: tweet, with: {text: Hello, network: here}}"
    texts = {
        "jobs:\n  a:  # first\n    kind: tweet\n    # why\n    with: &w {text: Hello, network: here}\n\n  # next\n"
        "  b:\n    kind: tweet\n    with: *w\n": ("kind: tweet\n# why\nwith: &w {text: Hello, network: here}", None),
        f"jobs: {{a: {job}, b: {job}}}\n": (job, job),
        f"jobs:\n  a:\n    {job}\n# end of jobs\nradio: {{}}\njobs-like: 1\n": (job, None),
        f"jobs:\r\n  a: {job}  # one\r\n  b: {job}\r\nradio: {{}}\r\n": (job, job),
    }
    for text, blocks in texts.items():
        for name, block in zip("ab", blocks, strict=True):
            assert block is None or editor.block_text(f"state-dir: s\n{REST}{text}", name).strip() == block


@pytest.mark.slow
def test_the_form_of_one_of_ten_thousand_jobs_takes_less_than_reading_the_file(tmp_path: Path) -> None:
    jobs = "".join(
        f"  run-{number}:\n    kind: command\n    schedule: 0 6 * * *\n    with: {{run: [echo, '{number}']}}\n"
        for number in range(10_000)
    )
    path = configuration(tmp_path, jobs=jobs)
    with serving(path) as appliance:
        started = time.process_time()
        page = appliance.request("/jobs/run-9000/edit").text
        form = time.process_time() - started
        assert "schedule: 0 6 * * *" in page
    started = time.process_time()
    load_config(path)
    assert form < time.process_time() - started
