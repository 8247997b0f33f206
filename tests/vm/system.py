"""The interface of a disposable Debian, which is a container or an emulated computer."""

import json
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod


class System(ABC):
    """One Debian that boots with systemd and runs the appliance, whose page is at `port` of this machine."""

    patience: float  # seconds that a step may take
    port = 8080

    @abstractmethod
    def run(self, *words: str, stdin: str = "", check: bool = True) -> tuple[int, str]:
        """Run a program as root, and return its exit status and its output of both kinds."""

    def appliance(self, *words: str, stdin: str = "", check: bool = True) -> tuple[int, str]:
        """Run `pi-appliance` as the user of the service."""
        return self.run("runuser", "-u", "pi-appliance", "--", "pi-appliance", *words, stdin=stdin, check=check)

    def read(self, path: str) -> str:
        """Return the text of a file, without the space around it."""
        return self.run("cat", path)[1]

    def write(self, path: str, text: str) -> None:
        """Write a file. One that is there keeps its owner."""
        self.run("sh", "-c", 'cat >"$0"', path, stdin=text)

    def health(self) -> dict[str, object] | None:
        """Return the health of the appliance from its page, or None if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                return dict(json.load(answer))
        except (urllib.error.URLError, OSError):
            return None

    def wait_for_page(self) -> None:
        """Wait until the page answers."""
        start = time.monotonic()
        while self.health() is None:
            assert time.monotonic() - start < self.patience, self._journal()
            time.sleep(0.2)

    def _journal(self) -> str:
        return self.run("journalctl", "--no-pager", "--lines=50", "--unit=pi-appliance")[1]

    @property
    def main_pid(self) -> str:
        """The process of the daemon, or "0"."""
        return self.run("systemctl", "show", "--property=MainPID", "--value", "pi-appliance")[1]
