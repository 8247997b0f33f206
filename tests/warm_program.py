"""Start processes of the program faster: fork them from a process that has imported it.

Each worker of pytest has a helper process that forks them. So does each process that starts others: a daemon
starts runs, and a run starts the process of its job. A forked process is a child of the process that requested
it. It has its own arguments, environment, folder, streams, session and exit status, and can be killed. With
PI_APPLIANCE_COLD=1, as in `deploy/test.sh --all`, each process starts Python.
"""

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import os
import signal
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
_STARTERS = (
    "jobs run",
    "networks login",
    "networks test",
    "notifiers test",
    "notifiers send",
)  # like the daemon, they start others
_SIZE = 1 << 17  # bytes of a request
_MAX_WAIT = 300.0  # seconds for a helper; one that hangs must not hold a test
_FOLLOWED = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONPATH")
# A Python with 32 bits may run on a kernel with 64.
_CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine, 120) if sys.maxsize > 2**32 else 120
_CLONE_PARENT = 0x8000
_lock = threading.Lock()  # of the helper
_helpers: list[socket.socket] = []  # the connection to the helper of this process, if it has been started
_ready: list[socket.socket] = []  # the same, once the helper has imported the program


def base_environment() -> dict[str, str]:
    """Return the environment of the program, without the keys and the configuration of the user."""
    names = ("PATH", "HOME", "LANG", "XDG_RUNTIME_DIR")
    own = {name: os.environ[name] for name in names if name in os.environ}
    return {**own, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}


class Process(subprocess.Popen[Any]):
    """A process like any other; if it is of the program, it is forked by a helper."""

    # The only private part of Popen: the fork and the exec. test_warm_program.py notices if it changes.
    def _execute_child(self, *words: Any) -> None:
        argv, _, preexec_fn, close_fds, pass_fds, cwd, env, _, _, shell, *streams_and_ids = words
        *streams, _, gid, gids, uid, umask, start_new_session, process_group = streams_and_ids
        is_plain = (preexec_fn, close_fds, shell, gid, gids, uid, umask, process_group) == (
            *(None, True, False, None, None, None, -1, -1),
        )
        environment = dict(env or os.environ)
        if IS_COLD or not is_plain or not _is_of_program(argv) or not _can_fork(environment):
            super()._execute_child(*words)  # type: ignore[misc]
            return
        request = {
            "argv": [os.fsdecode(word) for word in argv[2:]],
            "cwd": str(cwd or Path.cwd()),
            "environment": environment,
            "start_new_session": start_new_session,
            "pass_fds": pass_fds,
        }
        # Of each pair, the child has one end: it reads its input, and writes its output and its errors.
        ends = [default if end == -1 else end for default, end in enumerate((streams[0], streams[3], streams[5]))]
        with _lock:
            helper = _helper()
            if helper is None:
                super()._execute_child(*words)  # type: ignore[misc]
                return
            socket.send_fds(helper, [json.dumps(request).encode()], [*ends, *pass_fds])
            self.pid = int.from_bytes(helper.recv(8))
        assert self.pid, "the helper has ended"
        self._child_created = True
        self._close_pipe_fds(*streams)  # type: ignore[attr-defined]


def use_for_all_processes() -> None:
    """Use helpers for the processes that the program starts, too."""
    subprocess.Popen = Process  # type: ignore[misc]


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
    """Return the variables that only a starting Python reads, unless `_become` or the helper follow them."""
    prefixes = ("PYTHON", "LC_", "LANG", "LD_")
    return {name: value for name, value in environment.items() if name.startswith(prefixes) and name not in _FOLLOWED}


def _is_of_program(argv: Any) -> bool:
    """Return whether the command runs a module of the program."""
    if isinstance(argv, str | bytes | os.PathLike) or tuple(argv[:2]) != PROGRAM[:2]:
        return False
    return str(argv[2]).partition(".")[0] == PROGRAM[2]


def _can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a forked process can replace a started one."""
    return _start_settings({"PYTHONWARNINGS": "error", **environment}) == _start_settings(base_environment())


def _helper() -> socket.socket | None:
    """Return the connection to the helper, or None if there is none yet.

    Only the main thread waits until the helper has imported the program: others run an event loop.
    """
    if not _helpers:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        number = theirs.fileno()
        words = [sys.executable, "-m", "tests.warm_program", str(number)]
        process = subprocess.Popen(words, cwd=ROOT, env=base_environment(), pass_fds=[number])
        theirs.close()

        def end() -> None:
            ours.close()
            process.wait(60)

        atexit.register(end)
        _helpers.append(ours)
    (helper,) = _helpers
    if not _ready:
        is_main = threading.current_thread() is threading.main_thread()
        helper.settimeout(_MAX_WAIT if is_main else 0)
        try:
            helper.recv(1)
        except BlockingIOError:
            return None
        helper.settimeout(_MAX_WAIT)
        _ready.append(helper)
    return helper


def _import_program() -> None:
    for path in sorted(ROOT.glob("pi_appliance/**/*.py")):
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    importlib.import_module("apprise")  # the slowest library
    loader = importlib.import_module("pi_appliance.config.loader")
    loader.load_config(ROOT / "config" / "appliance.yaml")  # imports the plug-ins that it names


def _serve(control: socket.socket) -> list[str] | None:
    """Fork a process for each request. Return its module and arguments there, and None here at the end."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, _SIZE, 253, socket.MSG_CMSG_CLOEXEC)
        if not data:
            return None
        pid = _fork_sibling()
        if not pid:
            control.close()
            return _become(json.loads(data), descriptors)
        for each in descriptors:
            os.close(each)
        control.send(pid.to_bytes(8))


def _fork_sibling() -> int:
    """Fork like os.fork, except that the new process is a child of the parent of this one."""
    ctypes.pythonapi.PyOS_BeforeFork()
    words = (_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    pid: int = ctypes.PyDLL(None).syscall(*map(ctypes.c_long, words))
    if pid:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    assert pid >= 0
    return pid


def _start_helper() -> list[str] | None:
    """Fork a helper of this process. Return None here, and the result of `_serve` in the processes that it forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        ours.settimeout(_MAX_WAIT)
        _helpers.append(ours)
        _ready.append(ours)
        use_for_all_processes()
        return None
    ours.close()
    at_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that it helps
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.closerange(3, theirs.fileno())  # a pipe and a lock end when the last process closes them
    os.closerange(theirs.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    arguments = _serve(theirs)
    if arguments is None:
        os._exit(0)
    signal.signal(signal.SIGINT, at_interrupt)
    return arguments


def _become(request: Mapping[str, Any], descriptors: list[int]) -> list[str]:
    """Set up this process like one that the kernel started, and return its module and arguments."""
    if request["start_new_session"]:
        os.setsid()
    numbers = [0, 1, 2, *request["pass_fds"]]
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, max(numbers) + 1) for each in descriptors]
    for each in descriptors:
        os.close(each)
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
        os.close(copy)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    _add_to_path(os.environ.get("PYTHONPATH", "").split(os.pathsep))
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


def _add_to_path(folders: list[str]) -> None:
    """Make the plug-ins in `folders` known, and import the `sitecustomize` there, as Python does at its start."""
    added = [folder for folder in folders if folder and folder not in sys.path]
    if added:
        sys.path[1:1] = added
        importlib.import_module("pi_appliance.plugins").forget_installed()
        sys.modules.pop("sitecustomize", None)
        with contextlib.suppress(ImportError):
            importlib.import_module("sitecustomize")


def _main(module: str, argv: list[str]) -> None:
    """Run a module and end like Python, except that the modules stay: it would copy all their pages."""
    if argv[:1] == ["up"] or " ".join(argv[:2]) in _STARTERS:
        started = _start_helper()
        if started is not None:
            return _main(started[0], started[1:])
    spec = importlib.util.find_spec("pi_appliance.__main__" if module == "pi_appliance" else module)
    assert spec is not None
    assert isinstance(spec.loader, importlib.machinery.SourceFileLoader)
    sys.modules["__main__"] = importlib.util.module_from_spec(spec)
    sys.modules["__main__"].__name__ = "__main__"
    sys.argv = [str(spec.origin), *argv]
    status: Any = 0
    try:
        exec(spec.loader.get_code(spec.name) or "", sys.modules["__main__"].__dict__)  # noqa: S102 - like python -m
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
    gc.disable()
    _import_program()
    gc.collect()
    gc.freeze()  # or each collection of a child would copy all pages
    gc.enable()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        requests.send(b".")
        process_to_be = _serve(requests)
    if process_to_be is not None:
        _main(process_to_be[0], process_to_be[1:])
