"""Print the packages of Debian that this environment uses, or the licenses of what it carries.

Usage: describe.py depends|licenses EXTRA…
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement

NAME = "pi-appliance"
DEBIAN = Path("/usr/lib/python3/dist-packages")


def needed(name: str, extras: set[str], seen: dict[str, Distribution]) -> None:
    """Add `name` with all that it requires to `seen`."""
    found = seen[name] = distribution(name)
    for text in found.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            key = re.sub(r"[-_.]+", "-", requirement.name).lower()
            if key not in seen or requirement.extras:
                needed(key, set(requirement.extras), seen)


def metadata_file(found: Distribution) -> Path:
    """Return the file or folder with the metadata."""
    return Path(str(found._path))  # type: ignore[attr-defined]  # noqa: SLF001 - it has no public name


def depends(found: list[Distribution]) -> Iterator[str]:
    """Yield the packages of Debian, with their least versions."""
    for each in found:
        if metadata_file(each).parent == DEBIAN:
            owner = _output("dpkg-query", "-S", str(metadata_file(each))).partition(":")[0]
            version = _output("dpkg-query", "-W", "-f", "${Version}", owner)
            yield f"{owner} (>= {re.sub('-[^-]*$', '', version)})"


def licenses(found: list[Distribution]) -> Iterator[str]:
    """Yield the names, versions and license texts of what is not from Debian."""
    for each in found:
        folder = metadata_file(each)
        if folder.parent == DEBIAN or each.name == NAME:
            continue
        said = each.metadata.get("License-Expression") or each.metadata.get("License") or ""
        named = [c.rpartition(" :: ")[2] for c in each.metadata.get_all("Classifier") or () if c.startswith("License")]
        summary = said if said and "\n" not in said else ", ".join(named) or "see below"
        yield f"\n{'-' * 78}\n{each.name} {each.version}: {summary}\n"
        for file in sorted(folder.rglob("*")):
            if re.match("(?i)licen[cs]e|copying|notice", file.name) and file.is_file():
                text = file.read_text("utf-8", "replace")
                is_apache = "Apache License" in text and "TERMS AND CONDITIONS" in text
                yield "On Debian, see /usr/share/common-licenses/Apache-2.0." if is_apache else text


def _output(*words: str) -> str:
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    """Print what the first word asks for."""
    seen: dict[str, Distribution] = {}
    needed(NAME, set(sys.argv[2:]), seen)
    found = [seen[name] for name in sorted(seen)]
    if sys.argv[1] == "depends":
        sys.stdout.write(", ".join(sorted(set(depends(found)))) + "\n")
    else:
        sys.stdout.write("\n".join(licenses(found)) + "\n")


main()
