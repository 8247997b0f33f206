"""Tests of pi-appliance, through its public doors."""
