"""Benchmarks of pi-appliance and of comparable programs. They are started manually, see docs/benchmarks.md."""

import os
import sys

if "pytest" not in sys.modules:  # a forked process would share the memory of its parent
    os.environ["PI_APPLIANCE_COLD"] = "1"
