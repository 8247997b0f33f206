"""pi-appliance music watch: what plays, as it changes, until Ctrl-C."""

import sys
from pathlib import Path

from pi_appliance.cli._music_group import button
from pi_appliance.cli._options import json_option
from pi_appliance.config.load import load


@button("watch", "Show what plays, live.")
@json_option
def watch(config: Path, as_json: bool) -> None:
    """Show what plays and what changed, until Ctrl-C: one line that keeps up, or in a pipe a line for each change.

    With --json, a line of JSON for each change: `changed`, in MPD's words, and `state`; or `lost`, and why. A player
    that is lost is waited for; when it is back, `connection` is what changed.
    """
    from pi_appliance.cli import _music_live  # noqa: PLC0415 - it loads asyncio, as big as all the rest

    settings = load(config)
    live = sys.stdout.isatty() and not as_json
    shown = _music_live.Screen() if live else _music_live.Json() if as_json else _music_live.Lines()
    try:
        _music_live.run(settings, shown)
    except KeyboardInterrupt:
        pass
    finally:
        shown.end()
