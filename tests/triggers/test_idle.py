"""Nothing of a trigger is loaded or running without a job that uses it."""

import subprocess
import sys

from tests.installation import Installation
from tests.test_daemon import QUIET, running_daemon
from tests.triggers.test_files import inotify_watches
from tests.warm_program import ROOT, base_environment

LAZY = ("aiomqtt", "paho", "gpiozero", "pi_appliance.triggers.files", "pi_appliance.triggers.mqtt")


def test_the_daemon_imports_no_library_of_a_trigger() -> None:
    code = f"import sys, pi_appliance.daemon; print(*[each for each in {LAZY} if each in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=base_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_a_daemon_without_triggers_watches_nothing(installation: Installation) -> None:
    installation.write("hello: {kind: command, with: {run: ['true']}}", QUIET)
    with running_daemon(installation) as daemon:
        assert installation.json("jobs", "triggers") == []
        assert installation.run("jobs", "triggers").stdout == "no job has triggers\n"
        assert inotify_watches(daemon) == 0
        assert "no job has any" in installation.run("doctor").stdout
