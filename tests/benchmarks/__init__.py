"""What pi-appliance costs, beside others that do the like. Run by hand; docs/benchmarks.md tells how."""

import os
import sys

if "pytest" not in sys.modules:  # a process that is forked from another one has the memory of that one
    os.environ["PI_APPLIANCE_COLD"] = "1"
