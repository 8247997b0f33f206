"""pi-appliance backup, restore."""

from tests.installation import Installation

JOB = "greet:\n  kind: command\n  schedule: '@daily'\n  with: {run: ['true']}"


def test_a_backup_is_restored(installation: Installation) -> None:
    installation.write(JOB)
    installation.run("jobs", "run", "greet")
    archive = installation.folder / "backup.tar.gz"
    assert installation.run("backup", str(archive)).returncode == 0
    installation.run("jobs", "run", "greet")
    done = installation.run("restore", str(archive))
    assert (done.returncode, done.stdout) == (0, f"{installation.state}: restored from {archive}\n")
    assert [run["id"] for run in installation.json("jobs", "history")] == [1]


def test_a_file_that_is_no_archive_is_refused(installation: Installation) -> None:
    installation.write(JOB)
    done = installation.run("restore", str(installation.config))
    assert done.returncode == 1
    assert "is not a backup of pi-appliance" in done.stderr
