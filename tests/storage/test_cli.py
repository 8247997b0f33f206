"""pi-appliance backup, restore."""

from tests.installation import House

JOB = "greet:\n  kind: command\n  schedule: '@daily'\n  with: {run: ['true']}"


def test_a_backup_is_restored(house: House) -> None:
    house.write(JOB)
    house.run("jobs", "run", "greet")
    archive = house.folder / "backup.tar.gz"
    assert house.run("backup", str(archive)).returncode == 0
    house.run("jobs", "run", "greet")
    done = house.run("restore", str(archive))
    assert (done.returncode, done.stdout) == (0, f"{house.state}: restored from {archive}\n")
    assert [run["id"] for run in house.json("jobs", "history")] == [1]


def test_a_file_that_is_no_archive_is_refused(house: House) -> None:
    house.write(JOB)
    done = house.run("restore", str(house.config))
    assert done.returncode == 1
    assert "is not a backup of pi-appliance" in done.stderr
