"""The tapes of a sweep: paths, globs, directories, manifests and URIs, each with metadata.

A resolver turns arguments into pairs of a URI and its metadata, as in Perfetto's batch trace
processor. The built-in one knows directories such as `service=web/day=1`, and the columns of
manifests.
"""

from __future__ import annotations

import csv
import dataclasses
import glob
import importlib
import io
import json
import os
import posixpath
import re
import shlex
import sys
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .._native import Error

Pair = tuple[str, dict[str, str]]
Resolver = Callable[[Sequence[str]], Iterable[tuple[str, dict[str, Any]]]]

_HIVE = re.compile(r"([A-Za-z_][\w.-]*)=(.*)")
_LISTS = (".csv", ".json", ".jsonl", ".ndjson")
_TAPE_COLUMNS = ("tape", "path", "uri")


@dataclasses.dataclass(frozen=True)
class Found:
    """A tape that is not opened yet."""

    name: str  # unique
    uri: str  # an absolute path, or what fsspec opens
    metadata: dict[str, str]


def find_tapes(words: Sequence[str], resolver: str | None = None) -> list[Found]:
    """Each tape once, in the order of the arguments. Raises Error if there is none."""
    pairs = _resolve(words) if resolver is None else _own(resolver, words)
    found: dict[str, Pair] = {}
    for uri, metadata in pairs:
        uri = absolute(uri)
        key = uri if is_remote(uri) else os.path.realpath(uri)
        found.setdefault(key, (uri, {**_hive_columns(uri), **metadata}))
    if not found:
        raise Error(f"there is no tape in {', '.join(map(repr, words))}: name tapes or directories")
    names = _names([uri for uri, _ in found.values()])
    return [
        Found(name, uri, metadata)
        for name, (uri, metadata) in zip(names, found.values(), strict=True)
    ]


def is_remote(uri: str) -> bool:
    return "://" in uri


def absolute(uri: str) -> str:
    """Paths and file:// become absolute paths, other URIs stay as they are."""
    if uri.startswith("file://"):
        uri = urllib.parse.unquote(uri.removeprefix("file://"))
    return uri if is_remote(uri) else os.path.abspath(uri)


def _resolve(words: Iterable[str]) -> Iterator[Pair]:
    for word in words:
        if not word:
            raise Error("'' names no tape: it would be the current directory, which is '.'")
        word = absolute(word)
        if word.endswith(_LISTS):
            yield from _read_manifest(word)
        elif is_remote(word):
            yield from ((uri, {}) for uri in _remote(word))
        else:
            yield from ((path, {}) for path in _local(word))


def _local(word: str) -> list[str]:
    if os.path.isdir(word):
        found = (os.path.join(folder, name) for folder, _, names in os.walk(word) for name in names)
        return sorted(path for path in found if path.endswith(".tape"))
    if os.path.exists(word):
        return [word]
    paths = sorted(path for path in glob.glob(word, recursive=True) if os.path.isfile(path))
    if not paths:
        raise Error(f"there is no '{word}': name a tape, a directory, a glob, a manifest or a URI")
    return paths


def _remote(word: str) -> list[str]:
    if "::" in word:  # one file system in another: it has no URIs of its own
        return [word]
    try:
        system, path = _filesystem(word)
        if glob.has_magic(path.partition("?")[0]) and system.protocol != "http":
            return [system.unstrip_protocol(found) for found in sorted(system.glob(path))]
        if word.endswith("/") or (not path.endswith(".tape") and system.isdir(path)):
            found = (name for name in system.find(path) if name.endswith(".tape"))
            return [system.unstrip_protocol(name) for name in sorted(found)]
    except Exception as error:  # noqa: BLE001, each file system has its own
        raise Error(f"cannot list '{word}': {reason(error)}") from None
    return [word]


def _filesystem(uri: str) -> tuple[Any, str]:
    import fsspec

    system, path = fsspec.core.url_to_fs(uri)
    return system, path


def reason(error: Exception) -> str:
    """An error of a library, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _read_manifest(manifest: str) -> Iterator[Pair]:
    import fsspec

    try:
        with fsspec.open(manifest, "rt", encoding="utf-8", newline="") as file:
            rows = list(_rows(manifest, file.read()))
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("a row of it is not an object")
    except (OSError, ValueError, RecursionError) as error:
        why = (isinstance(error, OSError) and error.strerror) or reason(error)
        raise Error(f"cannot read the manifest '{manifest}': {why}") from None
    folder = posixpath.dirname(manifest)
    for row in rows:
        column = next((name for name in _TAPE_COLUMNS if row.get(name)), None)
        if column is None:
            raise Error(f"a row of '{manifest}' names no tape: it needs a column `tape` or `path`")
        uri = str(row.pop(column))
        inside = is_remote(uri) or os.path.isabs(uri)
        yield uri if inside else posixpath.join(folder, uri), _texts(row)


def _rows(manifest: str, text: str) -> Iterable[dict[str, Any]]:
    if manifest.endswith(".csv"):
        return csv.DictReader(io.StringIO(text))
    if manifest.endswith((".jsonl", ".ndjson")):
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    parsed = json.loads(text)
    if isinstance(parsed, dict) and isinstance(parsed.get("processes"), list):
        return _recorder_rows(parsed)
    if not isinstance(parsed, list):
        raise ValueError("it is not an array of objects")
    return parsed


def _recorder_rows(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a manifest of the recorder: the tapes of a recording's processes."""
    try:
        recording = shlex.join(manifest.get("command", []))
        tapes = [process.get("tape") for process in manifest["processes"]]
    except (AttributeError, TypeError):
        raise ValueError("it is not as the recorder writes it") from None
    return [{"tape": tape, "recording": recording} for tape in tapes if tape]


def _own(resolver: str, words: Sequence[str]) -> Iterator[Pair]:
    module, _, function = resolver.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        resolve: Resolver = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise Error(f"there is no resolver '{resolver}': {reason(error)}") from None
    for pair in resolve(words):
        try:
            uri, metadata = pair
            told = os.fspath(uri), _texts(metadata)
        except (AttributeError, TypeError, ValueError):
            raise Error(
                f"the resolver '{resolver}' said {pair!r}, which is not a pair of a path or "
                "URI and a dictionary"
            ) from None
        yield told


def _texts(row: dict[str, Any]) -> dict[str, str]:
    return {
        str(name): value if isinstance(value, str) else json.dumps(value)
        for name, value in row.items()
        if name is not None and value is not None
    }


def _hive_columns(uri: str) -> dict[str, str]:
    parts = [_HIVE.fullmatch(part) for part in uri.partition("?")[0].split("/")[:-1]]
    return {part[1]: urllib.parse.unquote(part[2]) for part in parts if part}


def _names(uris: Sequence[str]) -> list[str]:
    """The last part of each URI, and as many parts before it as make it unique."""
    parts = [[part for part in uri.removesuffix(".tape").split("/") if part] for uri in uris]
    lengths = [1] * len(uris)
    while True:
        names = ["/".join(words[-length:]) for words, length in zip(parts, lengths, strict=True)]
        places: dict[str, list[int]] = {}
        for i, name in enumerate(names):
            places.setdefault(name, []).append(i)
        short = [
            i
            for same in places.values()
            if len(same) > 1
            for i in same
            if lengths[i] < len(parts[i])
        ]
        if not short:
            break
        for i in short:
            lengths[i] += 1
    return [uri if len(places[name]) > 1 else name for name, uri in zip(names, uris, strict=True)]
