"""The operations on web radio stations."""

from collections.abc import Sequence

from pi_appliance.operations import Operation

OPERATIONS: Sequence[Operation] = ()
