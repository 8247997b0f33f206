"""What an alarm plays, one after the other until something sounds: its sources, and behind them the bundled sound."""

from collections.abc import Sequence
from contextlib import ExitStack

from pi_appliance.core import sound, sources
from pi_appliance.errors import ConfigError, Refused
from pi_appliance.jobs._music_served import Served
from pi_appliance.model.music import Source, Uri
from pi_appliance.ports import Context

BUNDLED = "the bundled sound"


class Tunes:
    """The sources by number. Those beyond the owner's are the bundled sound, once by each way it reaches the player."""

    def __init__(self, names: Sequence[str], context: Context, stack: ExitStack) -> None:
        """Serve the bundled sound, where it comes to that, until STACK is closed."""
        self._names, self._context, self._stack = names, context, stack
        self._served: Served | None = None
        self._hosts: Sequence[str] = ("127.0.0.1",)

    def is_bundled(self, number: int) -> bool:
        """Say whether NUMBER is no source of the owner."""
        return number >= len(self._names)

    def there_is(self, number: int) -> bool:
        """Say whether there is a source NUMBER."""
        return number < len(self._names) + len(self._hosts)

    def label(self, number: int) -> str:
        """Return what to call the source NUMBER."""
        return BUNDLED if self.is_bundled(number) else self._names[number]

    def source(self, number: int) -> Source:
        """Return the source NUMBER. Raises UnknownName, ConfigError or Refused if it is none."""
        if not self.is_bundled(number):
            try:
                stations = self._context.stations()
            except ConfigError:
                # A slip in that file must not silence what needs no station.
                if not self._names[number].startswith(("http://", "https://", "playlist:", "album:")):
                    raise
                stations = ()
            return self._context.tuned(sources.parse(self._names[number], stations))
        if self._served is None:
            self._served = self._stack.enter_context(Served(sound.wav(sound.chime()), "chime"))
            self._hosts = self._served.hosts
        host = self._hosts[min(number - len(self._names), len(self._hosts) - 1)]
        try:
            return Uri(uri=self._served.at(host), title="Alarm")
        except OSError as error:
            raise Refused(f"the bundled sound cannot be served at {host}: {error.strerror}") from None
