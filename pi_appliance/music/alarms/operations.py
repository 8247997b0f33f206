"""The operations on alarms and the sleep timer."""

from collections.abc import Sequence

from pi_appliance.operations import Operation

OPERATIONS: Sequence[Operation] = ()
