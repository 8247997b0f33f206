"""What must never be shown to a stranger or handed to a program: all that may be a secret, however badly it is kept."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from pi_appliance import registry
from pi_appliance.system import secrets

_SHORTEST = 6  # characters of a variable that is taken for a secret by its name alone; `true` and `1` are none
_HARMLESS = ("PWD",)
SECRET_NAME = re.compile(
    r"pass(?:word|phrase|wd|code)?$|^pass|secret|token|credential|bearer|cookie|topic|"
    r"(?:^|[-_.])(?:auth|(?:keys?|pin|pwd|ping)$)",
    re.IGNORECASE,
)
"""Fits the names of things that are kept secret."""


def ours(environment: Mapping[str, str], named: Collection[str]) -> frozenset[str]:
    """Return which variables of ENVIRONMENT are secrets of the appliance, of which its configuration has NAMED some.

    Also keys of networks that it names no longer, or not yet: by what they are called.
    """
    kinds = tuple(f"{kind.upper().replace('-', '_')}_" for kind in registry.names("networks"))
    keys = {name for name in environment if name.startswith(kinds) and SECRET_NAME.search(name)}
    return frozenset(keys | (environment.keys() & {*secrets.KNOWN, *named}))


def values(
    config: Path | None, environment: Mapping[str, str], named: Collection[str] = ()
) -> tuple[frozenset[str], bool]:
    """Return all values that go with CONFIG, and whether they are all: False where a file of secrets keeps us out.

    More than what `secrets.load` returns: also from a file that it refuses, from lines that it does not understand,
    and from ENVIRONMENT what is NAMED and whatever is called like a secret.
    """
    found = {environment[name] for name in ours(environment, named)}
    like = [name for name in environment if SECRET_NAME.search(name) and name not in _HARMLESS]
    found |= {environment[name] for name in like if len(environment[name]) >= _SHORTEST}
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
                name, value = secrets.parse_line(line)
                found |= {name} if value is None else {value, value.strip("\"'")}
    return frozenset(found - {""}), whole


def _files(config: Path | None, environment: Mapping[str, str]) -> list[Path]:
    found = [config.absolute().parent / secrets.NAME] if config is not None else []
    if folder := environment.get("CREDENTIALS_DIRECTORY"):
        found.append(Path(folder, secrets.NAME))
    return found
