"""The process of one attempt: python -m pi_appliance.engine.child RUNNER CONFIG STATE JOB RUN DUE GIVEN LIMITS TELLER.

DUE is a slot, an ask, empty for none, or "left"; GIVEN are keys, as JSON, in place of those under `with:`. Everything a
job needs is imported here and goes away with it. It tells its runner by lines of JSON on the descriptor TELLER: how far
it is, and at last its result or its error. What it prints is caught by the runner. It works in the folder of the
configuration.
"""

import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pi_appliance import registry
from pi_appliance.config import arguments
from pi_appliance.config.load import load
from pi_appliance.config.secret_names import secret_names
from pi_appliance.engine.context import RunContext, Teller
from pi_appliance.engine.mending import open_history
from pi_appliance.errors import ApplianceError, UnknownName
from pi_appliance.model.run import LEFT
from pi_appliance.system import guard, hiding, limits


def main(argv: list[str]) -> None:
    """Run the job and tell how it went."""
    runner, config, state, job, run, due, given, plan, teller_number = argv
    guard.stand(int(runner))
    with os.fdopen(int(teller_number), "w", encoding="utf-8") as file:
        teller = Teller(file)
        try:
            limits.enter(plan)
            _run(Path(config), Path(state), job, int(run), due or None, json.loads(given), teller)
        except ApplianceError as error:
            teller.tell(error=type(error).__name__, message=str(error), after=getattr(error, "after", None))
        except MemoryError:
            teller.tell(error="memory")
        except Exception as error:  # noqa: BLE001 - the edge: whatever a job does ends in the history
            message = f"{type(error).__name__}: {error}"
            teller.tell(error="fault", message=message, traceback=traceback.format_exc())


def _run(
    path: Path, state: Path, job: str, run: int, due: str | None, given: Mapping[str, Any], teller: Teller
) -> None:
    config = replace(load(path), state=state)  # where the claims of this run are, whatever the file says by now
    environment = dict(os.environ)
    for name in hiding.ours(environment, secret_names(config)):
        del os.environ[name]
    with open_history(config.state) as store:
        if job not in config.jobs:  # the file was changed since the run began
            raise UnknownName("job", job, tuple(config.jobs))
        entry = config.jobs[job]
        os.chdir(path.parent)
        secret = (config.state / "secret.key").read_bytes()
        slot = None if due == LEFT else due
        context = RunContext(config, store, teller, job, run, slot, environment, secret, only_left=due == LEFT)
        result = registry.load("jobs", entry.kind).run(arguments.options(config, entry, given), context)
        teller.tell(summary=result.summary, facts=dict(result.facts))


if __name__ == "__main__":
    main(sys.argv[1:])
