"""The fields of an alarm that can be edited, and their change in the configuration file.

An alarm is a job of kind music. Only fields that differ are written, so a schedule in another form,
such as a cron expression, stays as its owner wrote it. `missing_sources` checks the file.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, TypedDict

from pi_appliance.config import editing, loader, units
from pi_appliance.config.config_file import ConfigFile
from pi_appliance.config.options import Config, Job
from pi_appliance.config.units import EVERY_DAY, Days
from pi_appliance.config.yaml_tree import Tree
from pi_appliance.errors import ApplianceError, InvalidOption, Problem, UnknownName, suggest
from pi_appliance.jobs.editor import copy_job, edit_file, new_name, remove_job, require_version
from pi_appliance.music.alarms.music_job import Action, Options, is_alarm
from pi_appliance.music.model import SavedPlaylist, Station, describe_text, parse_source
from pi_appliance.music.player_hub import opened_player
from pi_appliance.operations import Values
from pi_appliance.scheduling.explanation import describe_days, describe_times
from pi_appliance.scheduling.schedule import group_days, parse_days, weekly_times

RESERVED_NAMES = ("new", "off", "on", "once", "skip", "snooze", "stop", "unskip")
"""Parts of paths of the page and the API."""
_DEFAULTS = Options(action=Action.ALARM)
_PLAYER_TIMEOUT = 3.0  # seconds to wait for the player's list of playlists


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSettings:
    """The fields of an alarm.

    `times` is empty if the schedule has another form than times of day on weekdays. `schedule`
    describes any schedule in words. With a `duration` of zero, the music goes on without end.
    """

    times: tuple[str, ...]
    days: Days
    schedule: str
    play: tuple[str, ...]
    volume: int
    start_volume: int
    fade: timedelta
    duration: timedelta
    snooze: timedelta
    one_shot: bool

    @property
    def sources(self) -> list[str]:
        """The names of the sources."""
        return [describe_text(each) for each in self.play]

    @property
    def day_names(self) -> str:
        """The days in words."""
        return describe_days(self.days)


def settings_of(job: Job) -> AlarmSettings:
    """Return the fields of the alarm `job`."""
    options: Options = job.options
    times, days = weekly_times(job.schedule) or ((), EVERY_DAY)
    return AlarmSettings(
        times=times,
        days=days,
        schedule=describe_times(job.schedule),
        play=tuple(options.play or ()),
        volume=options.final_volume,
        start_volume=options.start_volume,
        fade=options.fade_time,
        duration=options.duration or timedelta(0),
        snooze=options.snooze,
        one_shot=options.one_shot,
    )


class AlarmSettingsJson(TypedDict):
    """The fields of an alarm that can be edited."""

    schedule: Annotated[str, "the schedule in words"]
    times: Annotated[list[str], "empty if the schedule has another form"]
    days: list[str]
    play: Annotated[list[str], "the sources, in the order in which they are tried"]
    sources: Annotated[list[str], "their names"]
    volume: int
    start_volume: Annotated[int, "the volume at which the fade starts"]
    duration: Annotated[str, "how long it plays; 0s: until somebody stops it"]
    fade: str
    snooze: str
    one_shot: Annotated[bool, "the job pauses after its next scheduled time"]


def settings_values(settings: AlarmSettings) -> AlarmSettingsJson:
    """Return `settings` as a JSON object."""
    return {
        "schedule": settings.schedule,
        "times": list(settings.times),
        "days": group_days(settings.days) if settings.times else [],
        "play": list(settings.play),
        "sources": settings.sources,
        "volume": settings.volume,
        "start_volume": settings.start_volume,
        "duration": units.format_duration(settings.duration),
        "fade": units.format_duration(settings.fade),
        "snooze": units.format_duration(settings.snooze),
        "one_shot": settings.one_shot,
    }


def add_alarm(file: ConfigFile, values: Values) -> str:
    """Add an alarm, and return its name. Raises as `ConfigFile.edit` does."""
    before = AlarmSettings(
        times=(),
        days=EVERY_DAY,
        schedule="",
        play=(),
        volume=_DEFAULTS.final_volume,
        start_volume=_DEFAULTS.start_volume,
        duration=timedelta(0),
        fade=_DEFAULTS.fade_time,
        snooze=_DEFAULTS.snooze,
        one_shot=False,
    )
    name = ""

    def add(data: Any, config: Config) -> object:
        nonlocal name
        name = new_name(
            values["name"], f"alarm-{values['time'].zfill(5).replace(':', '-')}", config.jobs, RESERVED_NAMES
        )
        new = {"kind": "music", "schedule": None, "with": {"action": "alarm"}}
        entry = _changed_entry(config, Job(name=name, kind="music"), new, before, values)
        return editing.set_value(data, ("jobs", name), entry)

    edit_file(file, add)
    return name


def edit_alarm(file: ConfigFile, name: str, values: Values) -> str:
    """Change the fields of alarm `name` that are not None and differ, and return its name.

    Raises:
        UnknownName: There is no such alarm.
        Refused: The alarm has changed since `version`.
    """
    after = name

    def edit(data: Any, config: Config) -> object:
        nonlocal after
        job = _get_alarm(config, name)
        require_version(job, values["version"])
        if values["name"] not in (None, name):
            after = new_name(values["name"], name, config.jobs, RESERVED_NAMES)
        entry = _changed_entry(config, job, data["jobs"][name], settings_of(job), values)
        return editing.set_value(data, ("jobs", name), entry)

    edit_file(file, edit)
    if after != name:
        file.rename_key(("jobs", name), after)
    return after


def copy_alarm(file: ConfigFile, name: str, new_name: str | None) -> str:
    """Add a copy of alarm `name`, and return its name."""
    _get_alarm(loader.load_config(file.path), name)
    return copy_job(file, name, new_name, RESERVED_NAMES)


def remove_alarm(file: ConfigFile, name: str) -> None:
    """Remove alarm `name` from the file."""
    _get_alarm(loader.load_config(file.path), name)
    remove_job(file, name)


def _get_alarm(config: Config, name: str) -> Job:
    alarms = {job.name: job for job in config.jobs.values() if is_alarm(job)}
    if name not in alarms:
        raise UnknownName("alarm", name, tuple(alarms))
    return alarms[name]


def _changed_entry(config: Config, job: Job, entry: Mapping[str, Any], before: AlarmSettings, values: Values) -> object:
    """Return `entry`, the data of `job`, with the fields of `values` that differ from `before`."""
    if not (before.play if values["play"] is None else values["play"]):
        raise InvalidOption("an alarm needs something to play; choose a station, a playlist or an album")
    options = _changed_options(entry["with"], before, values)
    wanted = {key: value for key, value in {**entry["with"], **options}.items() if value is not None}
    loader.override_options(config, job, wanted)  # raises InvalidOption if an option is wrong
    result: object = entry
    for key, value in options.items():
        result = (
            editing.remove_value(result, ("with", key))
            if value is None
            else editing.set_value(result, ("with", key), value)
        )
    times = (values["time"].zfill(5),) if values["time"] else before.times
    days = before.days if values["days"] is None else _parse_days(values["days"])
    if (times, days) == (before.times, before.days) or (not times and days == EVERY_DAY):
        return result
    if not times:
        raise InvalidOption(f"the schedule of {job.name} has no times of day; write a time as well to replace it")
    schedule = _changed_schedule(entry.get("schedule"), before, times, days)
    return editing.set_value(result, ("schedule",), schedule)


def _changed_options(written: Mapping[str, Any], before: AlarmSettings, values: Values) -> dict[str, object]:
    """Return the changed options; None for one that is removed."""
    options: dict[str, object] = {}
    if values["play"] is not None and tuple(dict.fromkeys(values["play"])) != before.play:
        is_single = isinstance(written.get("play"), str) and len(values["play"]) == 1
        options["play"] = values["play"][0] if is_single else list(dict.fromkeys(values["play"]))
    if values["volume"] is not None and values["volume"] != before.volume:
        options["volume"] = values["volume"]
        if 0 < values["volume"] < before.start_volume:
            options["start-volume"] = values["volume"]
    if values["start_volume"] not in (None, before.start_volume):
        options["start-volume"] = values["start_volume"]
    duration = None if values["duration"] is None else units.parse_duration(values["duration"])
    if duration not in (None, before.duration):
        options["duration"] = units.format_duration(duration) if duration else None
    for key, length in (("fade", before.fade), ("snooze", before.snooze)):
        if values[key] is not None and units.parse_duration(values[key]) != length:
            options[key] = units.format_duration(units.parse_duration(values[key]))
    if values["one_shot"] is not None and values["one_shot"] != before.one_shot:
        options["one-shot"] = values["one_shot"]
    return options


def _parse_days(names: list[str]) -> Days:
    if not names:
        return EVERY_DAY
    try:
        return parse_days(names)
    except ValueError as error:
        raise InvalidOption(str(error)) from None


def _changed_schedule(written: object, before: AlarmSettings, times: tuple[str, ...], days: Days) -> object:
    """Return `written`, the data of a schedule, with other `times` and `days`."""
    can_stay = isinstance(written, Mapping) and "times" in written
    schedule: dict[str, object] = {**written} if isinstance(written, Mapping) and can_stay else {}
    if not can_stay or times != before.times:
        schedule["times"] = list(times)
    if not can_stay or days != before.days:
        schedule.pop("days", None)
        if days != EVERY_DAY:
            schedule["days"] = group_days(days)
    return schedule


def missing_sources(
    tree: Tree, config: Config, secrets: Mapping[str, str], stations: Sequence[Station]
) -> Iterator[Problem]:
    """Yield a warning for each source that an alarm would skip because it does not exist.

    The player is asked for its playlists if an alarm names one. If it does not answer, playlists
    get no warning.
    """
    wanted = [
        (("jobs", name, "with", "play"), text)
        for name, job in config.jobs.items()
        if isinstance(job.options, Options) and job.options.action is Action.ALARM
        for text in job.options.play or ()
    ]
    sources = list[tuple[tuple[str, ...], SavedPlaylist]]()
    for where, text in wanted:
        try:
            source = parse_source(text, stations)
        except UnknownName as error:
            yield tree.problem(where, f"no station is called {error.name!r}", suggest(error.name, error.known))
        else:
            sources += [(where, source)] if isinstance(source, SavedPlaylist) else []
    saved = _saved_playlists(config, secrets) if sources else None
    if saved is None:
        return
    for place, playlist in sources:
        if playlist.playlist not in saved:
            wrong = f"the player has no playlist {playlist.playlist!r}"
            yield tree.problem(place, wrong, suggest(playlist.playlist, saved))


def _saved_playlists(config: Config, secrets: Mapping[str, str]) -> Sequence[str] | None:
    """Return the names of the player's playlists, or None if it does not answer."""

    async def ask() -> Sequence[str]:
        async with opened_player(config, secrets) as player:
            return [each.name for each in await player.list_playlists()]

    try:
        return asyncio.run(asyncio.wait_for(ask(), _PLAYER_TIMEOUT))
    except (ApplianceError, TimeoutError):
        return None
