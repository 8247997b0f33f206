"""The context of jobs that search for solutions."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from pi_appliance.jobs.context import JobContext
from pi_appliance.puzzles.runtime import cache, local
from pi_appliance.puzzles.runtime.interface import SearchRuntime


class PuzzleContext(JobContext):
    """The context of a run that may search for a long time."""

    def search_runtime(
        self, progress: Callable[[float | None, str], None] | None = None
    ) -> AbstractContextManager[SearchRuntime]:
        """Create the runtime of a long search for a `with` block. A request to end the run interrupts the search.

        Args:
            progress: receives the progress of the search instead of `self.progress`.

        """
        folder = self.config.state / local.FOLDER
        deadline = self.parameters.deadline
        cache.FileCache(folder).sweep()
        return local.open_runtime(
            folder,
            progress or self.progress,
            seconds=None if deadline is None else deadline - time.monotonic(),
            cpu_percent=self.config.jobs[self.job].cpu,
            memory_advice=f"let job {self.job} have `memory: {{}}`",
        )
