"""The operations on USB drives."""

from collections.abc import Sequence

from pi_appliance.operations import Operation

OPERATIONS: Sequence[Operation] = ()
