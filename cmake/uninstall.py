"""Removes what `cmake --install` put below a prefix, by the manifest that it left there, and nothing else.

usage: uninstall.py PREFIX. Every line of the manifest is checked before the first file goes.
"""

import hashlib
import os
import pathlib
import re
import stat
import sys

MANIFEST = "share/heaptape/install-manifest.txt"
ENTRY = re.compile("[0-9a-f]{64}  ")


class Refusal(Exception):
    """A sentence."""


def read_manifest(prefix):
    """The files below the prefix, each with its SHA-256, and the directories, which end in a slash, with none."""
    path = prefix / MANIFEST
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Refusal(f"'{path}' is not a file; nothing is removed")
        first, *lines = path.read_text("utf-8").splitlines() or [""]
    except FileNotFoundError:
        raise Refusal(f"there is no installation in '{prefix}': '{path}' is missing") from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise Refusal(f"'{path}' cannot be read: {error}") from None
    if not first.startswith("heaptape ") or MANIFEST not in lines:
        raise Refusal(f"'{path}' is not a manifest of heaptape; nothing is removed")
    return {line[66:] if ENTRY.match(line) else line: line[:64] if ENTRY.match(line) else None for line in lines}


def check(prefix, line):
    """Refuses a line that no installation wrote, and a directory in the place of a file."""
    parts = line.rstrip("/").split("/")
    if "\0" in line or any(part in ("", ".", "..") for part in parts):
        raise Refusal(f"the manifest of '{prefix}' was changed: '{line}' is not a path below it; nothing is removed")
    path = prefix / line
    home = os.path.realpath(path.parent)
    if os.path.commonpath([home, prefix]) != str(prefix):
        raise Refusal(f"'{path}' is in '{home}', which is not below the prefix; nothing is removed")
    if os.path.lexists(path) and line.endswith("/") != (path.is_dir() and not path.is_symlink()):
        raise Refusal(f"'{path}' is not what was installed there; nothing is removed")


def is_as_installed(path, digest):
    return path.is_file() and not path.is_symlink() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def remove(prefix, lines):
    """The files that were removed, and those that are kept because they changed. The manifest goes last, so that an
    interrupted run can be repeated."""
    files = [line for line in lines if not line.endswith("/") and line != MANIFEST and os.path.lexists(prefix / line)]
    kept = [file for file in files if not is_as_installed(prefix / file, lines[file])]
    removed = [file for file in files if file not in kept] + [MANIFEST]
    for file in removed:
        (prefix / file).unlink(missing_ok=True)
    for directory in sorted((line for line in lines if line.endswith("/")), key=len, reverse=True):
        try:
            (prefix / directory).rmdir()
        except OSError:  # others' files are in it, or it is gone
            pass
    return removed, kept


def main():
    if len(sys.argv) != 2 or not sys.argv[1]:
        print("dev: type ./dev uninstall PREFIX", file=sys.stderr)
        return 2
    prefix = pathlib.Path(os.path.realpath(sys.argv[1]))
    try:
        lines = read_manifest(prefix)
        for line in lines:
            check(prefix, line)
        removed, kept = remove(prefix, lines)
    except Refusal as refusal:
        print(f"dev: {refusal}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"dev: cannot remove '{error.filename}': {error.strerror}; the manifest is kept", file=sys.stderr)
        return 1
    print(f"removed {len(removed)} files from {prefix}")
    for file in kept:
        print(f"kept '{prefix / file}': it is not as it was installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
