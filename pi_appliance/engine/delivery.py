"""One round of sending: what is due goes out, what could not waits longer, what nobody takes is given up.

At least once: a letter is noted as sent after it was. A power cut in between sends it again; the number of the run in
it shows that it is the same.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from urllib.parse import urlsplit

from pi_appliance import registry
from pi_appliance.core import backoff, durations
from pi_appliance.engine import pings
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.model.notice import Addresses, Event, Letter, Message
from pi_appliance.ports import Notice
from pi_appliance.reports import as_notice
from pi_appliance.store.outbox import LONGEST_WAIT, WINDOW, Outbox
from pi_appliance.store.sqlite import Store
from pi_appliance.system import alarm, logs

log = logging.getLogger("pi_appliance.notices")
ONE_SEND = 30.0  # seconds that one message may take
_ONE_PING = 10.0
_FIRST_WAIT = timedelta(minutes=1)
_GIVEN_UP = timedelta(days=3)
_FEWEST_TRIES = 10  # before it is given up: a letter may look old because the clock was wrong when it was written
_MOST = 5  # messages that one notice carries within WINDOW; more are told in one
_PINGS = {Event.PING_SUCCESS: "", Event.PING_FAIL: "fail"}


def connect(to: Addresses, notice: str, secrets: Mapping[str, str]) -> Notice:
    """Return the notice of that name, which the file must have. Raises Refused if it cannot be used as it stands."""
    part = to.notices[notice]
    made: Notice = registry.load("notices", part.kind).connect(part.with_, secrets)
    return made


class Round:
    """What is due in a store, sent to whom the file names. No send begins when the clock STEADY is past UNTIL."""

    def __init__(
        self,
        to: Addresses,
        store: Store,
        *,
        host: str,
        random: Random,
        now: Callable[[], datetime],
        until: float = float("inf"),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._to, self._store, self._outbox, self._host = to, store, Outbox(store), host
        self._random, self._now, self._until, self._steady = random, now, until, steady
        self._secrets: Mapping[str, str] = {}
        self._secret = b""

    def send(self, secrets: Mapping[str, str], secret: bytes) -> None:
        """Send all that is due, as far as there is time. What goes wrong with one is no trouble to the others.

        SECRETS fill the addresses; SECRET is that of the installation, for the names that runs have in pings. Raises
        Unavailable if the store takes no note.
        """
        self._secrets, self._secret = secrets, secret
        due: dict[str, list[Letter]] = {}
        for letter in self._outbox.due(self._now()):
            due.setdefault(letter.notice, []).append(letter)
        due_pings = due.pop("", [])
        for notice, letters in due.items():
            if notice in self._to.notices:
                self._notice(notice, letters)
            else:
                self._gone(letters)
        self._pings(due_pings)  # last: nobody reads them

    def hold(self, why: str) -> None:
        """Let all that is due wait, because of WHY."""
        self._not_sent(self._outbox.due(self._now()), why)

    # --- notices -----------------------------------------------------------------------------------------------------

    def _notice(self, notice: str, letters: Sequence[Letter]) -> None:
        parcels = self._parcels(notice, letters)
        for number, parcel in enumerate(parcels):
            if self._steady() >= self._until:
                return
            message, event = self._message(parcel), parcel[0].event
            trouble = self._try(parcel, lambda: self._send(notice, message, event))  # noqa: B023 - called at once
            if trouble:  # the others would fare no better
                self._not_sent([letter for rest in parcels[number + 1 :] for letter in rest], str(trouble))
                return

    def _parcels(self, notice: str, letters: Sequence[Letter]) -> list[list[Letter]]:
        """Return what goes as one message each; what is too much for now waits. Two hundred messages help nobody."""
        own = [[letter] for letter in letters if letter.event is Event.WORDS]
        others = [letter for letter in letters if letter.event is not Event.WORDS]
        carried = self._outbox.carried(notice, self._now())
        room = _MOST - len(carried)
        if len(others) <= room:
            return own + [[letter] for letter in others]
        if room > 0:
            return [*own, others]
        self._outbox.postpone(others, carried[0] + WINDOW, why="it carried enough for a while", tried=False)
        return own

    def _send(self, notice: str, message: Message, event: Event) -> None:
        with alarm.at_most(ONE_SEND):
            connect(self._to, notice, self._secrets).send(message, event)

    def _message(self, parcel: Sequence[Letter]) -> Message:
        if parcel[0].event is Event.WORDS:
            return parcel[0].message
        news = [self._news(letter) for letter in parcel]
        if len(news) > 1:
            return as_notice.together(news, host=self._host)
        return as_notice.message(news[0], host=self._host, zone=self._to.zone)

    def _news(self, letter: Letter) -> as_notice.News:
        failures, since, log_path = 0, None, self._store.path.parent / "logs" / letter.job / f"{letter.run}.log"
        if letter.event is Event.RECOVERY:
            failures, since = self._outbox.failures_before(letter.job, letter.run)
        return as_notice.News(
            event=letter.event,
            job=letter.job,
            number=letter.run,
            run=self._store.run(letter.run),
            log=logs.read(log_path) if letter.event in (Event.FAILURE, Event.PING_FAIL) else "",
            failures=failures,
            since=since,
        )

    # --- pings -------------------------------------------------------------------------------------------------------

    def _pings(self, letters: Sequence[Letter]) -> None:
        away: dict[str, str] = {}  # hosts that were not reached, and why
        for letter in letters:
            address = self._to.pings.get(letter.job, "")
            host = urlsplit(address).netloc or address
            if not address:
                self._gone([letter])
            elif host in away:
                self._not_sent([letter], away[host])
            elif self._steady() < self._until:
                trouble = self._try([letter], lambda: self._ping(address, letter))  # noqa: B023 - called at once
                if trouble and not isinstance(trouble, Refused):
                    away[host] = str(trouble)

    def _ping(self, address: str, letter: Letter) -> None:
        body = as_notice.of_ping(self._news(letter))
        rid = pings.run_id(self._secret, letter.run)
        with alarm.at_most(ONE_SEND):
            pings.call(address, _PINGS[letter.event], body, secrets=self._secrets, rid=rid, seconds=_ONE_PING)

    # --- one try -----------------------------------------------------------------------------------------------------

    def _try(self, letters: Sequence[Letter], send: Callable[[], None]) -> ApplianceError | None:
        """Send LETTERS by SEND, note what became of it, and return what SEND raised.

        The next try is noted before this one: where nothing can be written, nothing is sent anew each minute.
        """
        self._wait(letters, "it was cut off while it was sent")
        try:
            send()
        except ApplianceError as error:
            self._not_sent(letters, str(error), noted=True)
            return error
        self._outbox.sent(letters, now=self._now())
        log.info("%s: sent: %s", _whom(letters[0]), ", ".join(f"{each.job} run {each.run}" for each in letters))
        return None

    def _gone(self, letters: Sequence[Letter]) -> None:
        """Let go of letters to whom the file does not name any more; not of those that it cannot name just now."""
        if self._to.whole:
            log.warning("%s: not in the file any more; %d dropped", _whom(letters[0]), len(letters))
            self._outbox.drop(letters)
        else:
            self._not_sent(letters, "the configuration is wrong; see: pi-appliance config check")

    def _not_sent(self, letters: Sequence[Letter], why: str, *, noted: bool = False) -> None:
        """Let LETTERS wait, or give them up after days. NOTED: that they were tried is noted already."""
        now = self._now()
        given_up = [each for each in letters if each.tries + 1 >= _FEWEST_TRIES and now - each.made > _GIVEN_UP]
        if given_up:
            after = durations.render(_GIVEN_UP)
            log.warning("%s: %d given up after %s: %s", _whom(given_up[0]), len(given_up), after, why)
            self._outbox.drop(given_up)
        self._wait([letter for letter in letters if letter not in given_up], why, tried=not noted)

    def _wait(self, letters: Sequence[Letter], why: str, *, tried: bool = True) -> None:
        if letters:
            tries = max(letter.tries for letter in letters) + 1
            wait = backoff.wait(tries, first=_FIRST_WAIT, at_most=LONGEST_WAIT, random=self._random)
            self._outbox.postpone(letters, self._now() + wait, why=why, tried=tried)


def _whom(letter: Letter) -> str:
    return f"notice {letter.notice}" if letter.notice else f"ping of {letter.job}"
