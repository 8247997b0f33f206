"""How an owner gets the four keys of an account on X: from the developer console, or by a PIN (OAuth 1.0a)."""

from collections.abc import Sequence
from urllib.parse import parse_qs, urlencode

from requests_oauthlib import OAuth1

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.networks._exchange import Answered, Cut, Session
from pi_appliance.networks._x_answers import CONSOLE, Answers, is_name
from pi_appliance.ports import Talk

_AGAIN = "nothing was changed; try again later"


def walk(talk: Talk, session: Session, *, home: str, shown: str, keys: str) -> Sequence[str]:
    """Return the app's key and secret and the account's token and secret, as the owner gives them or X makes them.

    HOME is where the requests go, SHOWN the address that the owner opens. Raises Refused or Unavailable.
    """
    talk.say(f"{CONSOLE}, shows the keys of an app under 'Keys and tokens'. It needs the right to read and write.")
    app = (_wanted(talk, "API key (or consumer key)"), _wanted(talk, "API key secret"))
    token = talk.ask("Access token, if the console made one for this account; else Enter, for a PIN", secret=True)
    if token:
        return (*app, token, _wanted(talk, "Access token secret"))
    return (*app, *_Pin(talk, session, home, keys, app).walk(shown))


def _wanted(talk: Talk, what: str) -> str:
    answer = talk.ask(what, secret=True)
    if not answer:
        raise Refused(f"no {what} was given; nothing was changed")
    return answer


class _Pin:
    """The three steps: a token to ask with, the owner's consent and PIN, the account's own token."""

    def __init__(self, talk: Talk, session: Session, home: str, keys: str, app: tuple[str, str]) -> None:
        self._talk, self._session, self._home, self._app = talk, session, home, app
        self._answers = Answers(keys, app)

    def walk(self, shown: str) -> tuple[str, str]:
        """Return the account's token and its secret."""
        token, secret = self._first()
        self._talk.say(
            f"Open this address on any device, logged in as the account that is to post, and allow the app:\n"
            f"{shown}/oauth/authorize?{urlencode({'oauth_token': token})}"
        )
        pin = "".join(self._talk.ask("The PIN that X shows then").split())
        if not pin:
            raise Refused("no PIN was given; nothing was changed")
        return self._last(token, secret, pin)

    def _first(self) -> tuple[str, str]:
        refused = {
            401: "X does not know this API key and secret; check both, and the clock of this Pi",
            403: "X lets nobody log in to this app by a PIN; set up its 'User authentication settings' in "
            f"{CONSOLE}, or make the access token there",
        }
        said = self._ask("request_token", OAuth1(*self._app, callback_uri="oob"), refused)
        return said["oauth_token"], said["oauth_token_secret"]

    def _last(self, token: str, secret: str, pin: str) -> tuple[str, str]:
        wrong = "X does not take this PIN; begin again for a new one"
        said = self._ask("access_token", OAuth1(*self._app, token, secret, verifier=pin), {401: wrong, 403: wrong})
        if is_name(said.get("screen_name")):
            self._talk.say(f"These are the keys of @{said['screen_name']}.")
        return said["oauth_token"], said["oauth_token_secret"]

    def _ask(self, step: str, sign: OAuth1, refused: dict[int, str]) -> dict[str, str]:
        """Return what X says at STEP. REFUSED are the words for the ways in which it says no."""
        try:
            response = self._session.request("POST", f"{self._home}/oauth/{step}", auth=sign)
        except Cut as cut:
            raise Unavailable(f"{cut}; {_AGAIN}") from None
        except Answered as answered:
            if words := refused.get(answered.response.status_code):
                raise Refused(f"{words} ({answered.response.status_code})") from None
            raise self._answers.error(answered.response, "to log anybody in") from None
        said = {name: values[0] for name, values in parse_qs(response.content.decode("utf-8", "replace")).items()}
        if not (said.get("oauth_token") and said.get("oauth_token_secret")):
            raise Unavailable(f"X answered something that makes no sense; {_AGAIN}")
        return said
