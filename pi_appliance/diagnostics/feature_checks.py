"""Checks of the configuration, the secrets and the features that use them."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping

from pi_appliance.config import loader, secret_file, secrets, units
from pi_appliance.config.model import Config
from pi_appliance.diagnostics.context import UNKNOWN, DiagnosticContext
from pi_appliance.diagnostics.result import CheckResult, error_result, fail, ok, skipped, warn
from pi_appliance.errors import ApplianceError, ConfigError, Refused
from pi_appliance.music.hub import open_player
from pi_appliance.music.model import PlayerState
from pi_appliance.music.stations.service import load_stations
from pi_appliance.posting.model import PENDING_STATES, PostState
from pi_appliance.posting.store import PostDatabase
from pi_appliance.puzzles.kernels import kernel_states
from pi_appliance.system import files

_CHECK = "pi-appliance config check"


def check_configuration(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report problems of the configuration, warnings for the next runs, and unreadable stations."""
    name = "configuration"
    if context.path is None:
        yield fail(name, str(context.error), "pi-appliance config init ~/appliance")
        return
    if isinstance(context.error, ConfigError):
        first, *more = map(str, context.error.problems)
        count = f" (and {len(more)} more)" if more else ""
        yield fail(name, first + count, f"{_CHECK}{context.option}")
        return
    assert context.config is not None
    config, fix = context.config, f"{_CHECK}{context.option}"
    stumbles = list(_stumbles(config))
    try:
        stations = f", {_count(load_stations(config.stations), 'station')}" if config.stations else ""
    except ConfigError as error:
        stations = ""
        yield fail(name, str(error.problems[0]), fix)
    for each in stumbles:
        yield warn(name, each, fix)
    if not stumbles:
        counts = f"{_count(config.jobs, 'job')}, {_count(config.networks, 'network')}{stations}"
        yield ok(name, f"{loader.display_path(config.path)}: {counts}")


def _stumbles(config: Config) -> Iterator[str]:
    for job in config.jobs.values():
        for _, wrong, right in job.options.warnings() if hasattr(job.options, "warnings") else ():
            yield f"{job.name}: {wrong}; {right}"


def _count(things: object, word: str) -> str:
    number = len(things)  # type: ignore[arg-type]
    return f"{number} {word}{'' if number == 1 else 's'}"


def check_secrets(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether the secrets can be read by who needs them, and by nobody else. No value is shown."""
    name, fix = "secrets", f"{_CHECK}{context.option}"
    if context.path is None:
        yield skipped(name, "without a configuration there are none")
        return
    file = context.path.parent / secrets.NAME
    try:
        found = secret_file.load(context.path, context.environment, _names(context), context.systemd)
        place = secret_file.of_service(context.path, context.systemd)
    except ApplianceError as error:
        if context.is_owner:
            yield fail(name, *error_result(error, fix))
        else:
            yield warn(name, f"{file} is not for {files.user_name(os.geteuid())} to read", context.owner_command)
        return
    about = f"{len(found)} known: {', '.join(sorted(found))}" if found else "none are given"
    owner = file.stat().st_uid if file.exists() and place is None else None
    if owner is not None and context.owner not in (None, owner):
        user, quoted = files.user_name(context.owner or 0), shlex.quote(str(file))
        why = f"{file} belongs to {files.user_name(owner)}, so that the appliance, which is {user}'s, cannot read it"
        yield fail(name, why, f"sudo chown {user} {quoted}")
    else:
        yield ok(name, about)


def check_networks(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the missing secrets and keys of each network."""
    if context.config is None or not context.config.networks:
        yield skipped("networks", UNKNOWN if context.error else "the configuration names none")
        return
    try:
        known: Mapping[str, str] = secret_file.load(
            context.config.path, context.environment, _names(context), context.systemd
        )
    except ApplianceError:
        yield skipped("networks", "the secrets cannot be read, see there")
        return
    used = {name for job in context.config.jobs.values() for name in getattr(job.options, "network", None) or ()}
    for name, part in context.config.networks.items():
        check = f"network {name}"
        if lack := secrets.missing(part, known):
            yield (fail if name in used else warn)(check, lack, _login(context, name))
        else:
            wants = secrets.of_network(part)
            yield ok(check, f"{part.kind}: {'every key is there' if wants else 'needs no keys'}")


def _names(context: DiagnosticContext) -> frozenset[str]:
    return secrets.secret_names(context.config) if context.config else frozenset()


def _login(context: DiagnosticContext, name: str) -> str:
    """Return the command that gets the keys of the network NAME: as root, where the folder of the secrets is root's."""
    assert context.path is not None
    folder, owner = context.path.parent.stat().st_uid, context.owner
    return f"{'sudo ' if folder == 0 and owner else ''}pi-appliance networks login {name}{context.option}"


_PATIENCE = 3.0  # seconds


def check_player(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Query the state of the player."""
    name, config = "player", context.config
    if config is None or config.player is None:
        yield skipped(name, "the configuration names none" if config and not context.error else UNKNOWN)
        return
    try:
        known = secrets.load(config.path, context.environment)
    except ApplianceError:
        yield skipped(name, "the secrets cannot be read, see there")
        return
    kind, place = config.player.kind, getattr(config.player.options, "address", "its address")
    fix = f"sudo systemctl start mpd, or correct `address` under player: ({place})"
    if shutil.which("mpd", path=context.environment.get("PATH", os.defpath)) is None:
        fix = fix.replace("systemctl start", "apt install")
    absent = (
        warn if getattr(config.player.options, "fallback_mpd", False) else fail
    )  # a silent one is good enough for some
    try:
        state, stand_in = asyncio.run(asyncio.wait_for(_asked(config, known), _PATIENCE))
    except TimeoutError:
        yield fail(name, f"{kind} at {place} does not answer within {_PATIENCE:.0f} seconds", fix)
    except Refused as error:
        yield fail(name, *error_result(error, "write MPD_PASSWORD=… into secrets.env"))
    except ApplianceError as error:
        yield absent(name, error_result(error, "")[0], fix)
    else:
        doing = f"{state.playback}, {state.queue_length} in the queue"
        if stand_in:
            yield warn(name, f"{kind} at {place} is not reached, so the built-in silent player is used ({doing})", fix)
        elif state.error:
            yield warn(
                name, f"{kind} at {place}: {doing}; it says: {state.error}", "look at its log: journalctl -u mpd -n 30"
            )
        else:
            yield ok(name, f"{kind} at {place}: {doing}")


async def _asked(config: Config, known: Mapping[str, str]) -> tuple[PlayerState, bool]:
    heard = list[str]()
    found = await open_player(config, known, notify=heard.append)
    try:
        return await found.state(), bool(heard)
    finally:
        await found.close()


_NAME = "posts"


def check_posts(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report uncertain and unsent posts, and the costs of this month."""
    if context.config is None or not context.config.networks:
        yield skipped(_NAME, UNKNOWN if context.error else "the configuration names no network")
        return
    if context.is_state_unreachable or not context.is_owner:
        yield skipped(_NAME, "only the owner of the state folder can read the history")
        return
    try:
        with context.history() as store:
            counts = PostDatabase(store).count_by_state() if store else {}
            spent = PostDatabase(store).month_spend(context.clock.now()) if store else {}
    except ApplianceError:
        yield skipped(_NAME, "the history cannot be read, see there")
        return
    if uncertain := counts.get(PostState.UNCERTAIN, 0):
        yield fail(
            _NAME, f"{_count_posts(uncertain)} perhaps there; only its account shows it", context.command("tweets list")
        )
    if left := sum(counts.get(state, 0) for state in PENDING_STATES):
        yield warn(_NAME, f"{_count_posts(left)} still to be sent or looked up", context.command("tweets list"))
    if not uncertain and not left:
        cost = "".join(f", {network} has cost {units.format_money(amount)}" for network, amount in spent.items())
        yield ok(_NAME, f"none waits, none is uncertain{cost}{' this month' if cost else ''}")


def _count_posts(number: int) -> str:
    return "1 post is" if number == 1 else f"{number} posts are"


def check_kernels(_: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether the kernels run compiled, as plain Python, or so because they are newer than what was compiled."""
    yield of_states(dict(kernel_states()))


def of_states(states: Mapping[str, str]) -> CheckResult:
    """Return the result for the kernels and their `states`."""
    name = "puzzles"
    plain = ", ".join(kernel for kernel, state in states.items() if state == "plain")
    stale = ", ".join(kernel for kernel, state in states.items() if state == "stale")
    if not states:
        return skipped(name, "no kernels")
    if stale:
        why = f"kernels stale: {stale} changed since compiled, and so runs as plain Python, slower"
        return warn(name, why, "start deploy/run.sh or deploy/install.sh again; both compile what has changed")
    if "compiled" not in states.values():
        return ok(name, "kernels plain: slower, with the same answers; a C compiler at install would make them fast")
    return ok(name, "kernels compiled" + (f", but plain, slower: {plain}" if plain else ""))
