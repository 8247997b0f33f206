"""Archives of releases for the machines, and the times of their steps."""

import io
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_appliance import __version__
from tests.installation import ROOT


def write_release(folder: Path, version: str, **changed: str) -> Path:
    """Write the archive of a release from the files of this clone; `changed` are lines put before modules."""
    names = subprocess.run(("git", "ls-files"), cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    path = folder / f"pi-appliance-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in filter(None, names):
            if not name.startswith("tests/"):
                member = archive.gettarinfo(str(ROOT / name), f"pi-appliance-{version}/{name}")
                if not member.isreg():
                    archive.addfile(member)
                    continue
                text = (ROOT / name).read_bytes()
                if name == "pi_appliance/__init__.py":
                    text = text.replace(f'"{__version__}"'.encode(), f'"{version}"'.encode())
                text = changed.get(Path(name).stem, "").encode() + text if name.endswith(".py") else text
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
    return path


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Print how long the block took."""
    start = time.monotonic()
    yield
    sys.stdout.write(f"{step}: {time.monotonic() - start:.1f} s\n")
