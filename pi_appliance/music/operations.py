"""The operations on the player, the queue and the library."""

from collections.abc import Sequence

from pi_appliance.operations import Operation

OPERATIONS: Sequence[Operation] = ()
