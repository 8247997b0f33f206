"""Which values must never be shown to a stranger: all that may be a secret here, however badly it is kept."""

import re
from collections.abc import Mapping
from pathlib import Path

from pi_appliance.system import secrets

_SHORTEST = 6  # characters of a variable that is taken for a secret by its name alone; `true` and `1` are none
_HARMLESS = ("PWD",)
SECRET_NAME = re.compile(
    r"pass(?:word|phrase|wd|code)?$|^pass|secret|token|credential|bearer|cookie|topic|"
    r"(?:^|[-_.])(?:auth|(?:keys?|pin|pwd|ping)$)",
    re.IGNORECASE,
)
"""Fits the names of things that are kept secret."""


def values(config: Path | None, environment: Mapping[str, str]) -> tuple[frozenset[str], bool]:
    """Return all values that go with CONFIG, and whether they are all: False where a file of secrets keeps us out.

    More than what `secrets.load` returns: also from a file that it refuses, from lines that it does not understand, and
    from ENVIRONMENT whatever is called like a secret.
    """
    found = {value for name, value in environment.items() if name in secrets.KNOWN and value}
    named = [name for name in environment if SECRET_NAME.search(name) and name not in _HARMLESS]
    found |= {environment[name] for name in named if len(environment[name]) >= _SHORTEST}
    whole = True
    for file in _files(config, environment):
        try:
            text = file.read_text("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            whole = False
            continue
        for line in text.splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                name, equals, value = line.strip().partition("=")
                found.add(value.strip().strip("\"'") if equals else name)
    return frozenset(found - {""}), whole


def _files(config: Path | None, environment: Mapping[str, str]) -> list[Path]:
    found = [config.absolute().parent / secrets.NAME] if config is not None else []
    if folder := environment.get("CREDENTIALS_DIRECTORY"):
        found.append(Path(folder, secrets.NAME))
    return found
