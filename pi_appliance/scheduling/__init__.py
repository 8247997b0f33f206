"""Schedules, probability, missed runs, the scheduler and crontab entries."""
