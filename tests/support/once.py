"""What takes long is computed once per run, whichever of xdist's processes asks for it first."""

import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
WAIT_S = 600.0


def once(store: Path, compute: Callable[[], T]) -> T:
    """What a file keeps; the first process to ask computes it while the others wait.

    SQLite is the lock: it works on every platform, and a process that dies in the middle leaves nothing behind.
    """
    with closing(sqlite3.connect(store, timeout=WAIT_S, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("CREATE TABLE IF NOT EXISTS kept (content BLOB)")
        row = connection.execute("SELECT content FROM kept").fetchone()
        if row is None:
            row = (pickle.dumps(compute()),)
            connection.execute("INSERT INTO kept VALUES (?)", row)
        connection.execute("COMMIT")
    kept: T = pickle.loads(row[0])
    return kept
