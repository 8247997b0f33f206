"""Plug-ins for social networks, one file each. Files that start with `_` are helpers."""

CHECK_ACCOUNT = "check the account before you post it again"
