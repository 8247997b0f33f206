"""The operations on jobs."""

from collections.abc import Sequence

from pi_appliance.operations import Operation

OPERATIONS: Sequence[Operation] = ()
