"""Why something on the network was not reached, in words of our own: what libraries say may hold an address."""

import re

_WHYS = (
    (
        r"name or service not known|name resolution|getaddrinfo|nodename nor servname|failed to resolve",
        "its name is not known; is this Pi online?",
    ),
    (r"connection refused", "nothing listens there"),
    (r"unreachable|no route to host", "there is no way to it; is this Pi online?"),
    (r"certificate", "its certificate is not good; is the clock of this Pi right?"),
    (r"ssl|tls", "it does not speak TLS there"),
    (r"timed out|timeout", "it did not answer in time"),
    (r"reset by peer|aborted|broken pipe|closed|disconnected|eof", "it hung up"),
)


def why(said: str) -> str:
    """Return what SAID, the text of an error, means; '' if it means nothing that is known."""
    return next((words for pattern, words in _WHYS if re.search(pattern, said, re.IGNORECASE)), "")
