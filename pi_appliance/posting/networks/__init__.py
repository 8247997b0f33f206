"""Social networks: the plug-ins are the modules of this package, one for each kind.

Those that start with `_` are helpers. `posting/exactly_once.py` connects a network.
"""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi_appliance.errors import Unavailable
from pi_appliance.system import files

CHECK_ACCOUNT = "check the account before you post it again"


def save_private(path: Path, content: Mapping[str, Any]) -> None:
    """Write `content` to `path` as JSON, readable for the service only.

    Errors are ignored: without the file a network asks again, and posting still works.
    """
    with contextlib.suppress(OSError, Unavailable):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_file(path, json.dumps(content).encode(), mode=0o600)
