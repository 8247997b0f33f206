"""Plug-ins for social networks, one file each.

Files that start with `_` are helpers of a plug-in.
"""

CHECK_ACCOUNT = "check the account before you post it again"
