"""The optional parts of a job kind, and the functions that use them for one run.

Every kind has `Options` and `run(options, context) -> Result`, or `program` and `result` as in
`jobs/command_job.py`. Each of the other parts may be missing:

| name | meaning |
| --- | --- |
| `Context` | the class of the context that `run` gets, in place of `jobs.context.JobContext` |
| `TIMEOUT` | the time limit of a job that names none |
| `URGENT` | a run does not wait for other runs to end |
| `RESUMABLE` | a later run can finish the work of an interrupted one |
| `SHOWS_OUTPUT` | the summary of a failed run ends with the last line of its output |
| `preempts(job)` | whether a run asks the active music runs to make room |
| `has_pending_work(store, job, now=)` | whether a run that only resumes is due |
| `prune(store, max_age, now=)` | deletes old data of the kind |
| `run_options(options)` | the keys under `with:` that may differ for one run |
| `missing_for_run(options)` | why a run with these options would fail, or '' |
| `plan(options, config, job, progress)` | a plan of the run: `rows()`, `to_json()`, `refused` |
| `own_page(options)` | the page of the job (`{job}`: its name), '' for the list of jobs |

A run of a kind without `run_options` takes no options. `command` has none, so a run never starts
another program than the configured one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import loader
from pi_appliance.config.options import Config, Job
from pi_appliance.errors import InvalidOption, Refused, suggest
from pi_appliance.jobs.editor import entry_of
from pi_appliance.jobs.job_fields import OPTIONS, JobField, fields_of
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.run_requests import RunRequest

_MAX_REQUESTS = 20  # per job: a stuck button must not start hundreds of processes


def _ask_kind(job: Job, question: str) -> Any:
    function = getattr(plugins.load("jobs", job.kind), question, None)
    return function(job.options) if function else ""


def run_options(job: Job) -> Sequence[str]:
    """Return the keys under `with:` that may differ for one run of `job`."""
    return tuple(_ask_kind(job, "run_options"))


def missing_for_run(job: Job) -> str:
    """Return why a run of `job` would fail, '' if nothing is missing."""
    return str(_ask_kind(job, "missing_for_run"))


def own_page(job: Job) -> str:
    """Return the address of the page that manages `job`; '' for the list of jobs."""
    return str(_ask_kind(job, "own_page")).format(job=job.name)


def run_fields(config: Config, job: Job) -> list[JobField]:
    """Return the fields of the options that may differ for one run of `job`."""
    known = run_options(job)
    fields = [each for each in fields_of(job.kind, config) if each.path[0] == OPTIONS] if known else []
    return [replace(each, required=False) for key in known for each in fields if each.path[-1] == key]


def configured_texts(config: Config, job: Job) -> dict[str, str]:
    """Return the options of `job` in the file, by the names of the fields of `run_fields`."""
    fields = run_fields(config, job)
    entry = entry_of(config, job.name) if fields else {}
    return {each.name: each.text_of(entry) for each in fields}


def parse_run_options(config: Config, job: Job, texts: Sequence[str]) -> dict[str, object]:
    """Return the options that `texts` such as "text=hello" set. Raises InvalidOption."""
    fields = {each.path[-1]: each for each in run_fields(config, job)}
    if texts and not fields:
        raise InvalidOption(f"{job.name} takes no options for one run: its kind, {job.kind}, has none")
    options: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if key not in fields or not equals:
            hint = suggest(key, tuple(fields)) if equals else "write KEY=VALUE"
            raise InvalidOption(f"{key!r} is not an option for one run of {job.name}; {hint}")
        options[key] = fields[key].parse(value)
    return {key: value for key, value in options.items() if value is not None}


def request_run(
    appliance: Appliance, job: Job, due: datetime, options: Mapping[str, object], *, now: datetime
) -> RunRequest:
    """Request a run of `job` at `due`. `options` replace those of the job for this run.

    Raises:
        InvalidOption: The job does not take them.
        Refused: Too many runs are requested already.
    """
    require_possible(appliance.config, job, options)
    if len(appliance.store.requests.pending(job.name)) >= _MAX_REQUESTS:
        raise Refused(
            f"{_MAX_REQUESTS} runs of {job.name} are requested already; wait until they have started, or cancel some"
        )
    return appliance.store.requests.add(job.name, due, options, now=now)


def plan_run(config: Config, job: Job, options: Mapping[str, object], progress: Callable[..., object]) -> Any:
    """Return the plan of a run of `job` with `options`.

    Raises InvalidOption if its kind has no plan.
    """
    make_plan = getattr(plugins.load("jobs", job.kind), "plan", None)
    if make_plan is None:
        raise InvalidOption(f"{job.name} cannot be planned: its kind, {job.kind}, has no plan")
    return make_plan(loader.override_options(config, job, options), config, job, progress)


def require_possible(config: Config, job: Job, options: Mapping[str, object]) -> None:
    """Raise InvalidOption if a run of `job` with `options` could only fail."""
    merged = loader.override_options(config, job, options)
    module = plugins.load("jobs", job.kind)
    if hasattr(module, "missing_for_run") and (missing := module.missing_for_run(merged)):
        raise InvalidOption(f"{job.name} cannot run: {missing}")
