"""The digests and facts of tapes, read once and kept in DIR/tapes.sqlite."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
from typing import Any

from .._native import Error
from ..files import digest_of, open_own
from ..tape import Tape
from ..texts import valid_text
from .tapes import is_remote, reason

# Entries of fsspec's `info` that identify a version of a file, by file system.
_VERSIONS = (
    "size",
    "mtime",
    "ETag",
    "etag",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "updated",
    "generation",
    "md5Hash",
    "content_md5",
    "Content-MD5",
    "Digest",
    "created",
)


@dataclasses.dataclass(frozen=True)
class Inspection:
    digest: str
    facts: dict[str, Any]


def stamp_of(uri: str) -> str | None:
    """Changes when the file does; None: it has none. Raises Error."""
    if not is_remote(uri):
        try:
            found = os.stat(uri)
        except OSError as error:
            raise Error(f"cannot open '{uri}': {error.strerror}") from None
        return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(uri)
        info = system.info(path)
    except Exception as error:  # noqa: BLE001, each file system has its own
        raise Error(f"cannot open '{uri}': {reason(error)}") from None
    known = {name: str(info[name]) for name in _VERSIONS if info.get(name) is not None}
    return json.dumps(known, sort_keys=True) if set(known) - {"size"} else None


def inspect(path: str) -> Inspection:
    """Reads the whole file. Raises Error if it is not a tape."""
    facts = Tape(path).facts
    facts.pop("threadList", None)  # one entry for each thread
    return Inspection(digest_of(path), facts)


class Inspections:
    """Those of earlier sweeps into the same directory. For one thread."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "tapes.sqlite")
        os.close(open_own(path))
        try:
            self._open(path)
        except sqlite3.DatabaseError:  # damaged: it holds nothing that cannot be read again
            self.close()
            try:
                os.unlink(path)
                self._open(path)
            except (OSError, sqlite3.Error) as error:
                raise Error(f"cannot write '{path}': {error}") from None

    def _open(self, path: str) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)  # each row is kept at once
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA journal_mode = MEMORY")  # no second file
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS tapes"
            " (uri TEXT PRIMARY KEY, stamp TEXT, digest TEXT, facts TEXT)"
        )

    def find(self, uri: str, stamp: str | None) -> Inspection | None:
        query = "SELECT digest, facts FROM tapes WHERE uri = ? AND stamp = ?"
        row = self._database.execute(query, (valid_text(uri), stamp)).fetchone()
        return None if row is None else Inspection(row[0], json.loads(row[1]))

    def keep(self, uri: str, stamp: str | None, inspection: Inspection) -> None:
        if stamp is None:
            return
        row = (valid_text(uri), stamp, inspection.digest, json.dumps(inspection.facts))
        try:
            self._database.execute("INSERT OR REPLACE INTO tapes VALUES (?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise Error(f"cannot write 'tapes.sqlite' of the sweep: {error}") from None

    def close(self) -> None:
        self._database.close()
