"""Events that start jobs besides their schedules, and Home Assistant."""
