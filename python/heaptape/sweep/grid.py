"""The part of a sweep kept in memory: some figures of each cell, by candidate and tape."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from .._native import MEAN_RESIDENT
from ..run_figures import Figure
from .cells import Candidate, Cell, SweptTape
from .rows import cell_error, tape_columns

# In every sweep.json, and enough for summaries. All figures are in the dataset.
KEPT = (
    "peak.committedBytes",
    "peak.residentBytes",
    MEAN_RESIDENT,
    "peak.fragmentation",
    "peak.distanceToIdeal",
    "time.nsPerEvent",
    "peak.liveBytes",
    "peak.holes.bytes",
    "atPlateau.residentBytes",
    "atPlateau.residentHoleBytes",
    "atExit.residentBytes",
    "end.liveBytes",
    "end.committedBytes",
    "end.residentBytes",
    "accounting.refused",
    "growth.worstExponent",
    "counters.memoryCalls",
    "counters.pageFaults",
)


@dataclasses.dataclass
class Grid:
    """Rows are candidates and columns tapes, each in the order in which the sweep has them."""

    tapes: list[dict[str, Any]] = dataclasses.field(default_factory=list)  # rows.tape_columns()
    candidates: list[Candidate] = dataclasses.field(default_factory=list)
    figures: dict[str, list[list[Figure]]] = dataclasses.field(default_factory=dict)
    errors: list[dict[int, str]] = dataclasses.field(default_factory=list)  # tape -> sentence
    cached: int = 0
    seconds: float = 0.0

    @property
    def labels(self) -> list[str]:
        return [candidate.label for candidate in self.candidates]

    @property
    def failed(self) -> int:
        return sum(map(len, self.errors))

    def row(self, metric: str, candidate: int) -> list[Figure]:
        """The figures of a candidate, with None for tapes on which it has no such figure."""
        rows = self.figures.get(metric)
        return rows[candidate] if rows is not None else [None] * len(self.tapes)


class GridBuilder:
    """Takes cells in any order."""

    def __init__(self, metrics: Iterable[str]) -> None:
        self._metrics = list(dict.fromkeys(metrics))
        self._grid = Grid()
        self._tapes: dict[str, int] = {}
        self._candidates: dict[str, int] = {}
        self._cells: dict[tuple[int, int], list[Figure]] = {}
        self._errors: dict[tuple[int, int], str] = {}

    def add(self, cell: Cell, figures: dict[str, Figure]) -> None:
        place = (self._candidate(cell.candidate), self._tape(cell.tape))
        error = cell_error(cell)
        self._grid.cached += cell.cached
        self._grid.seconds += 0 if cell.cached else cell.seconds
        if error is not None:
            self._errors[place] = error
            self._cells[place] = [None] * len(self._metrics)
        else:
            self._cells[place] = [figures.get(metric) for metric in self._metrics]

    def grid(self) -> Grid:
        """A cell that was never added is one with an error."""
        grid = self._grid
        missing: list[Figure] = [None] * len(self._metrics)
        grid.errors = [{} for _ in grid.candidates]
        grid.figures = {metric: [] for metric in self._metrics}
        for candidate in range(len(grid.candidates)):
            places = [(candidate, tape) for tape in range(len(grid.tapes))]
            for place in places:
                if place not in self._cells:
                    self._errors[place] = "not replayed"
                if place in self._errors:
                    grid.errors[candidate][place[1]] = self._errors[place]
            cells = [self._cells.get(place, missing) for place in places]
            for i, metric in enumerate(self._metrics):
                grid.figures[metric].append([cell[i] for cell in cells])
        return grid

    def _tape(self, tape: SweptTape) -> int:
        if tape.name not in self._tapes:
            self._tapes[tape.name] = len(self._tapes)
            self._grid.tapes.append(tape_columns(tape))
        return self._tapes[tape.name]

    def _candidate(self, candidate: Candidate) -> int:
        if candidate.label not in self._candidates:
            self._candidates[candidate.label] = len(self._candidates)
            self._grid.candidates.append(candidate)
        return self._candidates[candidate.label]
