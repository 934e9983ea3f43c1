"""The verdict of each gate on each candidate of a sweep.

Changes are computed for each tape: from the figure of the same tape (by its digest) and candidate
(by its label) in the base, or from that of the baseline candidate on the same tape. A cell that
failed, or that lost a figure which its base has, is worse than any other. A gate without an
aggregate judges each tape by itself.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

from .._native import AGGREGATES, FAILED, Gate, change_text, figure_text, percent_text
from ..run_figures import Figure
from ..texts import display_text, join_names, quantity_text
from .grid import Grid
from .quantiles import quantile

_MOST_NAMED = 5


@dataclasses.dataclass(frozen=True)
class Measure:
    """The figure of one tape, or its change, that a gate judges."""

    tape: str
    value: float  # infinite: the cell failed or lost the figure, or its base is 0
    now: Figure
    base: Figure
    error: str | None
    breaks: bool  # whether it breaks the gate by itself


@dataclasses.dataclass(frozen=True)
class Verdict:
    gate: Gate
    candidate: str
    state: str  # passed, failed, skipped
    detail: str  # one sentence
    value: float | None = None  # of the aggregate; without one, of the worst tape
    tapes: int = 0  # that were judged
    beyond: Sequence[Measure] = ()  # beyond the limit, the worst ones first

    def text(self) -> str:
        words = {"passed": "PASS", "failed": "FAIL", "skipped": "SKIP"}
        return display_text(
            f"{words[self.state]}  {self.gate.text}  [{self.candidate}]  {self.detail}"
        )

    def json(self) -> dict[str, Any]:
        """Infinite values are null."""
        return {
            "gate": self.gate.text,
            "candidate": self.candidate,
            "state": self.state,
            "detail": self.detail,
            "value": _finite(self.value),
            "limit": _finite(self.gate.limit),
            "tapes": self.tapes,
            "beyond": len(self.beyond),
            "worst": [
                {name: getattr(measure, name) for name in ("tape", "now", "base", "error")}
                | {"value": _finite(measure.value)}
                for measure in self.beyond[:_MOST_NAMED]
            ],
        }


def judge(
    gate: Gate, grid: Grid, against: Grid | None = None, baseline: str | None = None
) -> list[Verdict]:
    """One verdict for each candidate. A gate that no candidate answers fails."""
    verdicts = [
        _judge(gate, grid, i, against, baseline)
        for i, label in enumerate(grid.labels)
        if not (gate.is_change and against is None and label == baseline)
    ]
    if not verdicts:
        return [Verdict(gate, "-", "failed", "there is no candidate beside the baseline")]
    if any(verdict.state != "skipped" for verdict in verdicts):
        return verdicts
    return [dataclasses.replace(verdict, state="failed") for verdict in verdicts]


def verdict_line(verdicts: Sequence[Verdict]) -> str:
    failed = sum(verdict.state == "failed" for verdict in verdicts)
    judged = sum(verdict.state != "skipped" for verdict in verdicts)
    word = "FAIL" if failed else "PASS"
    return f"{word}: {failed:,} of {judged:,} gate checks failed"


@dataclasses.dataclass(frozen=True)
class _Pairs:
    """The cells of a candidate, each with its base; None where there is none."""

    cells: list[tuple[int, int | None]]  # tape here, tape in the base
    base: Grid | None
    base_candidate: int
    same: bool  # the base is the same candidate, so no figure of it may be lost

    def missing(self) -> str:
        """The tapes of only one side, as text."""
        if self.base is None or not self.same:
            return ""
        paired = {_identity(self.base.tapes[there]) for _, there in self.cells if there is not None}
        here = sum(there is None for _, there in self.cells)
        gone = sum(_identity(tape) not in paired for tape in self.base.tapes)
        parts = [f"{quantity_text(here, 'tape')} only here"] if here else []
        parts += [f"{quantity_text(gone, 'tape')} only in the base"] if gone else []
        return ", ".join(parts)


def _judge(
    gate: Gate, grid: Grid, candidate: int, against: Grid | None, baseline: str | None
) -> Verdict:
    label = grid.labels[candidate]
    pairs = _pairs(gate, grid, label, against, baseline)
    if pairs is None:
        return Verdict(gate, label, "skipped", "the base has no such candidate")
    if _is_of_other_memory(gate, label, grid, pairs):
        why = "the recorded run's resident memory is that of its whole process, not of its heap"
        return Verdict(gate, label, "skipped", why)
    if gate.metric == FAILED:
        return _judge_failures(gate, grid, candidate, pairs)
    measures = list(_measures(gate, grid, candidate, pairs))
    can_lose = gate.is_change and pairs.same
    if not any(m.now is not None or (can_lose and m.base is not None) for m in measures):
        return Verdict(gate, label, *_state_without_values(gate, grid, candidate, pairs))
    return _compare(gate, label, measures, pairs)


def _pairs(
    gate: Gate, grid: Grid, label: str, against: Grid | None, baseline: str | None
) -> _Pairs | None:
    own = [(i, i) for i in range(len(grid.tapes))]
    if not gate.is_change:
        return _Pairs([(i, None) for i, _ in own], None, 0, True)
    if against is None:
        return _Pairs([*own], grid, grid.labels.index(baseline or grid.labels[0]), False)
    if label not in against.labels:
        return None
    there = {tape.get("uri"): i for i, tape in enumerate(against.tapes)}
    there |= {tape["digest"]: i for i, tape in enumerate(against.tapes)}
    cells = [(i, there.get(_identity(tape))) for i, tape in enumerate(grid.tapes)]
    return _Pairs(cells, against, against.labels.index(label), True)


def _identity(tape: dict[str, Any]) -> Any:
    """A tape that can no longer be read has no digest: its URI identifies it."""
    return tape["digest"] or tape.get("uri")


def _is_of_other_memory(gate: Gate, label: str, grid: Grid, pairs: _Pairs) -> bool:
    if pairs.base is None or not gate.metric.endswith(".residentBytes"):
        return False
    spec = grid.candidates[grid.labels.index(label)].spec
    return (spec == "recorded") != (pairs.base.candidates[pairs.base_candidate].spec == "recorded")


def _measures(gate: Gate, grid: Grid, candidate: int, pairs: _Pairs) -> Iterator[Measure]:
    worst = -math.inf if gate.is_falling else math.inf
    now_row = grid.row(gate.metric, candidate)
    base_row = pairs.base.row(gate.metric, pairs.base_candidate) if pairs.base else []
    for here, there in pairs.cells:
        now, error = now_row[here], grid.errors[candidate].get(here)
        base = base_row[there] if pairs.base is not None and there is not None else None
        if gate.is_change and base is None:
            continue
        if now is None and error is None and not (gate.is_change and pairs.same):
            continue  # an allocator or a tape that does not have it
        value = worst if now is None else _change(gate, now, base)
        breaks = now is None or gate.breaks(now, base)
        yield Measure(grid.tapes[here]["tape"], value, now, base, error, breaks)


def _change(gate: Gate, now: float, base: Figure) -> float:
    if not gate.is_change or base is None:
        return now
    change = now - base - gate.extra
    if not gate.is_percent:
        return change
    if base == 0:
        return math.copysign(math.inf, change) if change else 0.0
    return change / abs(base)


def _aggregate(gate: Gate, measures: list[Measure]) -> tuple[float, bool]:
    """The judged value, and whether the gate is broken. `measures`: the worst one first."""
    if not gate.aggregate:
        return measures[0].value, any(measure.breaks for measure in measures)
    percent = AGGREGATES[gate.aggregate]
    if percent is None:
        mean = sum(measure.value for measure in measures) / len(measures)
        return mean, gate.is_beyond(mean) or any(measure.now is None for measure in measures)
    chosen = quantile(sorted(measures, key=lambda measure: measure.value), percent)
    return chosen.value, chosen.breaks


def _state_without_values(gate: Gate, grid: Grid, candidate: int, pairs: _Pairs) -> tuple[str, str]:
    """Skipped if the candidate has no such figure at all; otherwise failed."""
    has_it = any(value is not None for value in grid.row(gate.metric, candidate))
    if grid.errors[candidate] and len(grid.errors[candidate]) == len(grid.tapes):
        return "failed", "no cell has a figure: all failed"
    if not has_it:
        return "skipped", f"has no {gate.metric}"
    missing = pairs.missing()
    return "failed", f"no tape has {gate.metric} on both sides" + (missing and f": {missing}")


def _judge_failures(gate: Gate, grid: Grid, candidate: int, pairs: _Pairs) -> Verdict:
    label = grid.labels[candidate]
    cells = [pair for pair in pairs.cells if pairs.base is None or pair[1] is not None]
    if not cells:
        return Verdict(gate, label, "failed", f"no tape is on both sides: {pairs.missing()}")
    errors = grid.errors[candidate]
    failed = [
        Measure(grid.tapes[here]["tape"], 1, None, None, errors[here], True)
        for here, _ in cells
        if here in errors
    ]
    before = 0
    if pairs.base is not None:
        there = pairs.base.errors[pairs.base_candidate]
        before = sum(tape in there for _, tape in cells)
    value = len(failed) - before
    fails = gate.is_beyond(value)
    detail = f"{len(failed):,} of {quantity_text(len(cells), 'cell')} failed"
    if pairs.base is not None:
        detail += f", {before:,} in the base"
    detail += f": {join_names([measure.tape for measure in failed])}" if failed else ""
    state = "failed" if fails else "passed"
    return Verdict(gate, label, state, detail, value, len(cells), failed)


def _compare(gate: Gate, label: str, measures: list[Measure], pairs: _Pairs) -> Verdict:
    sign = 1 if gate.is_falling else -1
    measures.sort(key=lambda measure: (not measure.breaks, sign * measure.value))
    beyond = [measure for measure in measures if measure.breaks]
    value, fails = _aggregate(gate, measures)
    name = gate.aggregate or "the worst"
    detail = (
        f"{name} is {_value_text(gate, value)}, limit {_value_text(gate, gate.limit)}; "
        f"{len(beyond):,} of {quantity_text(len(measures), 'tape')} beyond"
    )
    if missing := pairs.missing():
        detail += f" ({missing})"
    if fails and beyond:
        detail += "; worst: " + ", ".join(_tape_text(gate, m) for m in beyond[:_MOST_NAMED])
    state = "failed" if fails else "passed"
    return Verdict(gate, label, state, detail, value, len(measures), beyond)


def _tape_text(gate: Gate, measure: Measure) -> str:
    name = join_names([measure.tape])
    if measure.error is not None:
        return f"{name} (failed)"
    if measure.now is None:
        return f"{name} (has no {gate.metric} any more)"
    now = figure_text(measure.now, gate.unit)
    if measure.base is None:
        return f"{name} ({now})"
    base = figure_text(measure.base, gate.unit)
    return f"{name} {_value_text(gate, measure.value)} ({base} to {now})"


def _value_text(gate: Gate, value: float) -> str:
    if math.isinf(value):
        return "more than any" if value > 0 else "less than any"
    if gate.is_percent:
        extra = f" {change_text(gate.extra, gate.unit)}" if gate.extra else ""
        return percent_text(value) + extra
    return change_text(value, gate.unit) if gate.is_change else figure_text(value, gate.unit)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
