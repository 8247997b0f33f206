"""pi-appliance music: what plays, the buttons, queue, library, playlists and stations.

Each file that is imported here adds its commands to the group.
"""

import pi_appliance.cli._music_buttons
import pi_appliance.cli._music_collection
import pi_appliance.cli._music_favourites
import pi_appliance.cli._music_library
import pi_appliance.cli._music_outputs
import pi_appliance.cli._music_partitions
import pi_appliance.cli._music_playlists
import pi_appliance.cli._music_queue
import pi_appliance.cli._music_settings
import pi_appliance.cli._music_stations
import pi_appliance.cli._music_watch  # noqa: F401 - they add themselves
from pi_appliance.cli._music_group import command

__all__ = ["command"]
