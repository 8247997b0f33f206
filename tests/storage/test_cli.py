"""pi-appliance backup, restore."""

import json
import sqlite3
import tarfile

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


def test_a_backup_and_what_is_restored_are_json_for_programs(installation: Installation) -> None:
    installation.write(JOB)
    installation.run("jobs", "run", "greet")
    before, archive = installation.config.read_text(), installation.folder / "backup.tar.gz"
    names = {"file": str(archive), "state_dir": str(installation.state)}
    done = installation.run("backup", str(archive), "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr, archive.is_file()) == (0, "", True)
    assert (len(result.pop("notes")), result) == (1, names)

    installation.config.write_text(f"{before}# changed\n")
    result = installation.json("restore", str(archive))
    (note,) = result.pop("notes")
    assert note.endswith("the one before is appliance.yaml.before-restore")
    assert result == {**names, "parts": ["configuration", "state"]}
    assert installation.json("restore", str(archive), "--only", "state")["parts"] == ["state"]
    refused = installation.run("backup", "-", "--json")
    assert (refused.returncode, refused.stdout, "--json needs a FILE" in refused.stderr) == (2, "", True)


def test_a_file_that_is_not_an_archive_is_refused(installation: Installation) -> None:
    installation.write(JOB)
    done = installation.run("restore", str(installation.config))
    assert done.returncode == 1
    assert "is not a backup of pi-appliance" in done.stderr


def test_a_database_of_another_version_is_refused_and_stays(installation: Installation) -> None:
    installation.write(JOB)
    installation.run("jobs", "run", "greet")
    archive, history = installation.folder / "backup.tar.gz", installation.state / "history.db"
    with sqlite3.connect(history) as db:
        db.execute("PRAGMA user_version = 4")
    db.close()
    done = installation.run("jobs", "run", "greet")
    assert done.returncode == 1
    assert "history.db cannot be used: it was written by an older pi-appliance (schema version 4" in done.stderr
    assert list(installation.state.glob("history.db.damaged*")) == []
    snapshot = installation.folder / "old.tar.gz"
    with tarfile.open(snapshot, "w:gz") as file:
        file.add(history, "history.db")
    history.unlink()
    assert installation.run("backup", str(archive)).returncode == 0
    done = installation.run("restore", str(snapshot))
    assert done.returncode == 1
    assert f"{snapshot} cannot be restored: it was written by an older pi-appliance" in done.stderr
