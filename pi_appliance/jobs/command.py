"""Job kind 'command': run any program and keep what it prints."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pi_appliance.errors import Refused
from pi_appliance.model.run import Result
from pi_appliance.ports import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    run: Annotated[list[str], "the program and its arguments, as a list; no shell reads them"]
    directory: Annotated[Path | None, "where it runs; without it, the folder of this file"] = None
    environment: Annotated[Mapping[str, str], "variables added to its environment"] = field(default_factory=dict)

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong between the keys: where, what, and what would be right."""
        if not self.run or not self.run[0]:
            return [(("run",), "no program is named", 'write run: ["/usr/bin/backup", "--all"]')]
        return []


def run(options: Options, context: Context) -> Result:
    """Run the program; its output goes to the run's log. Raises Refused if it is missing or does not end with 0."""
    program = options.run[0]
    context.progress(None, f"running {program}")
    try:
        status = subprocess.run(
            options.run, cwd=options.directory, env={**os.environ, **options.environment}, check=False
        ).returncode
    except ValueError as error:  # a variable that no environment can hold
        raise Refused(f"{program} cannot be run: {error}; check `environment`") from None
    except OSError as error:
        raise Refused(
            f"{error.filename or program} cannot be run: {error.strerror}; check `run` and `directory`"
        ) from None
    if status:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        raise Refused(f"{program} {how}")
    return Result(f"{program} ended well", facts={"status": 0})
