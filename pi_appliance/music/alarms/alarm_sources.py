"""The sources that an alarm tries in turn: the ones of its job, then the built-in sound.

`alarm_session.py` uses the next source when one is silent or refused.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from pi_appliance.errors import ConfigError, Refused
from pi_appliance.music import model
from pi_appliance.music.alarms import sounds
from pi_appliance.music.alarms.music_job import MusicContext
from pi_appliance.music.alarms.sounds import SoundServer
from pi_appliance.music.model import Source, Uri

BUILT_IN_SOUND = "the built-in sound"


class SourceList:
    """The sources of an alarm.

    The last ones are the built-in sound, at each address of this machine.
    """

    def __init__(self, names: Sequence[str], context: MusicContext, stack: ExitStack) -> None:
        self._names, self._context, self._stack = names, context, stack
        self._server: SoundServer | None = None
        self._hosts: Sequence[str] = ("127.0.0.1",)

    def is_built_in(self, index: int) -> bool:
        """Return whether source `index` is the built-in sound."""
        return index >= len(self._names)

    def has_source(self, index: int) -> bool:
        """Return whether source `index` exists."""
        return index < len(self._names) + len(self._hosts)

    def label(self, index: int) -> str:
        """Return the name of source `index`."""
        return BUILT_IN_SOUND if self.is_built_in(index) else self._names[index]

    def resolve(self, index: int) -> Source:
        """Return source `index`; the built-in sound is served until the stack is closed.

        Raises:
            UnknownName, ConfigError, Refused: The source cannot be used.
        """
        if not self.is_built_in(index):
            try:
                stations = self._context.stations()
            except ConfigError:
                # An error in the stations file must not affect sources that are no stations.
                if not self._names[index].startswith(("http://", "https://", "playlist:", "album:")):
                    raise
                stations = ()
            return self._context.resolve_stream(model.parse_source(self._names[index], stations))
        if self._server is None:
            self._server = self._stack.enter_context(SoundServer(sounds.wav_file(sounds.chime()), "chime"))
            self._hosts = self._server.hosts
        host = self._hosts[min(index - len(self._names), len(self._hosts) - 1)]
        try:
            return Uri(uri=self._server.serve_at(host), title="Alarm")
        except OSError as error:
            raise Refused(f"the built-in sound cannot be served at {host}: {error.strerror}") from None
