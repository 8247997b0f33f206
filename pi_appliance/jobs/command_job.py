"""Job kind `command`: run any program and store its output in the log."""

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pi_appliance.errors import Issues, Refused
from pi_appliance.storage.model import Result
from pi_appliance.system.process import Program, ProgramResult, describe_exit_status

_HEAD = 256  # bytes that the kernel reads of the first line of a script


def resolve_program(name: str, *, directory: Path) -> str:
    """Return the path of the program `name`.

    A name with a slash is a file relative to `directory` or the home directory (~). Other names are
    searched in $PATH.
    """
    return str(directory / os.path.expanduser(name)) if "/" in name else name  # noqa: PTH111 - pathlib raises without a home


def explain_missing(name: str, program: str, directory: Path | None, error: OSError) -> str:
    """Return why `program`, written as `name`, could not be run in `directory`, and the remedy."""
    if directory is not None and not directory.is_dir():
        return f"{name} cannot be run: {directory} is not a folder; check `directory`"
    found_path = shutil.which(program, mode=os.F_OK)
    path = Path(found_path or program)
    if path.is_dir():
        return f"{name} cannot be run: it is a folder; name the program in it"
    problem = _explain_error(path, error) if found_path else f"{error.strerror}; check `run`"
    return f"{name} cannot be run: {problem}"


def _explain_error(path: Path, error: OSError) -> str:
    if error.errno == errno.EACCES and not os.access(path, os.X_OK):
        return f"it may not be executed; run: chmod +x {path}"
    first = _first_line(path)
    if error.errno == errno.ENOEXEC and not first.startswith(b"\x7fELF"):
        return "it has no #! line; begin it with one such as #!/bin/sh"
    if error.errno == errno.ENOENT and first.startswith(b"#!"):
        if first.endswith(b"\r"):
            return f"its lines end as on Windows; run: sed -i 's/\\r$//' {path}"
        words = first[2:].split()
        interpreter = words[0].decode("utf-8", "replace") if words else "nothing"
        return f"its first line names {interpreter}, which does not exist"
    return f"{error.strerror}; is it made for this machine, and may programs be run in its folder?"


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD).partition(b"\n")[0]
    except OSError:
        return b""


SHOWS_OUTPUT = True  # the last line of output is appended to the summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a job of this kind takes under `with:`."""

    run: Annotated[
        list[str], "the program and its arguments, as a list; no shell reads them; ./mine.sh lies beside this file"
    ]
    directory: Annotated[Path | None, "where it runs; without it, the folder of this file"] = None
    environment: Annotated[Mapping[str, str], "variables added to its environment"] = field(default_factory=dict)
    stdin: Annotated[str | None, "its standard input; empty without this key"] = None
    success_exit_codes: Annotated[list[int], "the exit statuses that mean success; without it, 0 alone"] = field(
        default_factory=lambda: [0]
    )

    def check(self) -> Issues:
        """Return the invalid values: key, problem and remedy."""
        problems: Issues = []
        if not self.run or not self.run[0]:
            problems.append((("run",), "no program is named", 'write run: ["/usr/bin/backup", "--all"]'))
        problems += [
            (("environment", name), f"{name!r} cannot be a variable", "write NAME: value")
            for name in self.environment
            if not name or "=" in name
        ]
        problems += [
            (("success-exit-codes", number), f"{status} is not an exit status", "write 0 to 255")
            for number, status in enumerate(self.success_exit_codes)
            if not 0 <= status <= 255
        ]
        return problems


def program(options: Options, directory: Path, environment: Mapping[str, str]) -> Program:
    """Return the program to run. `directory` is the folder of the configuration."""
    name, *arguments = options.run
    return Program(
        argv=[resolve_program(name, directory=directory), *arguments],
        folder=options.directory or directory,
        environment={**environment, **options.environment},
        stdin=(options.stdin or "").encode(),
    )


def result(options: Options, program: Program, ended: ProgramResult) -> Result:
    """Return the result of a program that ended by itself. Its output is in the log of the run.

    Raises:
        Refused: It could not be run, or its exit status does not mean success.
    """
    name, status = options.run[0], ended.status
    if ended.error is not None:
        raise Refused(explain_missing(name, program.argv[0], options.directory, ended.error))
    assert status is not None
    if status not in options.success_exit_codes:
        raise Refused(f"{name} {describe_exit_status(status)}")
    return Result(f"{name} ended well", details={"status": status})
