"""Tests of the commands `pi-appliance music`."""
