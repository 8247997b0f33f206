"""Context of jobs that post: their posts, the networks and limits, and reports to attach."""

import hashlib
from functools import cached_property

from pi_appliance.config import secrets
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import UnknownName
from pi_appliance.jobs.context import JobContext
from pi_appliance.jobs.reports import latest_report
from pi_appliance.posting.connect import connect, post_limits
from pi_appliance.posting.interface import Network, PostLimits, PostStore
from pi_appliance.posting.store import PostDatabase
from pi_appliance.storage.model import Report


class PostingContext(JobContext):
    """The context of a run that may post."""

    @cached_property
    def posts(self) -> PostStore:
        """The posts of this job."""
        installation = hashlib.sha256(b"installation" + self.parameters.secret).hexdigest()[:8]
        return PostDatabase(self.store).for_job(self.job, self.run_id, self.clock, installation)

    def limits(self, name: str) -> PostLimits:
        """Return the limits and prices of the network `name`, without connecting. Raises UnknownName."""
        return post_limits(self.config, name)

    def network(self, name: str) -> Network:
        """Connect the network `name`.

        Raises:
            UnknownName: There is no such network.
            Refused: Secrets are missing; the message names them.

        """
        keys = secrets.load(self.config.path, self.parameters.environment, secret_names(self.config))
        return connect(self.config, name, keys)

    def latest_report(self, job: str, *, picture: bool = False) -> Report | None:
        """Return the report of the last successful run of `job`, with its picture if requested.

        Returns:
            The report, or None if no run has succeeded.

        Raises:
            UnknownName: There is no such job.
            Refused: The library that draws pictures is not installed.

        """
        if job not in self.config.jobs:
            raise UnknownName("job", job, tuple(self.config.jobs))
        return latest_report(self.config, self.store, job, picture=picture)
