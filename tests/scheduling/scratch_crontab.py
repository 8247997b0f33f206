"""A crontab for tests: of a user created for it, or the real one if that is empty."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

CRONTAB = "/usr/bin/crontab"


class Crontab:
    """The crontab of a user, by the real program; `user` None is the current user."""

    def __init__(self, user: str | None) -> None:
        self.user = user
        self.command = [CRONTAB, *(["-u", user] if user else [])]

    def set(self, text: bytes | None) -> bool:
        """Install `text` (None: remove). Returns False if cron refuses it."""
        subprocess.run([*self.command, "-r"], capture_output=True, check=False, timeout=60)
        if text is None:
            return True
        done = subprocess.run([*self.command, "-"], input=text, capture_output=True, check=False, timeout=60)
        return done.returncode == 0

    def get(self) -> bytes | None:
        """Return the output of `crontab -l`; None without a crontab."""
        listed = subprocess.run([*self.command, "-l"], capture_output=True, check=False, timeout=60)
        return listed.stdout if listed.returncode == 0 else None

    def stored(self) -> bytes | None:
        """Return the bytes in cron's folder, without its three header lines. For root only."""
        file = Path("/var/spool/cron/crontabs", self.user or "root")
        return file.read_bytes().split(b"\n", 3)[3] if file.exists() else None


@contextlib.contextmanager
def scratch_crontab() -> Iterator[Crontab]:
    """Yield a crontab without entries and remove it afterwards."""
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
    subprocess.run(["useradd", "--system", "--no-create-home", "--no-log-init", user], check=True, timeout=60)
    scratch = Crontab(user)
    try:
        yield scratch
    finally:
        scratch.set(None)
        subprocess.run(["userdel", user], check=True, capture_output=True, timeout=60)
