"""Files that are written whole or not at all, and digests of files."""

from __future__ import annotations

import contextlib
import hashlib
import os

from ._native import Error


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """The file gets its name when it is whole. Only its owner may read it."""
    name = os.fspath(path)
    partial = name + ".partial"
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
            os.replace(partial, name)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)
            raise
    except OSError as error:
        raise Error(f"cannot write '{name}': {error.strerror}") from None


def digest_of(path: str) -> str:
    """The file's SHA-256 in hexadecimal, as `sha256sum` prints it."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Error(f"cannot read '{path}': {error.strerror}") from None
