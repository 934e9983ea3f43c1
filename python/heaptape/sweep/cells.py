"""The parts of a sweep: every tape with every candidate is a cell."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class SweptTape:
    """A tape of a sweep. Tapes with the same `digest` have the same bytes."""

    name: str  # unique among the tapes of the sweep
    uri: str  # a path, or what fsspec opens
    digest: str
    facts: dict[str, Any]  # as heaptape.Tape(...).facts
    metadata: dict[str, str]  # from the resolver


@dataclasses.dataclass(frozen=True)
class Candidate:
    """An allocator with its settings, as `heaptape allocators --json -a SPEC` describes it."""

    label: str
    spec: str
    library: str | None = None  # the path of the file that serves malloc; None: a model
    build_id: str | None = None  # of that file


@dataclasses.dataclass(frozen=True)
class Cell:
    """The result of a tape on a candidate: a run, as it is in a report, or an error."""

    tape: SweptTape
    candidate: Candidate
    run: dict[str, Any] | None
    error: str | None  # one sentence
    cached: bool  # not replayed anew
    seconds: float  # that its replay took
