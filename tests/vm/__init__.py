"""Tests in a virtual machine, for what would harm the machine they run on."""
