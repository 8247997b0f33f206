"""Check of the player: does it answer who asks as the page and the commands do."""

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping

from pi_appliance.engine.checks.patient import UNKNOWN, Patient
from pi_appliance.engine.hub import open_player
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.model.config import Config
from pi_appliance.model.finding import Finding, fail, not_here, ok, told, warn
from pi_appliance.model.music import PlayerState
from pi_appliance.system import secrets

_PATIENCE = 3.0  # seconds


def player(patient: Patient) -> Iterator[Finding]:
    """Ask the player what it does."""
    name, config = "player", patient.config
    if config is None or config.player is None:
        yield not_here(name, "the configuration names none" if config and not patient.trouble else UNKNOWN)
        return
    try:
        known = secrets.load(config.path, patient.environment)
    except ApplianceError:
        yield not_here(name, "the secrets cannot be read, see there")
        return
    kind, place = config.player.kind, getattr(config.player.with_, "address", "its address")
    mend = f"sudo systemctl start mpd, or correct `address` under player: ({place})"
    if shutil.which("mpd", path=patient.environment.get("PATH", os.defpath)) is None:
        mend = mend.replace("systemctl start", "apt install")
    absent = warn if getattr(config.player.with_, "stand_in", False) else fail  # a silent one is good enough for some
    try:
        state, stand_in = asyncio.run(asyncio.wait_for(_asked(config, known), _PATIENCE))
    except TimeoutError:
        yield fail(name, f"{kind} at {place} does not answer within {_PATIENCE:.0f} seconds", mend)
    except Refused as error:
        yield fail(name, *told(error, "write MPD_PASSWORD=… into secrets.env"))
    except ApplianceError as error:
        yield absent(name, told(error, "")[0], mend)
    else:
        doing = f"{state.play}, {state.queue_length} in the queue"
        if stand_in:
            yield warn(name, f"{kind} at {place} is not reached, so the silent stand-in plays ({doing})", mend)
        elif state.error:
            yield warn(
                name, f"{kind} at {place}: {doing}; it says: {state.error}", "look at its log: journalctl -u mpd -n 30"
            )
        else:
            yield ok(name, f"{kind} at {place}: {doing}")


async def _asked(config: Config, known: Mapping[str, str]) -> tuple[PlayerState, bool]:
    heard = list[str]()
    found = await open_player(config, known, tell=heard.append)
    try:
        return await found.state(), bool(heard)
    finally:
        await found.close()
