"""The command group `pi-appliance music`."""
