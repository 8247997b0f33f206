"""Notifier `apprise`: mail, ntfy, webhooks and about a hundred other services.

Apprise reports details of a failure only in its log, together with addresses and topics.
The log is therefore captured and never passed on. Errors use our own texts.
"""

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pi_appliance.config import secrets as addresses
from pi_appliance.errors import ApplianceError, Issues, Refused, Unavailable
from pi_appliance.storage.model import Event, Message
from pi_appliance.system import http

_FORMS = "https://appriseit.com/services/"
_LACKS = {"~From~": ": from=… must be a whole mail address, such as from=pi@example.org"}
_EXAMPLE = "ntfys://ntfy.sh/${NTFY_TOPIC}"
_TYPES = {Event.FAILURE: "failure", Event.RECOVERY: "success"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys under `with:`."""

    url: Annotated[str, "where to, as Apprise writes it, such as ntfys://ntfy.sh/${NTFY_TOPIC}; ${NAME} is a secret"]

    def check(self) -> Issues:
        """Return the path, the problem and the correction of each invalid key."""
        problem = addresses.find_address_problem(self.url, _EXAMPLE)
        return [(("url",), *problem)] if problem else []

    def names(self) -> tuple[str, ...]:
        """Return the names of the secrets in the address."""
        return addresses.secret_names_in(self.url)

    def __str__(self) -> str:
        return addresses.redact_address(self.url)


def missing_secrets(options: Options, secrets: Mapping[str, str]) -> str:
    """Return a message with the names of the missing secrets, or an empty string."""
    missing = addresses.missing_secrets(options.url, secrets)
    return f"missing secrets: {', '.join(missing)}; add them to secrets.env" if missing else ""


def connect(options: Options, secrets: Mapping[str, str]) -> "AppriseNotifier":
    """Return a sender for the address.

    Raises:
        Refused: A secret is missing, or Apprise does not understand the address.
    """
    if missing := missing_secrets(options, secrets):
        raise Refused(missing)
    import apprise  # noqa: PLC0415 - half a second and 35 MB that only a process which sends shall pay

    return AppriseNotifier(apprise, addresses.substitute_secrets(options.url, secrets))


class AppriseNotifier:
    """Sends messages to one address."""

    def __init__(self, apprise: Any, url: str) -> None:
        self._apprise = apprise
        self._asset = apprise.AppriseAsset(
            app_id="pi-appliance",
            app_desc="pi-appliance",
            image_url_mask=None,  # an image would make phones load something from elsewhere
            image_url_logo=None,
            storage_mode="memory",
            pgp_autogen=False,
            pem_autogen=False,
        )
        self._url = url
        with _capture_log() as log_lines:
            sender = self._create_sender()
        if sender is None:
            missing = next((words for sign, words in _LACKS.items() if sign in "\n".join(log_lines)), "")
            raise Refused(f"Apprise does not understand this address{missing}; its forms: {_FORMS}")

    def send(self, message: Message, event: Event) -> None:
        """Send `message`.

        Raises:
            Unavailable: It may work later. The text contains nothing of the address.
            Refused: It will not work. The text contains nothing of the address.
        """
        with _capture_log() as log_lines:
            # A new sender for each message: Apprise delays the second one of a sender by seconds.
            sender = self._create_sender()
            try:
                sent = sender.notify(
                    title=message.title,
                    body=message.body or message.title,  # Apprise sends no message without a body
                    notify_type=_TYPES.get(event, "info"),
                    body_format="text",
                )
            except ApplianceError:  # such as a deadline, which is not an error of Apprise
                raise
            except Exception as error:  # noqa: BLE001 - a hundred senders of other people, and a text that may hold an address
                raise Refused(f"Apprise failed with an internal error ({type(error).__name__})") from None
        if not sent:
            raise _translate_error("\n".join(log_lines))

    def _create_sender(self) -> Any:
        return self._apprise.Apprise.instantiate(self._url, asset=self._asset)


@contextlib.contextmanager
def _capture_log() -> Iterator[list[str]]:
    """Collect the log messages of Apprise during the block, and hide them from other handlers."""
    log_lines: list[str] = []

    class LogCapture(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            log_lines.append(record.getMessage())

    log, handler = logging.getLogger("apprise"), LogCapture()
    before = log.level, log.propagate, log.handlers
    log.setLevel(logging.DEBUG)
    log.propagate, log.handlers = False, [handler]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the plug-ins, which the first sender imports, cause warnings
            yield log_lines
    finally:
        log.setLevel(before[0])
        log.propagate, log.handlers = before[1:]


def _translate_error(log_text: str) -> ApplianceError:
    """Return the error for a failure with the log messages `log_text`."""
    if answer := re.search(r"error=(\d{3})\b|Exception: \((\d{3}), b?['\"]", log_text):
        status = answer[1] or answer[2]
        hint = _HINTS.get(status, "")
        return (Unavailable if status in _LATER else Refused)(f"the service answered {status}{hint}")
    if "recipients to notify" in log_text:
        return Refused("there is no recipient; to=… must be whole mail addresses, such as to=me@example.org")
    causes = "\n".join(line for line in log_text.splitlines() if "Exception" in line)
    reason = http.describe_network_error(causes)
    return Unavailable(f"not reached: {reason}" if reason else "the service rejected the message without a reason")


_LATER = {"408", "421", "425", "429", "450", "451", "452", "454", "500", "502", "503", "504"}
_HINTS = {
    "401": ": wrong user, password or token",
    "403": ": not allowed with this user or token",
    "404": ": nothing of that name is there",
    "429": ": too many messages just now",
    "535": ": wrong user or password",
}
