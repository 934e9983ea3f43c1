"""Files that are written whole or not at all, and digests of files."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from ._native import Error

_PARTIAL = ".partial"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that gets the name `path` when it is whole. Only its owner may read it.

    Its name until then cannot be guessed, so nobody can plant a link there. A link at `path` is
    replaced. If the body raises, nothing is left; the next process removes what a killed one left.
    Raises OSError.
    """
    name = os.fspath(path)
    folder, base = os.path.split(name)
    prefix = f".{base}."
    _remove_left(folder or ".", prefix)
    descriptor, partial = tempfile.mkstemp(prefix=prefix, suffix=_PARTIAL, dir=folder or ".")
    try:
        with open(descriptor, "wb") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.replace(partial, name)  # while locked: others remove unlocked files
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def _remove_left(folder: str, prefix: str) -> None:
    """Removes the partial files of this user that no process holds."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix) or not entry.name.endswith(_PARTIAL):
                continue
            with contextlib.suppress(OSError, Error), open(open_own(entry.path), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(entry.path)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """As replacing(), but raises Error."""
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise Error(f"cannot write '{os.fspath(path)}': {error.strerror}") from None


def open_own(path: str) -> int:
    """A descriptor of a file to be changed in place, which is made if it is missing.

    It must be a regular file of this user's with no other name: others may plant links in a shared
    directory. Raises Error.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise Error(f"cannot write '{path}': {error.strerror}") from None
    found = os.fstat(descriptor)
    if found.st_uid == os.geteuid() and found.st_nlink == 1 and stat.S_ISREG(found.st_mode):
        return descriptor
    os.close(descriptor)
    raise Error(f"cannot write '{path}': it must be a regular file of yours without other names")


def digest_of(path: str) -> str:
    """The file's SHA-256 in hexadecimal, as `sha256sum` prints it."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Error(f"cannot read '{path}': {error.strerror}") from None
