"""Network `diary`: a third-party plug-in with login and check that logs too much."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated

from pi_appliance.config.options import NetworkDirs
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.posting.model import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this network."""

    secrets_prefix: Annotated[str, "what the names of its secrets begin with"] = "DIARY"
    needs: Annotated[str, "a module that it imports"] = ""


def required_secrets(options: Options) -> Mapping[str, str]:
    return {f"{options.secrets_prefix}_NAME": "whose it is", f"{options.secrets_prefix}_TOKEN": "what opens it"}


def login(options: Options, prompt: Prompt) -> dict[str, str]:
    if options.needs:
        __import__(options.needs)
    prompt.show("Look at the inside of the cover.")
    name, token = prompt.ask("Whose diary is it?"), prompt.ask("Token", secret=True)
    logging.getLogger("diary").warning("was given %s", token)
    if name == "echo":
        raise Refused(f"the diary has no page {token}")
    return {f"{options.secrets_prefix}_NAME": name, f"{options.secrets_prefix}_TOKEN": token}


def connect(options: Options, secrets: Mapping[str, str], place: NetworkDirs) -> "Diary":
    if options.needs:
        __import__(options.needs)
    return Diary(*(secrets[name] for name in required_secrets(options)), place)


class Diary:
    """One diary; its token selects the failure."""

    idempotent = False
    search_lag = timedelta(0)
    lookup_price = Decimal(0)

    def __init__(self, name: str, token: str, place: NetworkDirs) -> None:
        self._name, self._token, self._place = name, token, place

    def whoami(self) -> str:
        log = logging.getLogger("diary")
        log.debug("opening it with %s", self._token)
        if list(self._place.private.iterdir()):
            raise Refused("it remembers an earlier time")
        self._place.private.joinpath("session").write_text(self._token)
        match self._token.partition(" ")[0]:
            case "wrong":
                raise Refused(f"the token {self._token} does not open it (401)")
            case "away":
                raise Unavailable("nobody is at home")
            case "broken":
                try:
                    raise ValueError(f"in the middle of {self._token}")
                except ValueError:
                    log.warning("it fell over", exc_info=True)
                raise Refused("it fell over")
        return f"@{self._name}"
