"""Runs of jobs: runner, attempts, worker process, job context and reports."""
