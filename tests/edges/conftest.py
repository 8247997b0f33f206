"""What every test of an edge gets: loggers as they were, for a network quiets them for the whole process."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """Undo what a test has done to the loggers of libraries."""
    loggers = [logger for logger in logging.Logger.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    before = [(logger, logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    yield
    for logger in logging.Logger.manager.loggerDict.values():
        if isinstance(logger, logging.Logger) and logger not in loggers:
            logger.setLevel(logging.NOTSET)
            logger.propagate, logger.handlers = True, []
    for logger, level, propagate, handlers in before:
        logger.setLevel(level)
        logger.propagate, logger.handlers = propagate, handlers
