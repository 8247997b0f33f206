"""A crontab that tests may do anything with: of a user made for it, or of the real one where that has none."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

CRONTAB = "/usr/bin/crontab"


class Crontab:
    """The crontab of a user, by the real program; `user` is None for the one who runs the tests."""

    def __init__(self, user: str | None) -> None:
        self.user = user
        self.command = [CRONTAB, *(["-u", user] if user else [])]

    def set(self, text: bytes | None) -> bool:
        """Make `text` the crontab (None: no crontab). Returns False if cron does not take it."""
        subprocess.run([*self.command, "-r"], capture_output=True, check=False)
        if text is None:
            return True
        return subprocess.run([*self.command, "-"], input=text, capture_output=True, check=False).returncode == 0

    def get(self) -> bytes | None:
        """Return what `crontab -l` prints; None where there is no crontab."""
        listed = subprocess.run([*self.command, "-l"], capture_output=True, check=False)
        return listed.stdout if listed.returncode == 0 else None

    def stored(self) -> bytes | None:
        """Return the bytes in cron's own folder, without cron's three lines at their head. For root only."""
        file = Path("/var/spool/cron/crontabs", self.user or "root")
        return file.read_bytes().split(b"\n", 3)[3] if file.exists() else None


@contextlib.contextmanager
def scratch_crontab() -> Iterator[Crontab]:
    """Give a crontab without entries, and leave none behind."""
    if not Path(CRONTAB).exists():
        pytest.skip("cron is not installed")
    if os.geteuid() != 0:
        own = Crontab(None)
        if own.get():
            pytest.skip(
                "your crontab has entries, and the tests leave them alone; as root they use a user of their own"
            )
        try:
            yield own
        finally:
            own.set(None)
        return
    if not (shutil.which("useradd") and shutil.which("userdel")):
        pytest.skip("useradd and userdel are not in PATH; as root add the folder /usr/sbin to it")
    user = f"scratch-{os.getpid()}"
    subprocess.run(["useradd", "--system", "--no-create-home", "--no-log-init", user], check=True)
    scratch = Crontab(user)
    try:
        yield scratch
    finally:
        scratch.set(None)
        subprocess.run(["userdel", user], check=True, capture_output=True)
