"""The pages of the settings: forms for the common keys, and the text of the file."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance import plugins
from pi_appliance.config import editing, hidden_programs
from pi_appliance.config.config_file import Change, EarlierText
from pi_appliance.config.options import Config, PluginConfig, Radio, Retention, Updates, VolumePolicy
from pi_appliance.config.schema import option_rows
from pi_appliance.config.yaml_tree import YamlPath, parse_yaml
from pi_appliance.errors import ApplianceError, ConfigError
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.settings import api
from pi_appliance.system.files import display_path
from pi_appliance.web.pages import Pages, day_and_time
from pi_appliance.web.params import form

_MAX_FIELDS = 100
_MAX_FORM = 2_000_000  # bytes: in a form, a character may take several
_RESTORED = {api.LAST_GOOD: "The last good text"}
_QUIET: YamlPath = ("volume", "quiet")
_QUIET_KEYS = ("from", "to", "maximum")


@dataclass(frozen=True, slots=True)
class SettingField:
    """One key in a form. `choices` has its possible values, if they are few."""

    path: YamlPath
    label: str
    data_class: type
    choices: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of the field in the form."""
        return _name(self.path)

    @property
    def default(self) -> str:
        """The default value, written as in YAML."""
        return next((default or "" for key, default, _ in self._rows() if default != "-"), "")

    @property
    def empty(self) -> str:
        """The choice of a key that is not in the file."""
        return "none" if self.path == _KIND else f"default ({'yes' if self.default == 'true' else 'no'})"

    @property
    def help(self) -> str:
        """The description of the key."""
        if self.path == _KIND:
            return "MPD on this or another machine, or a Volumio; none: no music"
        return next((text for _, _, text in self._rows()), "")

    def _rows(self) -> list[tuple[str, str | None, str]]:
        return [row for row in option_rows(self.data_class) if row[0] == self.path[-1]]


_KIND: YamlPath = ("player", "kind")
_ADDRESS: YamlPath = ("player", "with", "address")
_PLAYER_LABELS = {
    "address": "Address",
    "fallback-mpd": "Silent player while none answers",
    "music": "Music folder of the silent player",
    "partition": "Partition",
    "listen": "Port for its messages",
    "poll": "Time between readings",
}
_YES_NO = ("true", "false")
SECTIONS: Mapping[str, Sequence[SettingField]] = {
    "General": (
        SettingField(("name",), "Name", Config),
        SettingField(("time-zone",), "Time zone", Config),
        SettingField(("resume",), "Play on after a power cut", Config, _YES_NO),
        SettingField(("discovery",), "Announce the page at home", Config, _YES_NO),
    ),
    "Volume": (
        SettingField(("volume", "maximum"), "Highest volume", VolumePolicy),
        SettingField(("volume", "start"), "Highest volume after a start", VolumePolicy),
    ),
    "Web radio": (
        SettingField(("radio", "auto-reconnect"), "Reconnect", Radio, _YES_NO),
        SettingField(("radio", "silence-timeout"), "Silence before it reconnects", Radio),
        SettingField(("radio", "retry-every"), "Time between attempts", Radio),
    ),
    "History": (
        SettingField(("retention", "max-age"), "Runs are kept for", Retention),
        SettingField(("retention", "max-runs"), "Runs kept of each job", Retention),
    ),
    "Updates": (
        SettingField(("updates", "check"), "Look for new versions", Updates, _YES_NO),
        SettingField(("updates", "automatic"), "Install them at", Updates),
    ),
}


class SettingsPages:
    """The endpoints of the settings."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route("/settings", self.show),
            Route("/settings", self.save, methods=["POST"]),
            Route("/settings/file", self.show_file),
            Route("/settings/file", self.save_file, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """Show the forms, and the change that was just saved."""
        file = self._services.config_file
        try:
            text, version = await asyncio.to_thread(file.read)
            data = parse_yaml(text, display_path(file.path)).data
        except ConfigError as error:
            return await self._form_page({}, "", problems=_problems(error), is_broken=True)
        return await self._form_page(
            _shown_values(data),
            version,
            done=request.query_params,
        )

    async def save(self, request: Request) -> Response:
        """Change the keys whose fields were changed; all others keep their text."""
        fields = await form(request, max_fields=_MAX_FIELDS)
        version = fields.pop("version", "")
        try:
            change = await asyncio.to_thread(self._write, fields, version)
            await api.apply_change(self._services, change)
        except ApplianceError as error:
            return await self._form_page(fields, version, problems=_problems(error))
        return RedirectResponse("/settings?saved", 303)

    def _write(self, fields: Mapping[str, str], version: str) -> Change:
        removed = tuple(name.removesuffix("remove") for name in fields if name.endswith(".remove"))
        fields = {name: "" if removed and name.startswith(removed) else text for name, text in fields.items()}

        def change(data: object) -> object:
            shown = _shown_values(data)
            data, has_new_player = _with_player(data, fields)
            for path in _paths(data):
                if has_new_player and path[0] == "player":
                    continue
                name = _name(path)
                if name not in fields or fields[name].strip() == shown.get(name, ""):
                    continue
                text = fields[name].strip()
                if text:
                    data = editing.set_value(data, path, api.parse_value(data, path, text))
                elif shown.get(name):
                    data = editing.remove_value(data, path)
            return _without_empty_quiet_hours(data)

        return self._services.config_file.edit(change, expected=version or None)

    async def _form_page(
        self,
        values: Mapping[str, str],
        version: str,
        *,
        done: Mapping[str, str] = MappingProxyType({}),
        problems: Sequence[str] = (),
        is_broken: bool = False,
    ) -> Response:
        history = await asyncio.to_thread(self._services.config_file.earlier_texts)
        labels = self._labels(history)
        restored_texts = {name: f"The text in use until {label}" for name, label in labels.items()} | _RESTORED
        tested = done.get("tested", "")
        return self._pages.page(
            "settings/settings.html",
            422 if problems and not is_broken else 200,
            is_broken=is_broken,
            sections=_sections(values.get(_name(_KIND), "")),
            values=values,
            file_version=version,
            quiet_rows=_quiet_rows(values),
            quiet_keys=_QUIET_KEYS,
            saved="saved" in done,
            restored=restored_texts.get(done.get("restored", "")),
            answers="answers" in done,
            tested=tested if tested in self._services.appliance.config.notifiers else "",
            problems=problems,
            history=history,
            labels=labels,
            notifiers=self._services.appliance.config.notifiers,
        )

    def _labels(self, history: Sequence[EarlierText]) -> Mapping[str, str]:
        """Return when each text was replaced, with the second if another has the same minute."""
        now, zone = self._services.now(), self._services.appliance.config.time_zone
        minutes = {each.name: day_and_time(each.replaced_at, now, zone) for each in history}
        counts = Counter(minutes.values())
        seconds = {each.name: f":{each.replaced_at:%S}" for each in history if counts[minutes[each.name]] > 1}
        return {name: minute + seconds.get(name, "") for name, minute in minutes.items()}

    async def show_file(self, request: Request) -> Response:
        """Show the text of the file."""
        file = self._services.config_file
        try:
            text, version = await asyncio.to_thread(file.read)
        except ConfigError as error:  # the file is not even text
            return await self._form_page({}, "", problems=_problems(error), is_broken=True)
        shown = hidden_programs.shown_text(text)
        problems = await asyncio.to_thread(api.find_text_problems, file.path, shown)
        return await self._file_page(shown, version, saved="saved" in request.query_params, problems=problems)

    async def save_file(self, request: Request) -> Response:
        """Replace the text of the file, or show what would change."""
        fields = await form(request, _MAX_FORM)
        text, version = fields.get("text", "").replace("\r\n", "\n"), fields.get("version", "")
        only_check = "check" in fields
        values = {"text": text, "version": version or None, "only_check": only_check}
        try:
            result = await api.replace_config(self._services, values)
        except ApplianceError as error:
            problems = await asyncio.to_thread(api.find_text_problems, self._services.appliance.config.path, text)
            problems = problems or [{"line": 0, "column": 0, "message": str(error), "hint": ""}]
            return await self._file_page(text, version, 422, problems=problems)
        if only_check:
            return await self._file_page(text, version, diff=result["diff"] or "Nothing would change.")
        return RedirectResponse("/settings/file?saved", 303)

    async def _file_page(
        self,
        text: str,
        version: str,
        status: int = 200,
        *,
        saved: bool = False,
        diff: str = "",
        problems: Sequence[Mapping[str, object]] = (),
    ) -> Response:
        history = await asyncio.to_thread(self._services.config_file.earlier_texts)
        return self._pages.page(
            "settings/file.html",
            status,
            is_broken=bool(problems) and status == 200,  # the file itself is wrong, not the text that was typed
            history=history,
            labels=self._labels(history),
            lines=["", *text.split("\n")],
            text=text,
            file_version=version,
            saved=saved,
            diff=diff,
            problems=problems,
        )


def _problems(error: ApplianceError) -> list[str]:
    if isinstance(error, ConfigError) and error.problems:
        return [str(each) for each in error.problems]
    return [str(error)]


def _name(path: YamlPath) -> str:
    """Return the name of the field of `path` in the form."""
    return ".".join(map(str, path))


def _sections(kind: str) -> Mapping[str, Sequence[SettingField]]:
    """Return the sections, with the options of a player of `kind`."""
    kinds = plugins.names("players")
    player = [SettingField(_KIND, "Kind", PluginConfig, kinds)]
    if kind in kinds:
        options = plugins.load("players", kind).Options
        defaults = {key: default for key, default, _ in option_rows(options)}
        player += [
            SettingField(
                (*_ADDRESS[:-1], key),
                _PLAYER_LABELS.get(key, key),
                options,
                _YES_NO if default in _YES_NO else (),
            )
            for key, default in defaults.items()
        ]
    return {"General": SECTIONS["General"], "Player": player, **SECTIONS}


def _with_player(data: object, fields: Mapping[str, str]) -> tuple[object, bool]:
    """Return `data` with the kind of player in `fields`, and whether the kind has changed.

    Another kind has other options, so only an address that was typed for it is used.
    """
    kind, address = (fields.get(_name(path), "").strip() for path in (_KIND, _ADDRESS))
    if _name(_KIND) not in fields or kind == _as_text(_at(data, _KIND)):
        return data, False
    if not kind:
        return editing.remove_value(data, _KIND[:1]), True
    player: dict[str, object] = {"kind": kind}
    if address and address != _as_text(_at(data, _ADDRESS)):
        player["with"] = {"address": address}
    return editing.set_value(data, _KIND[:1], player), True


def _paths(data: object) -> list[YamlPath]:
    sections = _sections(_as_text(_at(data, _KIND)))
    fields = [field.path for section in sections.values() for field in section]
    quiet = _at(data, _QUIET)
    rows = len(quiet) if isinstance(quiet, list) else 0
    return [*fields, *((*_QUIET, row, key) for row in range(rows + 1) for key in _QUIET_KEYS)]


def _shown_values(data: object) -> dict[str, str]:
    """Return the text that each field shows; '' for a key that is not in the file."""
    return {_name(path): _as_text(_at(data, path)) for path in _paths(data)}


def _quiet_rows(values: Mapping[str, str]) -> list[int]:
    return [number for number in range(_MAX_FIELDS) if f"volume.quiet.{number}.from" in values]


def _at(data: Any, path: YamlPath) -> Any:
    for step in path:
        known = data if isinstance(data, Mapping) else range(len(data)) if isinstance(data, list) else ()
        if step not in known:
            return None
        data = data[step]
    return data


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _without_empty_quiet_hours(data: object) -> object:
    quiet = _at(data, _QUIET)
    if not isinstance(quiet, list):
        return data
    kept = [hours for hours in quiet if hours != {} and hours != {"days": _at(hours, ("days",))}]
    return data if len(kept) == len(quiet) else editing.set_value(data, _QUIET, kept)
