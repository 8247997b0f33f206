"""The process of one attempt of a run.

    python -m pi_appliance.jobs.worker RUNNER CONFIG STATE JOB RUN SLOT OPTIONS LIMITS DEADLINE
    CHANNEL

`SLOT` is a slot, a run request, empty for neither, or `RESUME`. `OPTIONS` is JSON that overrides
keys under `with:`. `DEADLINE` is in seconds of the monotonic clock. The process sends progress, and
then the result or the error, as lines of JSON to the descriptor `CHANNEL`. The runner captures the
output of the job. The working directory is the folder of the configuration.
"""

import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import loader, secrets
from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import ApplianceError, UnknownName
from pi_appliance.jobs.context import JobContext, ProgressChannel, RunParameters
from pi_appliance.storage.backup import open_history
from pi_appliance.storage.model import RESUME
from pi_appliance.system import limits, process


def main(argv: list[str]) -> None:
    """Run the job and send its result."""
    runner, config_path, state, job, run_id, slot, options, plan, deadline, channel_number = argv
    process.supervise(int(runner))
    with os.fdopen(int(channel_number), "w", encoding="utf-8") as file:
        channel = ProgressChannel(file)
        try:
            limits.enter_limits(plan)
            # The state folder of the runner has the claims of this run, even if the configuration
            # changed since.
            config = replace(load_config(Path(config_path)), state_dir=Path(state))
            parameters = RunParameters(
                job=job,
                run_id=int(run_id),
                scheduled_for=None if slot in ("", RESUME) else slot,
                resume_only=slot == RESUME,
                deadline=float(deadline),
                environment=dict(os.environ),
                secret=(config.state_dir / "secret.key").read_bytes(),
            )
            _run(config, parameters, json.loads(options), channel)
        except ApplianceError as error:
            channel.send(error=type(error).__name__, message=str(error), after=getattr(error, "retry_after", None))
        except MemoryError:
            channel.send(error="memory")
        except Exception as error:  # noqa: BLE001 - any error of a job is recorded in the history
            message = f"{type(error).__name__}: {error}"
            channel.send(error="fault", message=message, traceback=traceback.format_exc())


def _run(config: Config, parameters: RunParameters, options: Mapping[str, Any], channel: ProgressChannel) -> None:
    for name in secrets.secret_variables(parameters.environment, secret_names(config)):
        del os.environ[name]
    with open_history(config.state_dir) as store:
        if parameters.job not in config.jobs:  # the file was changed after the run began
            raise UnknownName("job", parameters.job, tuple(config.jobs))
        entry = config.jobs[parameters.job]
        os.chdir(config.path.parent)
        kind = plugins.load("jobs", entry.kind)
        context = getattr(kind, "Context", JobContext)(config, store, channel, parameters)
        result = kind.run(loader.override_options(config, entry, options), context)
        channel.send(summary=result.summary, details=dict(result.details))


if __name__ == "__main__":
    main(sys.argv[1:])
