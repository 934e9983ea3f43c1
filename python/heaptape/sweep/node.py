"""Files of a sweep on each machine: fetched tapes, and the report of a replay."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import stat
import tempfile
from collections.abc import Iterator

from .._native import Error
from ..files import digest_of
from .tapes import is_remote, reason

FETCHED_BYTES = 20 << 30

_REPORT = re.compile(r"report-(?P<node>.+)-(?P<process>\d+)\.json")


def folder() -> str:
    """For this user alone. Raises Error if it is another's."""
    path = os.path.join(tempfile.gettempdir(), f"heaptape-sweep-{os.getuid()}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.lstat(path)  # a link may lead to tapes that _bound() must not remove
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        raise Error(f"'{path}' on {platform.node()} is not a directory of yours: set TMPDIR")
    return path


@contextlib.contextmanager
def readable(uri: str, digest: str | None, fetched_bytes: int) -> Iterator[tuple[str, int | None]]:
    """A path to read a tape at, and the descriptor for the program that reads it, if any.

    A fetched file may be removed when others are fetched; through the descriptor it stays readable.
    """
    if not is_remote(uri):
        yield uri, None
        return
    descriptor = _open_copy(uri, digest, fetched_bytes)
    try:
        yield f"/proc/self/fd/{descriptor}", descriptor
    finally:
        os.close(descriptor)


def _open_copy(uri: str, digest: str | None, fetched_bytes: int) -> int:
    """A descriptor of the fetched file. Fetches each file once: other processes wait for it."""
    import filelock

    lock = hashlib.blake2b(uri.encode(), digest_size=1).hexdigest()
    with filelock.FileLock(os.path.join(folder(), f"{lock}.lock")):
        path = digest and os.path.join(folder(), f"{digest}.tape")
        if not path or not os.path.exists(path):
            path = _fetch(uri, digest)
            _bound(path, fetched_bytes)
        os.utime(path)
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _fetch(uri: str, expected: str | None) -> str:
    import fsspec

    descriptor, new = tempfile.mkstemp(dir=folder(), prefix="new-", suffix=".tape")
    os.close(descriptor)
    try:
        system, path = fsspec.core.url_to_fs(uri)
        system.get_file(path, new)
        digest = digest_of(new)
        if expected not in (None, digest):
            raise Error(f"'{uri}' has changed since it was inspected: start the sweep again")
        os.rename(new, os.path.join(folder(), f"{digest}.tape"))
    except Error:
        raise
    except Exception as error:  # noqa: BLE001, each file system has its own
        raise Error(f"cannot fetch '{uri}': {reason(error)}") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
    return os.path.join(folder(), f"{digest}.tape")


def _bound(kept: str, most: int) -> None:
    """Removes the tapes used longest ago, until all have at most `most` bytes."""
    found = []
    for entry in os.scandir(folder()):
        if entry.name.endswith(".tape") and entry.path != kept:
            with contextlib.suppress(FileNotFoundError):
                found.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
    total = os.stat(kept).st_size + sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= size


@functools.cache
def report_path() -> str:
    """For the reports of this process's replays, one at a time."""
    node = platform.node()
    for entry in os.scandir(folder()):
        match = _REPORT.fullmatch(entry.name)
        if match and match["node"] == node and not os.path.exists(f"/proc/{match['process']}"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.path)
    return os.path.join(folder(), f"report-{node}-{os.getpid()}.json")


def processor() -> str:
    """The model of this machine's processor, on which times depend."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.machine()
