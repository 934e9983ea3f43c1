"""Results of replays, with all their inputs as the key: a file each, in FOLDER/ab/cd/."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from .. import files
from .._native import Error
from .candidates import Program
from .cells import Candidate
from .options import ReplayOptions

_FORMAT = 2  # of the contents of a file


@dataclasses.dataclass(frozen=True)
class Stored:
    """A run as slim() returns it, and the seconds that its replay took."""

    run: dict[str, Any]
    seconds: float


class Cache:
    """Files appear whole or not at all, so sweeps may share a directory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find(self, key: str, options: ReplayOptions, processors: Sequence[str]) -> Stored | None:
        """A timed result of one of the processors; an untimed request takes any result.

        A file that cannot be read counts as absent.
        """
        if options.timed:
            names = [_timed_name(key, options, processor) for processor in processors]
            return next(filter(None, map(self._read, names)), None)
        stored = self._read(f"{key}.space.gz")
        if stored is None:
            stored = next(filter(None, map(self._read, self._timed_names(key))), None)
        return stored and Stored(without_times(stored.run), stored.seconds)

    def keep(self, key: str, options: ReplayOptions, processor: str, stored: Stored) -> None:
        """Raises Error if it cannot be written."""
        timed = options.timed
        name = _timed_name(key, options, processor) if timed else f"{key}.space.gz"
        path = self._path(name)
        text = json.dumps(dataclasses.asdict(stored), separators=(",", ":"))
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with files.replacing(path) as file:
                file.write(gzip.compress(text.encode(), 6, mtime=0))
        except OSError as error:
            raise Error(f"cannot write '{path}': {error.strerror}") from None

    def _timed_names(self, key: str) -> Iterator[str]:
        try:
            names = sorted(os.listdir(os.path.dirname(self._path(key))))
        except OSError:
            return iter(())
        return (name for name in names if name.startswith(f"{key}.time-"))

    def _read(self, name: str) -> Stored | None:
        try:
            with open(self._path(name), "rb") as file:
                stored = Stored(**json.loads(gzip.decompress(file.read())))
        except (OSError, EOFError, ValueError, TypeError, zlib.error):
            return None
        return stored if isinstance(stored.run, dict) else None

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name[:2], name[2:4], name)


def key_of(digest: str, candidate: Candidate, engine: Program, options: ReplayOptions) -> str:
    """Covers all that the memory of a run depends on, so not the candidate's label."""
    parts = {
        "format": _FORMAT,
        "tape": digest,
        "spec": candidate.spec,
        "library": candidate.build_id,
        "engine": engine.json,
        "options": options.space(),
    }
    return _digest(parts)


def _timed_name(key: str, options: ReplayOptions, processor: str) -> str:
    return f"{key}.time-{_digest([processor, options.repeat])}.gz"


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def without_times(run: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in run.items() if name not in ("time", "spreads")}
    others = kept.get("others") or {}
    kept["others"] = {name: v for name, v in others.items() if not name.startswith("latency.")}
    return kept
