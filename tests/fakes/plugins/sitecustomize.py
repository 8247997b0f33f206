"""Python imports this first if its folder is in PYTHONPATH; LOG_ALL turns on all logging."""

import logging
import os

if os.environ.get("LOG_ALL"):
    logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
