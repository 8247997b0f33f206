"""The process of one attempt of a run.

    python -m pi_appliance.jobs.worker RUNNER CONFIG STATE JOB RUN DUE GIVEN LIMITS ENDS TELLER

DUE is a slot, an ask, empty for none, or "left"; GIVEN are keys, as JSON, in place of those under `with:`; ENDS is
when its time is over, by the steady clock. Everything a job needs is imported here and goes away with it. It tells its
runner by lines of JSON on the descriptor TELLER: how far it is, and at last its result or its error. What it prints is
caught by the runner. It works in the folder of the configuration.
"""

import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import loader, secrets
from pi_appliance.config.loader import load
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import ApplianceError, UnknownName
from pi_appliance.jobs.context import ProgressChannel, RunContext
from pi_appliance.storage.model import RESUME
from pi_appliance.storage.recovery import open_history
from pi_appliance.system import limits, supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What this process was started for."""

    config: Path
    state: Path
    job: str
    run: int
    due: str | None
    given: Mapping[str, Any]
    ends: float  # by the steady clock


def main(argv: list[str]) -> None:
    """Run the job and tell how it went."""
    runner, config, state, job, run, due, given, plan, ends, teller_number = argv
    asked = _Asked(
        config=Path(config),
        state=Path(state),
        job=job,
        run=int(run),
        due=due or None,
        given=json.loads(given),
        ends=float(ends),
    )
    supervisor.supervise(int(runner))
    with os.fdopen(int(teller_number), "w", encoding="utf-8") as file:
        teller = ProgressChannel(file)
        try:
            limits.enter(plan)
            _run(asked, teller)
        except ApplianceError as error:
            teller.tell(error=type(error).__name__, message=str(error), after=getattr(error, "after", None))
        except MemoryError:
            teller.tell(error="memory")
        except Exception as error:  # noqa: BLE001 - the edge: whatever a job does ends in the history
            message = f"{type(error).__name__}: {error}"
            teller.tell(error="fault", message=message, traceback=traceback.format_exc())


def _run(asked: _Asked, teller: ProgressChannel) -> None:
    # Where the claims of this run are, whatever the file says by now.
    config = replace(load(asked.config), state=asked.state)
    environment = dict(os.environ)
    for name in secrets.secret_variables(environment, secret_names(config)):
        del os.environ[name]
    with open_history(config.state) as store:
        if asked.job not in config.jobs:  # the file was changed since the run began
            raise UnknownName("job", asked.job, tuple(config.jobs))
        entry = config.jobs[asked.job]
        os.chdir(asked.config.parent)
        context = RunContext(
            config,
            store,
            teller,
            asked.job,
            asked.run,
            None if asked.due == RESUME else asked.due,
            environment,
            secret=(config.state / "secret.key").read_bytes(),
            only_left=asked.due == RESUME,
            ends=asked.ends,
        )
        result = plugins.load("jobs", entry.kind).run(loader.options(config, entry, asked.given), context)
        teller.tell(summary=result.summary, facts=dict(result.facts))


if __name__ == "__main__":
    main(sys.argv[1:])
