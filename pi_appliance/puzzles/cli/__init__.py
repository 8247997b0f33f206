"""The command group `pi-appliance puzzle`."""
