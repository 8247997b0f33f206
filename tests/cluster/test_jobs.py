"""A puzzle job whose cluster is not available runs on this machine, and its report mentions it."""

import importlib.util

import pytest

from tests.installation import Installation

pytestmark = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed is not installed")


def report(installation: Installation, address: str) -> str:
    """Run a puzzle job with a cluster at `address`, and return its report."""
    job = "puzzle:\n  kind: puzzle\n  with: {puzzle: sudoku}"
    installation.write(job, f"cluster: {{scheduler: '{address}'}}")
    assert installation.run("jobs", "run", "puzzle").returncode == 0
    return (installation.state / "reports" / "puzzle" / "result.txt").read_text()


def test_a_run_without_a_certificate_works_alone(installation):
    text = report(installation, "tls://127.0.0.1:1")
    assert "Cluster" in text
    assert "authority.pem is missing" in " ".join(text.split())
    assert "this machine worked alone" in " ".join(text.split())


def test_a_run_whose_scheduler_is_down_works_alone(installation):
    text = " ".join(report(installation, "tcp://127.0.0.1:1").split())
    reason = "the scheduler tcp://127.0.0.1:1 cannot be reached: nothing listens there; this machine worked alone"
    assert reason in text
    assert installation.latest_run("puzzle")["summary"].endswith(f"; {reason}")
