"""The command group `pi-appliance jobs`."""
