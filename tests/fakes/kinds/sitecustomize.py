"""Python reads this first where its folder is in PYTHONPATH: it adds plug-ins and, if asked, all logging there is."""

import logging
import os
from pathlib import Path

import pi_appliance.jobs
import pi_appliance.networks

for family in (pi_appliance.jobs, pi_appliance.networks):
    family.__path__.append(str(Path(__file__).parent / family.__name__.rpartition(".")[2]))
if os.environ.get("LOG_ALL"):
    logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
