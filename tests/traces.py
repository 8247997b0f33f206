"""Count the files that run in four typical operations: `python -m tests.traces`.

A file counts if one of its functions runs, in any process. Code that runs during an import does not count.
`--files` prints the files.

| way | from | to |
| --- | --- | --- |
| tweet | `jobs run tweets`, network `preview` | the end of both processes |
| alarm | `jobs run wake` | the alarm fades in |
| station | a station is added in a warm daemon, then played, by the API | the second answer |
| pegs | `puzzle count peg-solitaire --board plus` | its end |

The player is an MPD without sound. The configuration has one job, or none for the station. Tweet and
alarm are started manually: the scheduler would run a dozen further files in the daemon.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pi_appliance.system.files import read_lock_status
from tests.fakes.mpd_server import free_port, running_mpd
from tests.fakes.radio_server import running_station
from tests.installation import PROGRAM, ROOT, Installation, wait_until

_TWEETS = "tweets: {kind: tweet, with: {lines: tweets.txt, network: preview}}"
_WAKE = "wake: {kind: music, with: {action: alarm, play: [one.wav], volume: 40, fade: 1m}}"
_PEGS = "pegs: {kind: puzzle, with: {puzzle: peg-solitaire, boards: [plus]}}"


PACKAGE = ROOT / "pi_appliance"
_AIMS = {"tweet": 35, "alarm": 40, "station": 20, "pegs": 25}


class Recorder:
    """Starts programs that record which files run, in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.environment = {
            "PYTHONPATH": f"{ROOT / 'tests' / 'call_recorder'}{os.pathsep}{ROOT}",
            "PYTHON_CALL_RECORDS": str(folder),
        }

    def files(self) -> set[str]:
        """Return the files that ran so far in any process."""
        return {name for path in self.folder.iterdir() for name in path.read_text("utf-8").split()}

    def begin_again(self, process: int) -> None:
        """Make the running `process` record each file again."""
        path = self.folder / str(process)
        before = path.read_text("utf-8").count("\n\n")
        os.kill(process, signal.SIGUSR2)
        wait_until(lambda: path.read_text("utf-8").count("\n\n") > before)

    def files_since(self, process: int) -> set[str]:
        """Return the files that ran in `process` after `begin_again`."""
        return set((self.folder / str(process)).read_text("utf-8").split("\n\n")[-1].split())


def trace_tweet(installation: Installation) -> set[str]:
    """Return the files that run while one tweet is posted to the network `preview`."""
    recorder = Recorder(installation.folder / "tweet")
    (installation.folder / "tweets.txt").write_text("Hello\n", "utf-8")
    installation.write(_TWEETS, "networks: {preview: {kind: preview}}")
    _run(installation, recorder, "jobs", "run", "tweets")
    assert installation.latest_run("tweets")["outcome"] == "succeeded"
    return recorder.files()


def trace_pegs(installation: Installation) -> set[str]:
    """Return the files that run while the solutions of a small board are counted."""
    recorder = Recorder(installation.folder / "pegs")
    installation.write(_PEGS)
    _run(installation, recorder, "puzzle", "count", "peg-solitaire", "--board", "plus")
    return recorder.files()


def trace_alarm(installation: Installation) -> set[str]:
    """Return the files that run from the start of an alarm until it fades in."""
    recorder = Recorder(installation.folder / "alarm")
    lock = installation.state / "locks" / "wake.lock"
    with _player(installation) as player:
        installation.write(_WAKE, player)
        process = _start(installation, recorder, "jobs", "run", "wake")
        try:
            wait_until(lambda: "at volume" in (read_lock_status(lock) or ("",))[-1] or process.poll() is not None)
            assert process.poll() is None, process.communicate()
            return recorder.files()
        finally:
            process.terminate()
            process.communicate(timeout=60)


def trace_station(installation: Installation) -> set[str]:
    """Return the files of the daemon that run while a station is added and played."""
    recorder = Recorder(installation.folder / "station")
    port = free_port()
    with _player(installation) as player, _radio() as address:
        local = f"radio: {{local-hosts: ['{urlsplit(address).netloc}']}}"
        installation.write("", f"web: {{port: {port}}}\n{player}\n{local}")
        daemon = _start(installation, recorder, "up")
        try:
            wait_until(lambda: _has_player(port) or daemon.poll() is not None)
            for name in ("First", "Second"):  # the daemon is warm after the first one
                recorder.begin_again(daemon.pid)
                _call(port, "/stations", {"name": name, "url": address})
                _call(port, "/player/play-station", {"station": name})
            return recorder.files_since(daemon.pid)
        finally:
            daemon.terminate()
            daemon.communicate(timeout=60)


TRACES: Mapping[str, Callable[[Installation], set[str]]] = {
    "tweet": trace_tweet,
    "alarm": trace_alarm,
    "station": trace_station,
    "pegs": trace_pegs,
}


def _start(installation: Installation, recorder: Recorder, *words: str) -> subprocess.Popen[str]:
    environment = {**installation.environment(), **recorder.environment}
    return subprocess.Popen(
        [*PROGRAM, *words, "--config", str(installation.config)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _run(installation: Installation, recorder: Recorder, *words: str) -> None:
    process = _start(installation, recorder, *words)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output


@contextlib.contextmanager
def _player(installation: Installation) -> Iterator[str]:
    """Run an MPD without sound for the block, and yield the section of the configuration that names it."""
    with running_mpd(installation.folder / "mpd") as server:
        yield f"player: {{kind: mpd, with: {{address: '{server.address}'}}}}"


@contextlib.contextmanager
def _radio() -> Iterator[str]:
    """Serve a station for the block, and yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    station = running_station()
    try:
        yield asyncio.run_coroutine_threadsafe(station.__aenter__(), loop).result().address
    finally:
        asyncio.run_coroutine_threadsafe(station.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _call(port: int, path: str, arguments: Mapping[str, str] | None = None) -> Any:
    """Call an operation by the API, with POST if it has arguments, and return its result."""
    body = None if arguments is None else json.dumps(arguments).encode()
    url, head = f"http://127.0.0.1:{port}/api/v1{path}", {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, head), timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read()) from error


def _has_player(port: int) -> bool:
    with contextlib.suppress(urllib.error.URLError):  # the daemon does not listen yet
        return _call(port, "/player")["player"] is not None
    return False


def report(traces: Mapping[str, set[str]], *, with_files: bool = False) -> str:
    """Return a table in Markdown, and the files of each trace if `with_files`."""
    lines = {
        name: sum((PACKAGE / file).read_text("utf-8").count("\n") for file in files) for name, files in traces.items()
    }
    rows = [f"| {name} | {len(files)} | {_AIMS[name]} | {lines[name]:,} |" for name, files in traces.items()]
    lists = [line for name, files in traces.items() for line in ("", f"{name}:", *sorted(files))] if with_files else []
    return "\n".join(["| way | files | aim: at most | lines in them |", "| --- | --: | --: | --: |", *rows, *lists])


def trace(names: Sequence[str] = tuple(TRACES)) -> dict[str, set[str]]:
    """Return the files of each of `names`."""
    traces = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="pa-") as folder:
            installation = Installation(Path(folder))
            installation.extra_environment["XDG_RUNTIME_DIR"] = folder
            traces[name] = TRACES[name](installation)
    return traces


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=TRACES, action="append", help="a way to trace; without it, all")
    parser.add_argument("--files", action="store_true", help="print the files, too")
    options = parser.parse_args()
    print(report(trace(options.only or tuple(TRACES)), with_files=options.files))  # noqa: T201 - it is a script
