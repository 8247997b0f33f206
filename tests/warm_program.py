"""Real processes of the program without its start: they are forked from one that has imported it.

Each worker of pytest has one server for each PYTHONPATH, started by the first `Process`. A process
forked by it has its own arguments, environment, folder, streams, session and exit status, and is killed like
any other. With PI_APPLIANCE_COLD=1, as in `deploy/test.sh --all`, each process starts Python.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import multiprocessing.connection
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROGRAM = (sys.executable, "-m", "pi_appliance")
IS_COLD = os.environ.get("PI_APPLIANCE_COLD") == "1"
_SIZE = 1 << 17  # bytes of a request
_FOLLOWED = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONPATH")


def base_environment() -> dict[str, str]:
    """Return the environment of the program, without the keys and the configuration of the user."""
    names = ("PATH", "HOME", "LANG", "XDG_RUNTIME_DIR")
    own = {name: os.environ[name] for name in names if name in os.environ}
    return {**own, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}


class Process(subprocess.Popen[Any]):
    """A process like any other; if it is of the program, it is forked from the server."""

    _status: socket.socket | None = None

    # The only private part of Popen: the fork and the exec. test_warm_program.py notices if it changes.
    def _execute_child(self, *words: Any) -> None:
        argv, _, preexec_fn, _, pass_fds, cwd, env, _, _, shell, *streams_and_ids = words
        *streams, _, gid, gids, uid, umask, start_new_session, process_group = streams_and_ids
        is_plain = (preexec_fn, pass_fds, shell, gid, gids, uid, umask, process_group) == (
            *(None, (), False, None, None, None, -1, -1),
        )
        if IS_COLD or not is_plain or tuple(argv[:3]) != PROGRAM or not _can_fork(env or os.environ):
            super()._execute_child(*words)  # type: ignore[misc]
            return
        environment = dict(env or os.environ)
        request = {
            "argv": [os.fsdecode(word) for word in argv[3:]],
            "cwd": str(cwd or Path.cwd()),
            "environment": environment,
            "start_new_session": start_new_session,
        }
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(60)  # or a server that hangs would hold the test
        # Of each pair, the child has one end: it reads its input, and writes its output and its errors.
        ends = [default if end == -1 else end for default, end in enumerate((streams[0], streams[3], streams[5]))]
        socket.send_fds(_server(environment["PYTHONPATH"]), [json.dumps(request).encode()], [*ends, theirs.fileno()])
        theirs.close()
        self._status = ours
        self.pid = int.from_bytes(ours.recv(8))
        assert self.pid, "the server has ended"
        self._child_created = True
        self._close_pipe_fds(*streams)  # type: ignore[attr-defined]

    def poll(self) -> int | None:
        """Return the exit status, or None if the process runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when the process has ended."""
        if self._status is None:
            return super().wait(timeout)
        if self.returncode is None:
            if not multiprocessing.connection.wait([self._status], timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(int.from_bytes(self._status.recv(8)))
            self._status.close()
        return self.returncode


def run_process(
    words: Any, *, timeout: float = 60, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a process to its end, like `subprocess.run`."""
    if options.pop("capture_output", False):
        options["stdout"] = options["stderr"] = subprocess.PIPE
    standard_input = options.pop("input", None)
    if standard_input is not None:
        options["stdin"] = subprocess.PIPE
    with Process(words, **options) as process:
        try:
            output, errors = process.communicate(standard_input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _start_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that only a starting Python reads, unless `_become` or the server follow them."""
    prefixes = ("PYTHON", "LC_", "LANG", "LD_")
    return {name: value for name, value in environment.items() if name.startswith(prefixes) and name not in _FOLLOWED}


def _can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a process of a server becomes the same as a started one."""
    return "PYTHONPATH" in environment and _start_settings(environment) == _start_settings(base_environment())


@functools.cache
def _server(python_path: str) -> socket.socket:
    """Start a server, which has the plug-ins in `python_path`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = theirs.fileno()
    environment = {**base_environment(), "PYTHONPATH": python_path}
    words = [sys.executable, "-m", "tests.warm_program", str(number)]
    process = subprocess.Popen(words, cwd=ROOT, env=environment, pass_fds=[number])
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(60)

    atexit.register(end)
    return ours


def _import_program() -> None:
    for path in sorted(ROOT.glob("pi_appliance/**/*.py")):
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    importlib.import_module("apprise")  # the slowest library
    loader = importlib.import_module("pi_appliance.config.loader")
    loader.load_config(ROOT / "config" / "appliance.yaml")  # cattrs writes a function for each class of it


def _serve(control: socket.socket) -> list[str] | None:
    """Fork a process for each request. Return its arguments there, and None here at the end."""
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    children: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor of the process
    while True:
        for ready, _ in waiting.poll():
            if ready in children:
                pid, status = children.pop(ready)
                waiting.unregister(ready)
                os.close(ready)
                with status:
                    _send(status, os.waitpid(pid, 0)[1])
                continue
            data, descriptors, _, _ = socket.recv_fds(control, _SIZE, 4, socket.MSG_CMSG_CLOEXEC)
            if not data:
                return None
            *streams, number = descriptors
            status = socket.socket(fileno=number)
            pid = os.fork()
            if not pid:
                for each in (control, status, *(other for _, other in children.values())):
                    each.close()
                for process in children:
                    os.close(process)
                return _become(json.loads(data), streams)
            for stream in streams:
                os.close(stream)
            process = os.pidfd_open(pid)
            children[process] = pid, status
            waiting.register(process, select.POLLIN)
            _send(status, pid)


def _send(status: socket.socket, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the test did not wait for the process
        status.send(number.to_bytes(8))


def _become(request: Mapping[str, Any], streams: list[int]) -> list[str]:
    """Give this process what a started one gets from the kernel, and return its arguments."""
    if request["start_new_session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        number, previous = ("stdin", "stdout", "stderr").index(name), getattr(sys, name)
        is_lines = name == "stderr" or is_unbuffered or os.isatty(number)
        kind = "backslashreplace" if name == "stderr" else errors or previous.errors
        stream = open(number, mode, 1 if is_lines else -1, encoding or previous.encoding, kind, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    return request["argv"]


def _main(argv: list[str]) -> None:
    """Run the program and end like Python, except that the modules stay: it would copy all their pages."""
    from pi_appliance import __main__ as program  # noqa: PLC0415 - the server imports it, tests need not

    sys.argv = [str(program.__file__), *argv]
    status: Any = 0
    try:
        program.main()
    except SystemExit as ended:
        status = ended.code or 0
        if not isinstance(status, int):
            raise
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _import_program()
    gc.collect()
    gc.freeze()  # or each collection of a child would copy all pages
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        arguments = _serve(requests)
    if arguments is not None:
        _main(arguments)
