"""The browser of the tests: Chromium's headless shell, which takes half of the processor time, or Chromium itself."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

from tests.warm_program import IS_COLD

_NAMES = ("chromium", "chromium-headless-shell") if IS_COLD else ("chromium-headless-shell", "chromium")
CHROMIUM = Path(next(filter(None, map(shutil.which, _NAMES)), "/usr/bin/chromium"))


def launch_chromium(playwright: Playwright) -> Browser:
    """Start the browser. It reaches no other machine."""
    flags = ["--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP * 127.0.0.1"]
    if not IS_COLD:
        flags.append("--in-process-gpu")  # a tenth less processor time
    return playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
