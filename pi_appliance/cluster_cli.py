"""pi-appliance cluster run: the process of a member; and the texts of the operations.

What the process needs is imported there, because a text needs little.
"""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pi_appliance.cli.client import format_table, local_config_option
from pi_appliance.config.units import format_size
from pi_appliance.errors import Refused
from pi_appliance.system.shown_time import format_local_time

if TYPE_CHECKING:
    from pi_appliance.cluster.client import MemberFolder

_KERNEL_INTERVAL = 5.0  # seconds between two checks whether kernels are compiled


@click.group("cluster")
def cluster() -> None:
    """Hold the command `run`; the other commands are operations."""


@cluster.command("run", short_help="Run the scheduler or the workers of this machine.")
@click.option("--cores", type=click.IntRange(1, 256), help="Run this many workers. Default: one for each core.")
@local_config_option
def run(cores: int | None, config: Path) -> None:
    """Work for the cluster in the foreground until Ctrl-C or SIGTERM, or until this machine leaves.

    The service does this by itself: pi-appliance-cluster.service starts when this machine is a
    member. Everything else on the machine comes first.

    \b
    Exit status:
      0   it was stopped, or this machine left the cluster
      1   this machine is in no cluster, or a package of the cluster is not installed
      2   the configuration is wrong
    """
    from pi_appliance.cluster.client import MemberFolder
    from pi_appliance.cluster.member import run_at_low_priority
    from pi_appliance.config.loader import load_config

    folder = MemberFolder(load_config(config).state_dir)
    if folder.membership() is None:
        raise Refused("this machine is in no cluster; run: pi-appliance cluster start, or cluster join")
    run_at_low_priority()
    _wait_for_kernels()
    asyncio.run(_run_until_signal(folder, cores or len(os.sched_getaffinity(0))))


def _wait_for_kernels() -> None:
    """Wait while kernels are compiled: a worker keeps using the version that it imports first."""
    from pi_appliance.puzzles import kernels

    if kernels.is_compiling():
        click.echo("waiting until the kernels of the puzzles are compiled")
        while kernels.is_compiling():
            time.sleep(_KERNEL_INTERVAL)
    plain = [name for name, state in kernels.kernel_states() if state != "compiled"]
    if plain:
        click.echo(f"not compiled, so slower here: {', '.join(plain)}")


async def _run_until_signal(folder: "MemberFolder", cores: int) -> None:
    from pi_appliance.cluster.member import run_member

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for kind in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(kind, stop.set)
    await run_member(folder, cores, click.echo, stop)


def show_code(result: Any, _: object) -> str:
    """Return the code, and how to use it on the other machine."""
    lines = [
        f"the scheduler: {result['scheduler']}",
        "on the other machine, run:",
        f"  pi-appliance cluster join {result['code']}",
        f"the code is for one machine, until {format_local_time(result['expires'])}",
    ]
    return "\n".join(lines)


def show_status(result: Any, _: object) -> str:
    """Return the scheduler, then one line per worker."""
    if not result["scheduler"]:
        return "this machine is in no cluster; pi-appliance cluster start makes one"
    where = f"the scheduler: {result['scheduler']}" + (", on this machine" if result["is_first"] else "")
    if result["problem"]:
        return f"{where}\n{result['problem']}"
    rows = [
        [
            each["name"],
            each["address"].partition("://")[2].rpartition(":")[0],
            str(each["cores"]),
            f"{format_size(each['memory'])} of {format_size(each['memory_limit'])}",
            f"{each['work']} tasks" if each["work"] else "idle",
            each["version"] or "unknown",
        ]
        for each in result["workers"]
    ]
    cores = sum(each["cores"] for each in result["workers"])
    lines = [where, f"{len(rows)} workers with {cores} cores; {result['waiting']} tasks wait"]
    if rows:
        lines.append(format_table(["worker", "machine", "cores", "memory", "work", "version"], rows))
    return "\n".join(lines)
