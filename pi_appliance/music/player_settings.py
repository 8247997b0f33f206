"""Settings of the player that have one value, such as the crossfade.

A setting is one entry of `SETTINGS`. Its operation, its command and its buttons on the page Sound
derive from it. Its value is a field of `PlayerState`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pi_appliance.operations import Argument, Values, choice, integer


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerSetting:
    """One setting.

    Attributes:
        name: of its operation and of its `Capability`.
        title: its name in a sentence.
        summary: the help of its operation.
        argument: the value. Each setting has an argument of another name.
        example: a value.
        text: the value on a terminal.
        state_text: the value in the line about the player; by default as `text`.
        label: the name on the page.
        choices: the values that the page offers, of which the first one switches it off.
    """

    name: str
    title: str
    summary: str
    argument: Argument
    example: object
    text: str
    state_text: str = ""
    label: str
    choices: Sequence[str]

    @property
    def field(self) -> str:
        """The field of `PlayerState` with the value."""
        return self.name.replace("-", "_")

    def describe_state(self, state: Mapping[str, object]) -> str:
        """Return the value in `state`, the object of the API, or '' if the setting is off."""
        value = state[self.field]
        return "" if str(value) == self.choices[0] else (self.state_text or self.text).format(value)


_GAINS = ("off", "track", "album", "auto")
SETTINGS: Mapping[str, PlayerSetting] = {
    each.name: each
    for each in (
        PlayerSetting(
            name="crossfade",
            title="crossfade",
            summary="Set or show by how many seconds tracks overlap.",
            argument=integer("seconds", "0 to 60; 0 switches it off", 0, 60, positional=True),
            example=5,
            text="crossfade {} s",
            label="Crossfade, seconds",
            choices=("0", "2", "5", "10"),
        ),
        PlayerSetting(
            name="replay-gain",
            title="ReplayGain",
            summary="Set or show how the loudness of tracks is evened out (ReplayGain).",
            argument=choice("gain", "off, track, album or auto", _GAINS, positional=True),
            example="album",
            text="replay gain {}",
            state_text="replay gain by {}",
            label="Even loudness",
            choices=_GAINS,
        ),
    )
}


def find_setting(values: Values) -> PlayerSetting:
    """Return the setting whose argument is in `values`."""
    return next(each for each in SETTINGS.values() if each.argument.name in values)
