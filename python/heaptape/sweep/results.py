"""What a sweep leaves behind: cells/, sweep.json and sweep.html in its folder, and a text."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from .cells import Cell


@dataclasses.dataclass(frozen=True)
class Terms:
    """What a sweep is compared with and judged by."""

    gates: tuple[Any, ...]
    baseline: str | None  # a label
    against: Any | None


def read_terms(
    gates: Sequence[str],
    *,
    labels: Sequence[str],
    baseline: str | None = None,
    against: str | os.PathLike[str] | None = None,
) -> Terms:
    """Of --fail-if, --baseline and --against. Call it before anything is replayed.

    `labels` are those of the sweep's candidates. `against` is the sweep.json of another sweep, or
    its folder. Raises heaptape.Error with one sentence.
    """
    raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Results:
    """What came of a sweep."""

    passed: bool  # no gate failed
    failed: int  # cells with an error
    json: dict[str, Any]  # as in sweep.json

    def text(self, *, exact: bool = False) -> str:
        """For the terminal; sizes with all their digits, if `exact` (--bytes)."""
        raise NotImplementedError


def write_results(
    folder: str | os.PathLike[str], cells: Sequence[Cell], *, engine: dict[str, Any], terms: Terms
) -> Results:
    """Writes cells/, sweep.json and sweep.html into `folder`, each of them whole or not at all.

    `engine` is that of `heaptape allocators --json`. A cell's run needs its scalar metrics,
    counters, notes and failure, and timeline.{at,timeNs,residentBytes}. Cells may come in any
    order; tapes and candidates appear in the order of their first cells.
    """
    raise NotImplementedError
