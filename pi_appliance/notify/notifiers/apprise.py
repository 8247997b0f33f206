"""Notice 'apprise': mail, ntfy, webhooks and a hundred more, by Apprise. The only file that imports it.

Apprise says no more than yes or no to its caller, and the rest to its log, with addresses and topics in it. So the log
is caught, nothing of it is passed on, and what is told of a failure is chosen from words of our own.
"""

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pi_appliance.config import addresses
from pi_appliance.config.notifications import Event, Message
from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.system import http

_FORMS = "https://appriseit.com/services/"
_LACKS = {
    "~From~": ": from=… must be a whole mail address, such as from=pi@example.org",
}
_EXAMPLE = "ntfys://ntfy.sh/${NTFY_TOPIC}"
_TYPES = {Event.FAILURE: "failure", Event.RECOVERY: "success"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a notice of this kind takes under `with:`."""

    url: Annotated[str, "where to, as Apprise writes it, such as ntfys://ntfy.sh/${NTFY_TOPIC}; ${NAME} is a secret"]

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a key: where, what, and what would be right."""
        found = addresses.find_problem(self.url, _EXAMPLE)
        return [(("url",), *found)] if found else []

    def names(self) -> tuple[str, ...]:
        """Return the names of the secrets that are wanted."""
        return addresses.secret_names_in(self.url)

    def __str__(self) -> str:
        """Return where to, as far as it may be shown."""
        return addresses.redact(self.url)


def missing_secrets(options: Options, secrets: Mapping[str, str]) -> str:
    """Return which secrets are missing among SECRETS, in words; nothing if none is."""
    missing = addresses.missing_secrets(options.url, secrets)
    return f"no {', '.join(missing)} among the secrets; put it into secrets.env" if missing else ""


def connect(options: Options, secrets: Mapping[str, str]) -> "Sender":
    """Return what sends. Raises Refused if a secret is missing or Apprise does not understand the address."""
    if missing := missing_secrets(options, secrets):
        raise Refused(missing)
    import apprise  # noqa: PLC0415 - half a second and 35 MB that only a process which sends shall pay

    return Sender(apprise, addresses.substitute(options.url, secrets))


class Sender:
    """One address."""

    def __init__(self, apprise: Any, url: str) -> None:
        self._apprise = apprise
        self._asset = apprise.AppriseAsset(
            app_id="pi-appliance",
            app_desc="pi-appliance",
            image_url_mask=None,  # no picture that a phone would fetch from somewhere else
            image_url_logo=None,
            storage_mode="memory",
            pgp_autogen=False,
            pem_autogen=False,
        )
        self._url = url
        with _heard() as said:
            made = self._made()
        if made is None:
            lack = next((words for sign, words in _LACKS.items() if sign in "\n".join(said)), "")
            raise Refused(f"Apprise does not understand this address{lack}; its forms: {_FORMS}")

    def send(self, message: Message, event: Event) -> None:
        """Send MESSAGE. Raises Unavailable or Refused, in words that hold nothing of the address."""
        with _heard() as said:
            # Made anew each time: Apprise makes the second message of one sender wait for seconds.
            sender = self._made()
            try:
                sent = sender.notify(
                    title=message.title,
                    body=message.body or message.title,  # it sends none without
                    notify_type=_TYPES.get(event, "info"),
                    body_format="text",
                )
            except ApplianceError:  # our own, such as a deadline
                raise
            except Exception as error:  # noqa: BLE001 - a hundred senders of other people, and a text that may hold an address
                raise Refused(f"Apprise stumbled over it ({type(error).__name__})") from None
        if not sent:
            raise _translate_error("\n".join(said))

    def _made(self) -> Any:
        return self._apprise.Apprise.instantiate(self._url, asset=self._asset)


@contextlib.contextmanager
def _heard() -> Iterator[list[str]]:
    """Give what Apprise says to its log while the block runs; nothing of it goes anywhere else, and no warning."""
    said: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    log, ear = logging.getLogger("apprise"), Ear()
    before = log.level, log.propagate, log.handlers
    log.setLevel(logging.DEBUG)
    log.propagate, log.handlers = False, [ear]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its hundred files, which are all read when the first sender is made
            yield said
    finally:
        log.setLevel(before[0])
        log.propagate, log.handlers = before[1:]


def _translate_error(said: str) -> ApplianceError:
    """Return what a failure means, of which Apprise SAID this."""
    if answer := re.search(r"error=(\d{3})\b|Exception: \((\d{3}), b?['\"]", said):
        status = answer[1] or answer[2]
        hint = _HINTS.get(status, "")
        return (Unavailable if status in _LATER else Refused)(f"the service answered {status}{hint}")
    if "recipients to notify" in said:
        return Refused("there is nobody to send it to; to=… must be whole mail addresses, such as to=me@example.org")
    causes = "\n".join(line for line in said.splitlines() if "Exception" in line)
    why = http.describe_network_error(causes)
    return Unavailable(f"not reached: {why}" if why else "the service did not take it, and did not say why")


_LATER = {"408", "421", "425", "429", "450", "451", "452", "454", "500", "502", "503", "504"}
_HINTS = {
    "401": ": wrong user, password or token",
    "403": ": not allowed with this user or token",
    "404": ": nothing of that name is there",
    "429": ": too many messages just now",
    "535": ": wrong user or password",
}
