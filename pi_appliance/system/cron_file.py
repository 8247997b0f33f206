"""Whether cron will read our entries where they lie: what Debian's cron wants of a file in /etc/cron.d."""

import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.system.cron_places import SYSTEM_FILE

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_OURS = b" --by cron "


@dataclass(frozen=True, slots=True)
class Fault:
    """Why cron passes over a file, or over a part of it, and the command that mends it."""

    why: str
    mend: str


def faults(file: Path = SYSTEM_FILE) -> list[Fault]:
    """Return what keeps cron from reading FILE; nothing where there is no such file. Raises OSError."""
    try:
        about, content = file.stat(), file.read_bytes()
    except FileNotFoundError:
        return []
    found, name = [], shlex.quote(str(file))
    if about.st_uid != 0:
        found.append(Fault(f"{file} does not belong to root, so cron does not read it", f"sudo chown root:root {name}"))
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        found.append(Fault(f"others may write to {file}, so cron does not read it", f"sudo chmod 644 {name}"))
    if content and not content.endswith(b"\n"):
        why = f"{file} has no newline at its end, so cron reads nothing of it"
        found.append(Fault(why, f"echo | sudo tee -a {name}"))
    return found


def misnamed(folder: Path = SYSTEM_FILE.parent) -> list[Fault]:
    """Return the files in FOLDER that hold entries of ours under a name that cron passes over."""
    found, right = [], folder / SYSTEM_FILE.name
    for file in sorted(folder.glob("*")):
        if not _NAME.fullmatch(file.name) and _has_entries(file):
            name = shlex.quote(str(file))
            mend = f"sudo rm {name}" if right.exists() else f"sudo mv {name} {shlex.quote(str(right))}"
            found.append(Fault(f"cron passes over {file}: only letters, digits, - and _ may be in its name", mend))
    return found


def _has_entries(file: Path) -> bool:
    try:
        return file.is_file() and _OURS in file.read_bytes()
    except OSError:
        return False
