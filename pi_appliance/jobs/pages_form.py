"""The pages of the form of a job: its schedule in words, and the fields of its kind."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.config import units
from pi_appliance.config.options import Job
from pi_appliance.config.yaml_tree import YamlPath
from pi_appliance.errors import ApplianceError, ConfigError, InvalidOption
from pi_appliance.jobs import editor, job_fields
from pi_appliance.jobs.editor import InvalidJob
from pi_appliance.jobs.job_fields import COMMAND, OPTIONS, Control, JobField
from pi_appliance.scheduling import explanation, schedule, slot_times
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.chance import Chance, is_selected, parse_chance
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.scheduling.schedule import Cron
from pi_appliance.scheduling.schedule_form import LABELS, WEEK, FieldError, Repeat, ScheduleForm
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form_fields

_MAX_FORM = 200_000  # bytes of a form with a job
_MAX_FIELDS = 300
_NEXT_SLOTS = 5
_TRIGGERS = "triggers"


@dataclass(frozen=True, slots=True)
class SchedulePreview:
    """A schedule in words, with its next slots and notes.

    The second part of a slot is whether it is used; None if that depends on chance.
    """

    words: str = ""
    slots: Sequence[tuple[datetime, bool | None]] = ()
    notes: Sequence[str] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForm:
    """The fields of one job, as stored or as typed. `job` is None for a new one."""

    kind: str
    job: Job | None
    name: str
    version: str
    fields: Sequence[JobField]
    values: Mapping[str, str]
    schedule: ScheduleForm
    preview: SchedulePreview
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_program(self) -> bool:
        """Whether the job starts a program: then its options are changed on the machine only."""
        return self.kind == COMMAND

    @property
    def can_copy(self) -> bool:
        """Whether a copy would start no program."""
        conditions = self.job.conditions if self.job else None
        return self.job is not None and not self.is_program and not (conditions and conditions.command)

    def group(self, *, options: bool, common: bool) -> list[JobField]:
        """Return the fields of the kind (`options`) or of every job.

        `common` selects those that are shown at once; the others are below "More options".
        """
        return [
            each
            for each in self.fields
            if (each.path[0] == OPTIONS) is options and each.path[0] != _TRIGGERS and self._is_shown(each) is common
        ]

    @property
    def triggers(self) -> list[JobField]:
        """The fields of the triggers: the events that start the job besides its schedule."""
        return [each for each in self.fields if each.path[0] == _TRIGGERS]

    @property
    def has_triggers(self) -> bool:
        """Whether a field of a trigger is filled in, or wrong."""
        return any(
            self.values[each.name] not in ("", each.default) or each.name in self.errors for each in self.triggers
        )

    def _is_shown(self, each: JobField) -> bool:
        may_be_shown = each.path[0] == OPTIONS or each.path == ("depends-on",)
        is_set = may_be_shown and bool(self.values.get(each.name))
        return each.common or is_set or each.name in self.errors


class JobFormPages:
    """The endpoints of the form of a job."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    @property
    def _appliance(self) -> Appliance:
        return self._services.appliance

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route("/new-job", self.new),
            Route("/new-job", self.add, methods=["POST"]),
            Route("/jobs/{name}/edit", self.edit),
            Route("/jobs/{name}/edit", self.save, methods=["POST"]),
            Route("/jobs/{name}/text", self.save_text, methods=["POST"]),
            Route("/parts/schedule", self.schedule_part),
        ]

    async def new(self, request: Request) -> Response:
        """Show the kinds of jobs, or the empty form of one."""
        kind = request.query_params.get("kind", "")
        if kind not in job_fields.kinds():
            return self._pages.page("jobs/new.html", kinds=job_fields.kinds())
        return await self._form_page(self._form(kind, None, {}, ScheduleForm(repeat=Repeat.TIMES), {}))

    async def edit(self, request: Request) -> Response:
        """Show the form of a job."""
        name = str(request.path_params["name"])
        job, entry = self._appliance.job(name), editor.entry_of(self._appliance.config, name)
        form = ScheduleForm.of_values(entry.get("schedule"), entry.get("chance"))
        return await self._form_page(self._form(job.kind, job, entry, form, {}))

    async def add(self, request: Request) -> Response:
        """Add a job, or show the form again with its errors."""
        sent = _Sent(await form_fields(request, _MAX_FORM, _MAX_FIELDS))
        kind, name = sent.values.get("kind", ""), sent.values.get("name", "").strip()
        if kind not in job_fields.kinds():
            raise InvalidOption(f"no job of kind {kind!r} can be added here")

        def write(changes: Mapping[YamlPath, object]) -> str:
            return editor.add_job(self._services.config_file, name, kind, changes)

        return await self._write(self._form(kind, None, {}, sent.schedule, sent.values), sent, {}, write)

    async def save(self, request: Request) -> Response:
        """Change the keys whose fields differ; the others keep their text."""
        name = str(request.path_params["name"])
        sent = _Sent(await form_fields(request, _MAX_FORM, _MAX_FIELDS))
        job, entry = self._appliance.job(name), editor.entry_of(self._appliance.config, name)

        def write(changes: Mapping[YamlPath, object]) -> str:
            version = sent.values.get("version") or None
            editor.edit_job(self._services.config_file, name, changes, version)
            return name

        return await self._write(self._form(job.kind, job, entry, sent.schedule, sent.values), sent, entry, write)

    async def _write(self, form: JobForm, sent: "_Sent", entry: Mapping[str, Any], write: "_Write") -> Response:
        errors: dict[str, str] = {}
        changes: dict[YamlPath, object] = {}
        try:
            changes |= sent.schedule.changes(entry.get("schedule"), entry.get("chance"))
        except FieldError as error:
            errors[error.key] = str(error)
        try:
            changes.update(_changed_fields(form.fields, sent, entry))
        except InvalidOption as error:
            errors[""] = str(error)
        errors |= {each.name: "it is needed" for each in form.fields if each.required and not form.values[each.name]}
        is_check = "check" in sent.values
        name = form.name
        if not errors and not is_check:
            try:
                name = await asyncio.to_thread(write, changes)
                if form.job is None:
                    editor.forget(self._appliance, name)
                await self._services.daemon.apply_configuration()
            except InvalidJob as error:
                errors = _errors_by_field(error, form.fields)
            except ApplianceError as error:
                errors[""] = "\n".join(problem_texts(error))
        if errors or is_check:
            return await self._form_page(_with_errors(form, errors), checked=is_check and not errors)
        return RedirectResponse(f"/jobs/{name}?saved", 303)

    async def save_text(self, request: Request) -> Response:
        """Replace the YAML of a job."""
        name = str(request.path_params["name"])
        job, entry = self._appliance.job(name), editor.entry_of(self._appliance.config, name)
        sent = dict(await form_fields(request, _MAX_FORM, _MAX_FIELDS))
        text, version = sent.get("text", ""), sent.get("version") or None
        try:
            file = self._services.config_file
            await asyncio.to_thread(editor.replace_block, file, name, text, version)
            await self._services.daemon.apply_configuration()
        except ApplianceError as error:
            form = ScheduleForm.of_values(entry.get("schedule"), entry.get("chance"))
            problems = {"text": "\n".join(problem_texts(error))}
            return await self._form_page(_with_errors(self._form(job.kind, job, entry, form, {}), problems), text=text)
        return RedirectResponse(f"/jobs/{name}?saved", 303)

    async def schedule_part(self, request: Request) -> Response:
        """Return the schedule in words and its next slots, for the fields in the query."""
        sent = _Sent(request.query_params.multi_items())
        job = self._appliance.config.jobs.get(request.query_params.get("job", ""))
        preview = self._preview(sent.schedule, job, sent.values.get("time-zone", ""))
        return self._pages.page("jobs/_schedule.html", preview=preview)

    def _form(
        self, kind: str, job: Job | None, entry: Mapping[str, Any], form: ScheduleForm, sent: Mapping[str, str]
    ) -> JobForm:
        fields = [each.for_value(entry) for each in job_fields.fields_of(kind, self._appliance.config)]
        stored = {each.name: each.text_of(entry) for each in fields}
        values = {name: sent.get(name, text).replace("\r\n", "\n") for name, text in stored.items()}
        return JobForm(
            kind=kind,
            job=job,
            name=job.name if job else sent.get("name", ""),
            version=sent.get("version") or (editor.version_of(job) if job else ""),
            fields=fields,
            values=values,
            schedule=form,
            preview=self._preview(form, job, values["time-zone"]),
        )

    def _preview(self, form: ScheduleForm, job: Job | None, zone_name: str) -> SchedulePreview:
        config, now = self._appliance.config, self._services.now()
        try:
            value, share = form.schedule_value(), form.chance_value()
            parsed = None if value is None else schedule.parse_schedule(value)
            chance = None if share is None else parse_chance(share)
            zone = ZoneInfo(zone_name) if zone_name else config.zone_of(job) if job else config.time_zone
        except (ValueError, KeyError, OSError) as error:
            is_zone = isinstance(error, (KeyError, OSError))
            return SchedulePreview(problem=f"no time zone is called {zone_name!r}" if is_zone else str(error))
        slots = slot_times.next_slots(parsed, now, zone, _NEXT_SLOTS) if parsed else []
        expressions = parsed.expressions if isinstance(parsed, Cron) and form.repeat == "cron" else ()
        return SchedulePreview(
            words=explanation.describe_when(parsed, chance if parsed else None)
            + (", or at the events below" if parsed is None and job is not None and job.triggers.any else ""),
            slots=[(slot.astimezone(zone), self._is_used(slot, job, chance)) for slot in slots],
            notes=[f"{wrong}; {right}" for each in expressions for wrong, right in explanation.find_lints(each)],
        )

    def _is_used(self, slot: datetime, job: Job | None, chance: Chance | None) -> bool | None:
        if job is None:
            return None if chance else True
        due = slot_times.format_slot(slot)
        return is_selected(chance, secret=self._appliance.secret, job=job.name, due=due)

    async def _form_page(self, form: JobForm, *, text: str | None = None, checked: bool = False) -> Response:
        config = self._appliance.config
        name = form.job.name if form.job else ""
        paused = self._appliance.store.slots.pauses().get(name)
        if text is None and form.job is not None:  # read only if needed: it parses the whole file, which may be long
            text = await asyncio.to_thread(editor.block_text, config.text, name)
        return self._pages.page(
            "jobs/form.html",
            422 if form.errors else 200,
            form=form,
            repeats=LABELS,
            week=WEEK,
            kind_text=job_fields.kinds().get(form.kind, ""),
            paused=paused is not None and paused.is_active(self._services.now()),
            text=text,
            copy_name=editor.new_name(None, f"{name}-2", config.jobs) if form.can_copy else "",
            checked=checked,
        )


_Write = Callable[[Mapping[YamlPath, object]], str]


class _Sent:
    """The fields that a browser sent: the last value of each name, and the schedule in them."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        pairs = list(pairs)
        self.values = dict(pairs)
        self.schedule = ScheduleForm.typed(
            self.values,
            times=[value for name, value in pairs if name == "times"],
            days=[value for name, value in pairs if name == "days"],
        )


def _changed_fields(fields: Sequence[JobField], sent: _Sent, entry: Mapping[str, Any]) -> dict[YamlPath, object]:
    changes: dict[YamlPath, object] = {}
    for each in fields:
        text = sent.values.get(each.name)
        shown = each.text_of(entry) or (each.default if each.control is Control.SWITCH else "")
        if text is not None and text.replace("\r\n", "\n").strip() != shown.strip():
            changes[each.path] = each.parse(text, job_fields.value_at(entry, each.path))
    return changes


def _errors_by_field(error: InvalidJob, fields: Sequence[JobField]) -> dict[str, str]:
    """Return the messages by the names of their fields. Those without a field are at ""."""
    names = {"schedule", "chance", *(each.name for each in fields)}
    errors: dict[str, str] = {}
    for key, message in error.by_key.items():
        steps = key.split(".")
        paths = (".".join(steps[:length]) for length in range(len(steps), 0, -1))
        name = next((path for path in paths if path in names), "")
        text = message if name else f"{key}: {message}"
        errors[name] = f"{errors[name]}\n{text}" if name in errors else text
    return errors


def _with_errors(form: JobForm, errors: Mapping[str, str]) -> JobForm:
    return replace(form, errors=errors)


def problem_texts(error: ApplianceError) -> list[str]:
    """Return the problems of `error` without their places in the file, one text for each."""
    if isinstance(error, ConfigError) and error.problems:
        return [units.join_clauses(each.message, each.hint) for each in error.problems]
    return [str(error)]
