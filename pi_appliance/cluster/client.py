"""The cluster as a run uses it: the files of this member, and an executor on its workers.

Only a run imports `distributed`, and only if the configuration has `cluster:`.
"""

import contextlib
import json
import pkgutil
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pi_appliance import __version__
from pi_appliance.config.options import Config
from pi_appliance.errors import Refused
from pi_appliance.system import files
from pi_appliance.system.http import describe_network_error

_LIBRARIES = ("distributed", "cryptography")  # the libraries of the extra `cluster`
_FOLDER = "cluster"  # in the state folder
_TIMEOUT = 10.0  # seconds until a scheduler counts as not reached
_PROBE_TIMEOUT = 2.0  # seconds for a first, plain connection: Dask tries a closed port for its whole timeout


def require_libraries() -> None:
    """Raise Refused, with the command to run, unless the libraries of a cluster are here."""
    if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
        packages = "packages" if len(missing) > 1 else "package"
        raise Refused(
            f"a cluster needs the {packages} {' and '.join(missing)}; run: "
            f"{sys.executable} -m pip install {' '.join(missing)}"
        )


@dataclass(frozen=True, slots=True)
class Membership:
    """The place of this machine in a cluster."""

    scheduler: str  # address of the scheduler, such as tls://192.168.1.20:8786
    is_first: bool  # whether the scheduler and the certificate authority are on this machine
    port: int  # port of the scheduler


class MemberFolder:
    """The certificates and the membership of this machine, readable by its user only."""

    def __init__(self, state: Path) -> None:
        self.path = state / _FOLDER
        self.authority, self.authority_key = self.path / "authority.pem", self.path / "authority.key"
        self.certificate, self.key = self.path / "member.pem", self.path / "member.key"
        self.join_code = self.path / "join-code.json"
        self._membership = self.path / "member.json"

    def membership(self) -> Membership | None:
        """Return the place of this machine in a cluster, or None if it is in no cluster."""
        try:
            return Membership(**json.loads(self._membership.read_text("utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise Refused(f"{self._membership} cannot be read: {error}; run: pi-appliance cluster leave") from None

    def save(self, membership: Membership) -> None:
        """Save the membership, which completes joining. Raises Unavailable."""
        self.write(self._membership, json.dumps(asdict(membership)).encode())

    def write(self, path: Path, content: bytes) -> None:
        """Write a file that only its owner can read into the folder. Raises Unavailable."""
        files.make_directory(self.path, mode=0o700)
        files.write_file(path, content, mode=0o600)

    def clear(self) -> None:
        """Delete the files, but not the folder, which the unit of the member has mounted."""
        known = (self.authority, self.authority_key, self.certificate, self.key, self.join_code)
        for path in (self._membership, *known):
            path.unlink(missing_ok=True)

    def tls_files(self) -> dict[str, str]:
        """Return the files as the arguments of `distributed.Security`."""
        names = {"tls_ca_file": str(self.authority)}
        for role in ("scheduler", "worker", "client"):
            names |= {f"tls_{role}_cert": str(self.certificate), f"tls_{role}_key": str(self.key)}
        return names


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """An executor on the workers of the cluster.

    If there is none, `note` says why this machine works alone.
    """

    executor: Executor | None = None
    note: str = ""


@contextlib.contextmanager
def connect_to_cluster(config: Config) -> Iterator[ClusterConnection]:
    """Connect to the cluster of `config` for a `with` block. It never fails: see `note`."""
    if config.cluster is None:
        yield ClusterConnection()
        return
    address = config.cluster.scheduler
    try:
        client = open_client(address, MemberFolder(config.state_dir))
    except Refused as error:
        yield ClusterConnection(note=f"{error}; this machine worked alone")
        return
    try:
        yield _choose_workers(client, address)
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=_TIMEOUT)


def open_client(address: str, folder: MemberFolder, timeout: float = _TIMEOUT) -> Any:
    """Return a `distributed.Client` of the scheduler. Raises Refused with the reason."""
    require_libraries()
    missing = [path for path in (folder.authority, folder.certificate, folder.key) if not path.exists()]
    if missing and address.startswith("tls:"):
        raise Refused(f"{missing[0]} is missing, so the cluster does not let this machine in; join it again")
    try:
        place = urlsplit(address)
        socket.create_connection((place.hostname, place.port), min(timeout, _PROBE_TIMEOUT)).close()
        from distributed import Client, Security  # noqa: PLC0415 - 0.4 s and 35 MB

        security = Security(require_encryption=True, **folder.tls_files()) if address.startswith("tls:") else None
        return Client(address, security=security, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError) as error:
        texts = [f"{type(each).__name__} {each}" for each in (error.__cause__, error) if each]
        reason = describe_network_error(" ".join(texts)) or texts[0].splitlines()[0]
        raise Refused(f"the scheduler {address} cannot be reached: {reason}") from None


def _choose_workers(client: Any, address: str) -> ClusterConnection:
    """Return an executor on the workers that run the same version of this program."""
    try:
        threads: dict[str, int] = client.nthreads()
        versions = client.run(pkgutil.resolve_name, "pi_appliance:__version__", on_error="return")
    except (OSError, TimeoutError) as error:
        return ClusterConnection(note=f"the scheduler {address} does not answer: {error}; this machine worked alone")
    same = sorted(worker for worker in threads if versions.get(worker) == __version__)
    others = len(threads) - len(same)
    if not same:
        what = f"its {others} workers run other versions" if others else "it has no workers"
        return ClusterConnection(note=f"the cluster {address} cannot help: {what}; this machine worked alone")
    note = f"{others} workers of the cluster run another version and were left out" if others else ""
    restriction = {"workers": same} if others else {}
    return ClusterConnection(client.get_executor(pure=False, **restriction), note)
