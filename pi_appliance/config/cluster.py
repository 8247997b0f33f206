"""The data class of `cluster:`."""

import re
from dataclasses import dataclass
from typing import Annotated

_ADDRESS = re.compile(r"(tls|tcp)://([\w.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """The cluster that helps with puzzles; `pi-appliance cluster` writes this section."""

    scheduler: Annotated[str, "the address of Dask's scheduler, such as tls://192.168.1.20:8786"]
    unencrypted: Annotated[
        bool, "allow tcp:// to other machines, where everybody in the network can run programs as a worker's user"
    ] = False

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return the problems of the values."""
        found = _ADDRESS.fullmatch(self.scheduler)
        if found is None or not 0 < int(found[3]) < 65536:
            wrong = f"{self.scheduler!r} is not the address of a scheduler"
            return [(("scheduler",), wrong, "write one such as tls://192.168.1.20:8786")]
        if found[1] == "tcp" and found[2] not in _THIS_MACHINE and not self.unencrypted:
            wrong = f"{self.scheduler} is not encrypted"
            return [(("scheduler",), wrong, "write tls://, or unencrypted: true if nobody else is in the network")]
        return []
