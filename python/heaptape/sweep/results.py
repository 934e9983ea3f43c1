"""The results of a sweep: cells/, sweep.json and sweep.html in its directory, and a text."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

from .._native import FAILED, Error, Gate, parse_gate
from ..run_figures import figures
from ..texts import display_text
from .cells import Cell
from .dataset import Dataset
from .grid import KEPT, Grid, GridBuilder
from .judging import Verdict, judge, verdict_line
from .rows import row_of
from .saved import read_sweep, sweep_json, write_sweep
from .summary import summary_of
from .summary_page import write_summary_page
from .summary_text import summary_text


@dataclasses.dataclass(frozen=True)
class Terms:
    """The base of a sweep and its gates."""

    gates: tuple[Gate, ...] = ()
    baseline: str | None = None  # a label
    against: Grid | None = None


def read_terms(
    gates: Sequence[str] = (),
    *,
    labels: Sequence[str],
    baseline: str | None = None,
    against: str | os.PathLike[str] | None = None,
) -> Terms:
    """Reads --fail-if, --baseline and --against. Call it before anything is replayed.

    `labels` are those of the sweep's candidates. `against` is the sweep.json of another sweep, or
    its directory. Raises heaptape.Error with one sentence.
    """
    parsed = tuple(parse_gate(gate) for gate in gates)
    if baseline is not None and baseline not in labels:
        raise Error(
            f"there is no candidate '{display_text(baseline)}' to be the baseline: they are "
            f"{', '.join(map(display_text, labels))}"
        )
    for gate in parsed:
        if gate.is_change and against is None and baseline is None:
            raise Error(
                f"the gate '{display_text(gate.text)}' asks for a change: say against what, with "
                "--against SWEEP of another sweep or --baseline LABEL of a candidate"
            )
    changing = [gate.metric for gate in parsed if gate.is_change and gate.metric != FAILED]
    base = None if against is None else read_sweep(against, changing)
    return Terms(parsed, baseline, base)


@dataclasses.dataclass(frozen=True)
class Results:
    """The outcome of a sweep."""

    passed: bool  # no gate failed
    failed: int  # cells with an error
    json: dict[str, Any]  # as in sweep.json
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    def text(self, *, exact: bool = False) -> str:
        """For the terminal; sizes with all their digits, if `exact` (--bytes)."""
        parts = [summary_text(self.json, exact=exact), *(f"note: {note}\n" for note in self.notes)]
        if self.verdicts:
            parts += ["\n", *(f"{verdict.text()}\n" for verdict in self.verdicts), "\n"]
            parts.append(verdict_line(self.verdicts) + "\n")
        return "".join(parts)


def write_results(
    folder: str | os.PathLike[str], cells: Iterable[Cell], *, engine: dict[str, Any], terms: Terms
) -> Results:
    """Writes cells/, sweep.json and sweep.html into `folder`, each of them whole or not at all.

    `engine` is that of `heaptape allocators --json`. A cell's run needs its scalar metrics,
    counters, notes, failure and `others`, and timeline.{at,timeNs,residentBytes}. Cells may come
    in any order, and are iterated twice; tapes and candidates appear in the order of their first
    cells.
    """
    metrics = [*KEPT, *(gate.metric for gate in terms.gates if gate.metric != FAILED)]
    grid = _write_cells(folder, cells, str(engine["version"]), metrics)
    verdicts = tuple(
        verdict
        for gate in terms.gates
        for verdict in judge(gate, grid, terms.against, terms.baseline)
    )
    summary = summary_of(grid, terms.baseline)
    sweep = sweep_json(grid, engine, summary, [verdict.json() for verdict in verdicts])
    write_sweep(os.path.join(folder, "sweep.json"), sweep)
    notes = tuple(_notes(grid, terms.against))
    write_summary_page(os.path.join(folder, "sweep.html"), grid, sweep, verdicts, notes)
    passed = not any(verdict.state == "failed" for verdict in verdicts)
    return Results(passed, grid.failed, sweep, verdicts, notes)


def _write_cells(
    folder: str | os.PathLike[str], cells: Iterable[Cell], engine: str, metrics: Iterable[str]
) -> Grid:
    keys = {key for cell in cells for key in cell.tape.metadata}
    builder = GridBuilder(metrics)
    with Dataset(folder, keys) as dataset:
        for cell in cells:
            found = figures(cell.run or {})
            builder.add(cell, found)
            dataset.add(cell.candidate.label, row_of(cell, found, engine))
    return builder.grid()


def _notes(grid: Grid, against: Grid | None) -> Iterable[str]:
    """Facts that matter when figures are compared."""
    for candidate in grid.candidates:
        if candidate.spec == "recorded":
            label = display_text(candidate.label)
            yield (
                f"{label}: resident sizes are of all anonymous memory of the process; "
                "it is never best"
            )
    if against is None:
        return
    base = {candidate.label: candidate for candidate in against.candidates}
    for candidate in grid.candidates:
        label = display_text(candidate.label)
        before = base.pop(candidate.label, None)
        if before is None:
            yield f"{label}: not in the base"
        elif before.spec != candidate.spec:
            yield f"{label}: was '{display_text(before.spec)}' in the base"
        elif before.build_id != candidate.build_id:
            yield f"{label}: was another build of its library in the base"
    if base:
        yield f"only in the base: {', '.join(map(display_text, base))}"
