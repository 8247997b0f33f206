"""Python reads this first where its folder is in PYTHONPATH: it turns on all logging if LOG_ALL is set."""

import logging
import os

if os.environ.get("LOG_ALL"):
    logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
