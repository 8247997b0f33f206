"""The process of a member: one worker for each core, and on the first machine also the scheduler.

Scheduler and workers are classes of Dask. One process runs them, with one child for each core. All
connections need a certificate of the cluster.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from pi_appliance.cluster.client import MemberFolder, Membership, require_libraries
from pi_appliance.errors import Unavailable
from pi_appliance.system import network

_CHECK_INTERVAL = 5.0  # seconds between two checks of the membership and the workers
_RETRY_DELAY = 15.0  # seconds after which a lost connection is tried again
_DEATH_TIMEOUT = 30  # seconds until a worker without a scheduler ends
_ENDED = frozenset({"closed", "closing", "failed", "stopped", "stopping"})
# Dask shows no web pages and writes no data to the SD card. It restarts a worker that runs out of
# memory.
_SETTINGS: Mapping[str, object] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.comm.tls.min-version": 1.3,
}
_PRIVATE_ADDRESS = "127.0.0.1:0"  # Dask opens a port for its web pages, which are empty


async def run_member(folder: MemberFolder, cores: int, say: Callable[[str], None], stop: asyncio.Event) -> None:
    """Work for the cluster until `stop` is set or the machine leaves.

    Raises:
        Refused: A library of the cluster is not installed.
    """
    require_libraries()
    # Dask's own log is long; the important events are printed here, in one line each
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    membership = folder.membership()
    while membership is not None and not stop.is_set():
        try:
            async with AsyncExitStack() as stack:
                await _serve(stack, folder, membership, cores, say, stop)
        except Exception as error:  # noqa: BLE001 - Dask raises many kinds, and the scheduler may come back
            say(f"{_reason(error)}; trying again in {_RETRY_DELAY:.0f} s")
            await _wait(stop, _RETRY_DELAY)
        membership = folder.membership()


async def _serve(
    stack: AsyncExitStack,
    folder: MemberFolder,
    membership: Membership,
    cores: int,
    say: Callable[[str], None],
    stop: asyncio.Event,
) -> None:
    """Run the scheduler and the workers until one of them ends."""
    import dask  # noqa: PLC0415 - see run_member
    from distributed import Nanny, Scheduler, Security  # noqa: PLC0415 - see run_member

    stack.enter_context(dask.config.set(_SETTINGS))
    security = Security(require_encryption=True, **folder.tls_files())
    servers: list[Any] = []
    if membership.is_first:
        scheduler = Scheduler(
            host="0.0.0.0",  # noqa: S104 - the other machines reach it, with a certificate
            port=membership.port,
            protocol="tls",
            security=security,
            dashboard=False,
            dashboard_address=_PRIVATE_ADDRESS,
        )
        servers.append(await stack.enter_async_context(scheduler))
        say(f"the scheduler listens on port {membership.port}")
    own_address = await asyncio.to_thread(_own_address, membership)
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="pi-appliance-cluster-"))
    name = f"{network.host_name()}-{_member_id(folder)}"
    for number in range(1, cores + 1):
        worker = Nanny(
            membership.scheduler,
            name=f"{name}-{number}",
            nthreads=1,  # one thread per worker, because a kernel holds the interpreter's lock
            host=own_address,
            protocol="tls",
            security=security,
            local_directory=work,
            death_timeout=_DEATH_TIMEOUT,
            dashboard=False,
            dashboard_address=_PRIVATE_ADDRESS,
            config=dict(_SETTINGS),
            silence_logs=logging.CRITICAL,
        )
        servers.append(await stack.enter_async_context(worker))
    say(f"{cores} workers are connected to {membership.scheduler}")
    while not stop.is_set():
        await _wait(stop, _CHECK_INTERVAL)
        if folder.membership() != membership:
            say("this machine left the cluster")
            return
        if any(each.status.name in _ENDED for each in servers):
            raise Unavailable(f"the connection to {membership.scheduler} was lost")


def _member_id(folder: MemberFolder) -> str:
    """Return four digits that tell apart machines with the same name, such as raspberrypi."""
    return hashlib.sha256(folder.certificate.read_bytes()).hexdigest()[:4]


def _reason(error: BaseException) -> str:
    """Return the first line of the deepest cause that has a text."""
    cause: BaseException | None = error
    while cause is not None:
        error, cause = (cause if str(cause) else error), cause.__cause__
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _own_address(membership: Membership) -> str:
    """Return the address of this machine that the other members reach."""
    if membership.is_first:
        return next(iter(network.local_addresses()), "127.0.0.1")
    host = membership.scheduler.removeprefix("tls://").rpartition(":")[0]
    return network.address_towards(host, membership.port)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


def run_at_low_priority() -> None:
    """Give all other processes of this machine precedence; the workers inherit the low priority."""
    os.nice(19)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
