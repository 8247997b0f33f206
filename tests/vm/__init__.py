"""Tests in a virtual machine, which set the clock."""
