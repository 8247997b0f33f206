"""The operations on the cluster."""

from collections.abc import Sequence

from pi_appliance.operations import Operation, integer, text

_API = "pi_appliance.cluster.api"
_TEXT = "pi_appliance.cluster_cli"

OPERATIONS: Sequence[Operation] = (
    Operation(
        command="cluster start",
        path="/cluster/start",
        summary="Make this machine the first of a cluster, and show a code with which another one joins it.",
        details="The code is for one machine and 15 minutes. Run this again for the next machine.",
        handler=f"{_API}:start",
        arguments=(integer("port", "the port of the scheduler", 1024, 65535, default=8786),),
        show=f"{_TEXT}:show_code",
        needs_daemon=True,
    ),
    Operation(
        command="cluster join",
        path="/cluster/join",
        summary="Join the cluster of another machine, with the code that it shows.",
        details="Without an address, the machine is searched in the local network by mDNS.",
        handler=f"{_API}:join",
        arguments=(
            text("code", "the code that `pi-appliance cluster start` shows", 100, required=True, positional=True),
            text("address", "the page of the first machine, such as 192.168.1.20:8080", 200, default=""),
        ),
        done="joined: the scheduler is {scheduler}",
        needs_daemon=True,
        example={"code": "k5ax-22pq-…", "address": "192.168.1.20:8080"},
    ),
    Operation(
        command="cluster status",
        method="GET",
        path="/cluster",
        summary="Show the scheduler, the workers, and what they do now.",
        handler=f"{_API}:status",
        show=f"{_TEXT}:show_status",
        needs_state=False,
    ),
    Operation(
        command="cluster leave",
        path="/cluster/leave",
        summary="Leave the cluster. If this is its first machine, the cluster ends.",
        handler=f"{_API}:leave",
        done="this machine is in no cluster",
        needs_daemon=True,
    ),
)
