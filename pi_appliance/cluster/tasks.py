"""Tasks in a process of their own, because their libraries would stay in the daemon's memory.

python -m pi_appliance.cluster.tasks TASK < arguments.json > result.json
"""

import asyncio
import json
import platform
import socket
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pi_appliance import __version__, errors
from pi_appliance.cluster import certificates, join_code
from pi_appliance.cluster.client import MemberFolder, Membership, open_client
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.system import http, network

JOIN_PATH = "/cluster/join"
PAGE_PORT = 8080
_TIMEOUT = 120.0  # seconds that a task may take
_REQUEST_TIMEOUT = 20.0  # seconds; the first machine has to start Python to sign
_MAX_ANSWER = 65_536  # bytes of the first machine's answer
# the service type of a page in mDNS, and the end of a host name
_KIND, _HOST_END = "_http._tcp.local.", "-appliance.local."
_LISTEN_TIME = 3.0  # seconds in which pages of other appliances are collected


async def run_task(name: str, **arguments: object) -> Any:
    """Run a task in a process of its own and return its result. Raises the error of the task."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", __name__, name),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            output, problems = await process.communicate(json.dumps(arguments).encode())
    except TimeoutError:
        raise Unavailable("the cluster did not answer in time") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = problems.decode(errors="replace").splitlines()
        raise Refused(f"the cluster could not be used: {lines[-1] if lines else process.returncode}")
    answer = json.loads(output)
    if "error" in answer:
        raise getattr(errors, answer["error"])(answer["message"])
    return answer["result"]


def create(state: str, port: int) -> None:
    """Make this machine the first of a new cluster."""
    folder = MemberFolder(Path(state))
    certificates.create_authority(folder, network.host_name())
    folder.save(Membership(f"tls://127.0.0.1:{port}", is_first=True, port=port))


def sign(state: str, request: str) -> dict[str, str]:
    """Return the certificate of a new member, and the certificate of the authority."""
    folder = MemberFolder(Path(state))
    return {"certificate": certificates.sign_request(folder, request), "authority": folder.authority.read_text("utf-8")}


def join(state: str, code: str, address: str) -> str:
    """Join the cluster of the machine that made `code`; return the address of its scheduler."""
    folder, secret = MemberFolder(Path(state)), join_code.parse_code(code)
    pages = [_split_address(address)] if address else find_pages()
    if not pages:
        raise Unavailable("no other appliance was found in this network; name the first machine by --address")
    message = json.dumps(
        {
            "host": network.host_name(),
            "release": __version__,
            "python": python_version(),
            "request": certificates.create_request(folder, network.host_name()),
        }
    )
    problems = list[str]()
    for host, port in pages:
        try:
            answer = _ask(host, port, secret, message)
        except ApplianceError as error:
            problems.append(str(error))
            continue
        folder.write(folder.authority, answer["authority"].encode())
        folder.write(folder.certificate, answer["certificate"].encode())
        scheduler = f"tls://{_stable_name(host, answer['host'])}:{answer['port']}"
        folder.save(Membership(scheduler, is_first=False, port=answer["port"]))
        return scheduler
    folder.clear()
    raise Refused("; ".join(dict.fromkeys(problems)))


def find_pages() -> list[tuple[str, int]]:
    """Return the addresses and ports of the pages that other appliances announce by mDNS.

    Raises:
        Refused: The library is missing, or the network cannot be searched.
    """
    try:
        from zeroconf import IPVersion, ServiceBrowser, Zeroconf  # noqa: PLC0415 - optional, 5 MB
    except ImportError:
        raise Refused(
            "the package zeroconf is missing, so the first machine cannot be found; name the machine with --address"
        ) from None
    names = set[str]()

    def note(*, name: str, **_: object) -> None:
        names.add(name)

    try:
        zeroconf = Zeroconf(ip_version=IPVersion.V4Only)
    except OSError as error:
        raise Refused(
            f"the network cannot be searched: {error.strerror}; name the first machine by --address"
        ) from None
    pages = list[tuple[str, int]]()
    try:
        browser = ServiceBrowser(zeroconf, _KIND, handlers=[note])
        time.sleep(_LISTEN_TIME)
        for name in sorted(names):
            info = zeroconf.get_service_info(_KIND, name, 1000)
            if info is not None and info.port and (info.server or "").endswith(_HOST_END):
                pages += [(socket.inet_ntoa(address), info.port) for address in info.addresses]
        browser.cancel()
    finally:
        zeroconf.close()
    return pages


def python_version() -> str:
    """Return the version that has to be the same on all members, because objects are pickled."""
    return ".".join(platform.python_version_tuple()[:2])


def _split_address(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    if not host or not (port or "80").isdigit():
        raise Refused(f"{address} is not an address; write it as 192.168.1.20 or kitchen.local:8080")
    return host, int(port or PAGE_PORT)


def _ask(host: str, port: int, secret: bytes, message: str) -> dict[str, Any]:
    """Send the request for a certificate. Raises Refused unless the answer has the right proof."""
    where, proof = f"http://{host}:{port}", join_code.prove_request(secret, message)
    try:
        response = http.request_now(
            "POST",
            where + JOIN_PATH,
            seconds=_REQUEST_TIMEOUT,
            max_bytes=_MAX_ANSWER,
            body=json.dumps({"message": message, "proof": proof}).encode(),
            headers={"Content-Type": "application/json"},
            use_proxy=False,  # the other machine is in the same network
        )
    except http.NoResponse as error:
        raise Unavailable(f"{where} cannot be reached: {error}") from None
    try:
        envelope = json.loads(response.body)
    except ValueError:
        envelope = {}
    if response.status != HTTPStatus.OK or not isinstance(envelope, dict):
        reason = envelope.get("error") if isinstance(envelope, dict) else None
        raise Refused(f"{where} refused: {reason or f'status {response.status}'}")
    expected = join_code.prove_answer(secret, proof, str(envelope.get("message")))
    answer = join_code.open_message(envelope, expected)
    if answer is None:
        raise Refused(f"{where} does not know the code, so it is not the machine that made it")
    return answer


def _stable_name(host: str, name: str) -> str:
    """Return the mDNS name of a host if it resolves to `host`.

    Unlike an address, it does not change.
    """
    try:
        here = {each[4][0] for each in socket.getaddrinfo(host, None, socket.AF_INET)}
        there = {each[4][0] for each in socket.getaddrinfo(name, None, socket.AF_INET)}
    except OSError:
        return host
    return name if here & there and not any(str(each).startswith("127.") for each in there) else host


class ClusterWorkerJson(TypedDict):
    """A worker of the cluster."""

    name: str
    address: str
    cores: int
    memory: Annotated[int, "bytes in use"]
    memory_limit: Annotated[int, "bytes"]
    work: Annotated[int, "the tasks that it has"]
    version: Annotated[str, "of the program, or empty if it is not known"]


class WorkersJson(TypedDict):
    """The workers of the cluster."""

    workers: list[ClusterWorkerJson]
    waiting: int


def status(state: str, scheduler: str) -> WorkersJson:
    """Return the workers of the cluster and their current work."""
    client = open_client(scheduler, MemberFolder(Path(state)), timeout=5.0)
    try:
        found: WorkersJson = client.run_on_scheduler(_describe)
        versions = client.run(_worker_version, on_error="return")
    except (OSError, TimeoutError) as error:
        raise Unavailable(f"the scheduler {scheduler} does not answer: {error}") from None
    finally:
        client.close(timeout=5.0)
    for each in found["workers"]:
        version = versions.get(each["address"])
        each["version"] = version if isinstance(version, str) else ""
    return found


def _worker_version() -> str:
    from pi_appliance import __version__ as version  # noqa: PLC0415 - that of the worker

    return version


def _describe(dask_scheduler: Any) -> WorkersJson:
    """Return the workers and their current work.

    Dask runs this function in the process of the scheduler.
    """
    workers: list[ClusterWorkerJson] = [
        {
            "name": str(each.name),
            "address": each.address,
            "cores": each.nthreads,
            "memory": each.metrics.get("memory", 0),
            "memory_limit": each.memory_limit,
            "work": len(each.processing),
            "version": "",
        }
        for each in dask_scheduler.workers.values()
    ]
    waiting = len(dask_scheduler.unrunnable) + len(getattr(dask_scheduler, "queued", ()))
    return {"workers": sorted(workers, key=lambda each: str(each["name"])), "waiting": waiting}


TASKS: Mapping[str, Callable[..., object]] = {"create": create, "sign": sign, "join": join, "status": status}


def main(name: str) -> None:
    """Run one task."""
    try:
        answer: dict[str, object] = {"result": TASKS[name](**json.load(sys.stdin))}
    except ApplianceError as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
