"""The shape of the database, step by step. A step is never changed once released; a new one is added."""

STEPS = (
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        kind TEXT NOT NULL,
        trigger TEXT NOT NULL,
        due TEXT,
        started TEXT NOT NULL,
        ended TEXT,
        outcome TEXT,
        summary TEXT NOT NULL DEFAULT '',
        facts TEXT NOT NULL DEFAULT '{}',
        attempts INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX runs_by_job ON runs (job, id);
    CREATE INDEX runs_going_on ON runs (job) WHERE ended IS NULL;
    CREATE TABLE claims (
        key TEXT PRIMARY KEY,
        run INTEGER NOT NULL,
        at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
)
