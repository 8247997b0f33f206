"""pi-appliance music: what plays, the buttons, queue, library, playlists and stations.

Each file that is named here adds its commands to the group. What a button needs comes first, and is loaded alone.
"""

from pi_appliance.cli._music_group import command

command.look_in(
    *(
        f"pi_appliance.cli._music_{part}"
        for part in (
            "buttons",
            "queue",
            "settings",
            "outputs",
            "library",
            "collection",
            "favourites",
            "playlists",
            "stations",
            "partitions",
            "watch",
            "usb",
            "alarms",
        )
    )
)

__all__ = ["command"]
