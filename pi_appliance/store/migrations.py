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
    """
    -- One row may account for several slots that nothing was started for, from `since` to `due`.
    ALTER TABLE runs ADD COLUMN since TEXT;
    ALTER TABLE runs ADD COLUMN slots INTEGER NOT NULL DEFAULT 1;
    -- Since when a job is watched with this schedule, and up to which instant all its slots are accounted for.
    CREATE TABLE watched (
        job TEXT PRIMARY KEY,
        schedule TEXT NOT NULL,
        since TEXT NOT NULL,
        until TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pauses (
        job TEXT PRIMARY KEY,
        since TEXT NOT NULL,
        until TEXT
    ) STRICT, WITHOUT ROWID;
    -- For counters, which must not go down when history is pruned.
    CREATE TABLE totals (
        job TEXT NOT NULL,
        outcome TEXT NOT NULL,
        runs INTEGER NOT NULL,
        seconds REAL NOT NULL,
        late REAL NOT NULL,
        PRIMARY KEY (job, outcome)
    ) STRICT, WITHOUT ROWID;
    -- Jobs that fail just now, since which run, and what the owner is still to be told.
    CREATE TABLE failing (
        job TEXT PRIMARY KEY,
        run INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        run INTEGER NOT NULL,
        notice TEXT NOT NULL,
        event TEXT NOT NULL,
        made TEXT NOT NULL,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        next TEXT NOT NULL,
        why TEXT NOT NULL DEFAULT '',
        sent TEXT
    ) STRICT;
    """,
    """
    -- What is to be on a social network, written down before it is sent: one row a slot, network and part of a thread.
    CREATE TABLE posts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        slot TEXT NOT NULL,
        network TEXT NOT NULL,
        part INTEGER NOT NULL,
        parts INTEGER NOT NULL,
        line TEXT NOT NULL,
        text TEXT NOT NULL,
        state TEXT NOT NULL,
        why TEXT NOT NULL DEFAULT '',
        made TEXT NOT NULL,
        until TEXT NOT NULL,
        next TEXT NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        remote TEXT,
        link TEXT NOT NULL DEFAULT '',
        sent TEXT,
        cost INTEGER NOT NULL DEFAULT 0,
        run INTEGER NOT NULL,
        -- What the network calls a post that was there before this one was first tried.
        older TEXT NOT NULL DEFAULT '',
        UNIQUE (job, slot, network, part)
    ) STRICT;
    CREATE INDEX posts_open ON posts (job) WHERE state IN ('waiting', 'sending');
    -- Gone once the post is there.
    CREATE TABLE pictures (
        post INTEGER NOT NULL,
        number INTEGER NOT NULL,
        mime TEXT NOT NULL,
        alt TEXT NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (post, number)
    ) STRICT, WITHOUT ROWID;
    -- Which lines a job has used, by their content: in which round, and in which order.
    CREATE TABLE lines (
        job TEXT NOT NULL,
        line TEXT NOT NULL,
        round INTEGER NOT NULL,
        used INTEGER NOT NULL,
        PRIMARY KEY (job, line)
    ) STRICT, WITHOUT ROWID;
    -- A pause that a person has ended, and that is still to be accounted for: over, whatever the clock says by then.
    ALTER TABLE pauses ADD COLUMN over INTEGER NOT NULL DEFAULT 0;
    -- Millionths of a dollar by calendar month, as 2027-03.
    CREATE TABLE spent (
        network TEXT NOT NULL,
        month TEXT NOT NULL,
        amount INTEGER NOT NULL,
        PRIMARY KEY (network, month)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    -- What a job is in the middle of, such as an alarm that rings: another run finishes it if this one is cut off.
    CREATE TABLE held (
        job TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        since TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Runs that a person has asked for, once each: when, and with which keys in place of those under `with:`.
    CREATE TABLE asks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        due TEXT NOT NULL,
        arguments TEXT NOT NULL,
        made TEXT NOT NULL
    ) STRICT;
    -- What a person asks of the run that goes on, such as: snooze.
    CREATE TABLE words (
        job TEXT PRIMARY KEY,
        word TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- The next slot of a job, where a person wants it left out.
    CREATE TABLE skips (
        job TEXT PRIMARY KEY,
        slot TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- What the household thinks of tracks, where the player itself cannot keep it.
    CREATE TABLE opinions (
        uri TEXT PRIMARY KEY,
        rating INTEGER,
        favourite INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- What is to be known again after a restart, by a name.
    CREATE TABLE notes (
        name TEXT PRIMARY KEY,
        text TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
)
