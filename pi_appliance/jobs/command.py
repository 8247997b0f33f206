"""Job kind 'command': run any program and keep what it prints."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pi_appliance.core.endings import how
from pi_appliance.errors import Refused
from pi_appliance.jobs import _programs
from pi_appliance.model.run import Result
from pi_appliance.ports import Context

QUOTES = True  # the last line it prints completes what is said of the run


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    run: Annotated[
        list[str], "the program and its arguments, as a list; no shell reads them; ./mine.sh lies beside this file"
    ]
    directory: Annotated[Path | None, "where it runs; without it, the folder of this file"] = None
    environment: Annotated[Mapping[str, str], "variables added to its environment"] = field(default_factory=dict)
    input: Annotated[str | None, "what it reads from its standard input; without it, nothing"] = None
    ok_statuses: Annotated[list[int], "the exit statuses that mean success; without it, 0 alone"] = field(
        default_factory=lambda: [0]
    )

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong between the keys: where, what, and what would be right."""
        problems: list[tuple[tuple[str | int, ...], str, str]] = []
        if not self.run or not self.run[0]:
            problems.append((("run",), "no program is named", 'write run: ["/usr/bin/backup", "--all"]'))
        problems += [
            (("environment", name), f"{name!r} cannot be a variable", "write NAME: value")
            for name in self.environment
            if not name or "=" in name
        ]
        problems += [
            (("ok-statuses", number), f"{status} is no exit status", "write 0 to 255")
            for number, status in enumerate(self.ok_statuses)
            if not 0 <= status <= 255
        ]
        return problems


def run(options: Options, context: Context) -> Result:
    """Run the program; what it prints goes to the run's log.

    Raises Refused if it cannot be run, or ends with a status that does not mean success.
    """
    name, *arguments = options.run
    program = _programs.find(name, here=Path.cwd())
    context.progress(None, f"running {name}")
    try:
        status = subprocess.run(
            [program, *arguments],
            cwd=options.directory,
            env={**os.environ, **options.environment},
            input=(options.input or "").encode(),
            check=False,
        ).returncode
    except OSError as error:
        raise Refused(_programs.why_not(name, program, options.directory, error)) from None
    if status not in options.ok_statuses:
        raise Refused(f"{name} {how(status)}")
    return Result(f"{name} ended well", facts={"status": status})
