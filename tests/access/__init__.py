"""Tests of the sign-in, the devices and the roles."""
