"""The rows of a sweep's dataset: one for each cell, all with the same columns."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from ..run_figures import COUNTERS, Figure, figure_columns
from ..texts import valid_text
from .cells import Cell, SweptTape

METADATA = "meta."

# Columns about the tape; `candidate` is that of the partition.
_TAPE_COLUMNS = (
    ("tape", "text"),
    ("uri", "text"),
    ("digest", "text"),
    ("tape.events", "count"),
    ("tape.threads", "count"),
    ("tape.durationNs", "count"),
    ("tape.command", "text"),
    ("tape.allocator", "text"),
)
_CELL_COLUMNS = (
    ("spec", "text"),
    ("library", "text"),
    ("libraryBuildId", "text"),
    ("engine", "text"),
    ("cached", "flag"),
    ("seconds", "real"),
    ("error", "text"),
    ("notes", "texts"),
    ("counters", "counters"),
    ("others", "others"),
)
# Parts that an imported trace may lack, and the facts that are then made up.
_LACKING = {"threads": "threads", "times": "durationNs"}


def schema_of(metadata: Iterable[str]) -> Any:
    """A schema of pyarrow; `metadata` are the keys of all tapes."""
    import pyarrow

    types = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "count": pyarrow.uint64(),
        "signed": pyarrow.int64(),
        "real": pyarrow.float64(),
        "flag": pyarrow.bool_(),
        "counters": pyarrow.map_(pyarrow.string(), pyarrow.uint64()),
        "others": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
    }
    columns = [
        *_TAPE_COLUMNS,
        *((METADATA + key, "text") for key in sorted(map(valid_text, metadata))),
        *_CELL_COLUMNS,
        *((name, kind) for name, kind, _ in figure_columns()),
    ]
    return pyarrow.schema([(name, types[kind]) for name, kind in columns])


def row_of(cell: Cell, figures: dict[str, Figure], engine: str) -> dict[str, Any]:
    candidate = cell.candidate
    return {
        **tape_columns(cell.tape),
        "spec": valid_text(candidate.spec),
        "library": _valid(candidate.library),
        "libraryBuildId": candidate.build_id,
        "engine": engine,
        "cached": cell.cached,
        "seconds": cell.seconds,
        "error": cell_error(cell),
        "notes": [valid_text(note) for note in (cell.run or {}).get("notes", [])],
        **{name: list(_entries(figures, name)) for name in ("counters", "others")},
        **figures,
    }


def tape_columns(tape: SweptTape) -> dict[str, Any]:
    """Facts of a tape, null if its trace lacks them."""
    columns = {
        "tape": tape.name,
        "uri": tape.uri,
        "digest": tape.digest,
        **{f"tape.{name}": value for name, value in _facts(tape).items()},
        **{METADATA + key: value for key, value in tape.metadata.items()},
    }
    return {valid_text(name): _valid(value) for name, value in columns.items()}


def _valid(value: Any) -> Any:
    return valid_text(value) if isinstance(value, str) else value


def _facts(tape: SweptTape) -> dict[str, Any]:
    lacking = (tape.facts.get("import") or {}).get("lacks", [])
    made_up = {fact for word, fact in _LACKING.items() if word in lacking}
    return {
        name: None if name in made_up else tape.facts.get(name)
        for name in ("events", "threads", "durationNs", "command", "allocator")
    }


def cell_error(cell: Cell) -> str | None:
    """Why there are no figures: the cell has an error, or its run failed."""
    if cell.error is not None:
        return valid_text(cell.error)
    if cell.run is None:
        return "not replayed"
    failure = cell.run.get("failure")
    return f"at #{int(failure['event']):,}: {failure['text']}" if failure else None


def place_of(metric: str) -> tuple[str, str | None]:
    """The column of a metric, and its key if the column is a map."""
    if metric.startswith(COUNTERS):
        return "counters", metric.removeprefix(COUNTERS)
    return (metric, None) if metric in _names() else ("others", metric)


@functools.cache
def _names() -> set[str]:
    return {name for name, _, _ in figure_columns()}


def _entries(figures: dict[str, Figure], column: str) -> Iterator[tuple[str, Figure]]:
    for name, value in figures.items():
        place, key = place_of(name)
        if place == column and key is not None:
            yield key, value
