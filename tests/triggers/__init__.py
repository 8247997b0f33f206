"""Tests of pi_appliance/triggers."""
