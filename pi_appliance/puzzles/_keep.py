"""Keeping how far a search is, where it can be kept: a full card ends no search, and hides no answer."""

from collections.abc import Callable

from pi_appliance.errors import Unavailable


def keep(save: Callable[..., None], *what: object) -> str:
    """Call SAVE with WHAT; return what to say behind a sentence on how far it is: nothing, or why it is not kept."""
    try:
        save(*what)
    except Unavailable as error:
        return f"; that could not be kept: {error}"
    return ""
