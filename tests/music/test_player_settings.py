"""Each setting of the player is complete: its operation, its capability, its value, its command of MPD."""

from dataclasses import fields

import pytest

from pi_appliance.music.model import Capability, PlaybackState, PlayerState, player_values
from pi_appliance.music.mpd import parsing
from pi_appliance.music.operations import OPERATIONS
from pi_appliance.music.player_settings import SETTINGS, PlayerSetting, find_setting

PLAYER = PlayerState(playback=PlaybackState.STOPPED)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_a_setting_has_all_that_it_needs(setting: PlayerSetting) -> None:
    assert setting.name in set(Capability), "add it to `Capability`"
    assert setting.field in {each.name for each in fields(PlayerState)}, "add its value to `PlayerState`"
    assert setting.field in player_values(PLAYER), "add its value to `PlayerJson` and `player_values`"
    assert setting.name in parsing.SETTING_COMMANDS, "add MPD's command, and read the value in `to_state`"
    assert find_setting({setting.argument.name: None}) is setting, "give its argument another name"
    (operation,) = (each for each in OPERATIONS if each.command == f"music {setting.name}")
    assert operation.arguments == (setting.argument,)
    assert not setting.argument.required, "without a value, the command shows it"


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_page_offers_valid_values_and_the_first_one_is_not_mentioned(setting: PlayerSetting) -> None:
    assert [str(setting.argument.parse(choice)) for choice in setting.choices] == list(setting.choices)
    assert setting.describe_state({setting.field: setting.argument.parse(setting.choices[0])}) == ""
    assert setting.describe_state({setting.field: setting.argument.parse(setting.choices[-1])})
    assert setting.describe_state(dict(player_values(PLAYER))) == "", "a player that does not know it has it off"
