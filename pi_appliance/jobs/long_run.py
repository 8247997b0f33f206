"""The runner of a long run: it becomes a small process, and is executed again at the end.

python -m pi_appliance.jobs.long_run RUN JOB CONFIG ERROR

`RUN` is the descriptor of a file in memory with the active run. `ERROR` is the number of the error
because of which the log could not be written, or 0. `JOB` and `CONFIG` are only there for a person
who lists the processes.
"""

import contextlib
import os
import pickle
import signal
import sys
from pathlib import Path
from random import SystemRandom

from pi_appliance.jobs import runner
from pi_appliance.jobs.text import exit_status, one_run_with_log
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.history import open_history
from pi_appliance.storage.model import Outcome, run_fields
from pi_appliance.storage.run_log import MAX_LOG_BYTES
from pi_appliance.system.long_wait import STOP_SIGNALS
from pi_appliance.system.process import small_module

_EARLY = 5.0  # seconds before the deadline at which the runner is executed again; a slow Pi needs three


def become_small(run: runner.LongRun, log: Path) -> None:
    """Execute the small process in place of this one, or return if that is not possible.

    Nothing else of this process may be needed again: its threads end, and its memory is lost.
    """
    assert run.wait is not None
    child, memory = run.wait.child, os.memfd_create("run")
    open_files = (memory, child.output, child.lines, *run.open_files)
    try:
        with open(memory, "wb", closefd=False) as file:
            pickle.dump(run, file)
        for number in open_files:
            os.set_inheritable(number, True)
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        os.execv(  # noqa: S606 - a list, not a shell command
            sys.executable,
            [
                *(*small_module("long_wait"), str(child.pid), str(child.output), str(child.lines)),
                *(str(log), str(MAX_LOG_BYTES), str(child.deadline - _EARLY)),
                *(sys.executable, "-m", "pi_appliance.jobs.long_run", str(memory)),
                *(run.spec.job.name, str(run.config.path)),
            ],
        )
    except OSError:  # not enough memory: this process continues to wait
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        for number in open_files:
            os.set_inheritable(number, False)
        os.close(memory)


def main(argv: list[str]) -> int:
    """Continue the run, and return the exit status of the command that began it."""
    memory, _, _, error = argv
    with os.fdopen(int(memory), "rb") as file:
        file.seek(0)
        run: runner.LongRun = pickle.load(file)  # noqa: S301 - written by this process
    assert run.wait is not None
    for number in (run.wait.child.output, run.wait.child.lines, *run.open_files):
        os.set_inheritable(number, False)
    with Appliance(run.config, open_history(run.config.state_dir), run.secret) as appliance:
        ended = runner.resume(appliance, run, int(error), random=SystemRandom(), become_small=become_small)
        fields = run_fields(ended)
        status = exit_status(fields)
        if status:
            with contextlib.suppress(OSError):
                print(one_run_with_log(fields), file=sys.stderr)  # noqa: T201 - cron mails it
        if ended.outcome is not Outcome.STOPPED:
            runner.deliver_notifications(appliance)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
