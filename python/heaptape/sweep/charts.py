"""Charts of sweep.html, as page.write_page() takes them.

Axes are numbers with names as labels: two tapes may have the same shortened name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._native import figure_text, metric_unit, percent_text
from ..page import plot_text
from .grid import Grid
from .quantiles import quantile

MOST_TAPES = 200  # in a chart
_GOLDEN = 0.618034  # of the row's height: spreads points evenly

Ratios = Sequence[Sequence[float | None]]  # by candidate and tape


def most_different(ratios: Ratios, tapes: int) -> list[int]:
    """The tapes whose ratios are furthest from 1, in that order."""

    def distance(tape: int) -> float:
        found = [row[tape] for row in ratios]
        return max((abs(math.log(r)) for r in found if r is not None and r > 0), default=0.0)

    return sorted(range(tapes), key=lambda tape: (-distance(tape), tape))[:MOST_TAPES]


def box_chart(grid: Grid, metric: str, ratios: Ratios, shown: Sequence[int]) -> dict[str, Any]:
    rows = [(i, [r for r in row if r is not None and r > 0]) for i, row in enumerate(ratios)]
    rows = [(i, sorted(row)) for i, row in rows if row]
    names = [plot_text(grid.labels[i]) for i, _ in rows]
    boxes: dict[str, Any] = {"type": "box", "y": list(range(len(rows)))}
    for name, percent in (
        ("lowerfence", 10),
        ("q1", 25),
        ("median", 50),
        ("q3", 75),
        ("upperfence", 90),
    ):
        boxes[name] = [quantile(row, percent) for _, row in rows]
    points = [
        _points(grid, metric, ratios[i], place, candidate=i, shown=shown)
        for place, (i, _) in enumerate(rows)
    ]
    layout = {
        "showlegend": False,
        "height": 140 + 46 * len(rows),
        "xaxis": {"type": "log", "title": {"text": f"{metric}, times the baseline"}},
        "yaxis": {**_labels(names), "autorange": "reversed"},
    }
    return {"data": [boxes, *points], "layout": layout}


def _points(
    grid: Grid,
    metric: str,
    row: Sequence[float | None],
    place: int,
    *,
    candidate: int,
    shown: Sequence[int],
) -> dict[str, Any]:
    found = [(tape, r) for tape in shown if (r := row[tape]) is not None and r > 0]
    return {
        "marker": {"size": 5, "opacity": 0.8},
        "x": [r for _, r in found],
        "y": [round(place - 0.25 + 0.5 * (tape * _GOLDEN % 1), 3) for tape, _ in found],
        "text": [_hover(grid, metric, candidate, tape, r) for tape, r in found],
    }


def heat_map(grid: Grid, metric: str, ratios: Ratios, shown: Sequence[int]) -> dict[str, Any]:
    """Powers of two, from a half to the double and beyond."""
    candidates = [i for i, row in enumerate(ratios) if any(r is not None for r in row)]
    z = [[_log2(ratios[i][tape]) for i in candidates] for tape in shown]
    text = [[_hover(grid, metric, i, tape, ratios[i][tape]) for i in candidates] for tape in shown]
    data = {
        "type": "heatmap",
        "z": z,
        "text": text,
        "zmin": -1,
        "zmax": 1,
        "colorscale": [[0, "#0072b2"], [0.5, "#e9e9e4"], [1, "#d55e00"]],
        "colorbar": {"tickvals": [-1, 0, 1], "ticktext": ["half", "the same", "double"]},
    }
    names = [plot_text(grid.tapes[tape]["tape"]) for tape in shown]
    layout = {
        "height": 160 + 18 * len(shown),
        "xaxis": {**_labels([plot_text(grid.labels[i]) for i in candidates]), "side": "top"},
        "yaxis": {**_labels(names), "autorange": "reversed"},
    }
    return {"data": [data], "layout": layout}


def _log2(ratio: float | None) -> float | None:
    return round(math.log2(ratio), 4) if ratio is not None and ratio > 0 else None


def _hover(grid: Grid, metric: str, candidate: int, tape: int, ratio: float | None) -> str:
    names = f"{plot_text(grid.tapes[tape]['tape'])}, {plot_text(grid.labels[candidate])}"
    if tape in grid.errors[candidate]:
        return f"{names}: failed"
    value = figure_text(grid.row(metric, candidate)[tape], metric_unit(metric))
    return f"{names}: {value}" + (f", {percent_text(ratio - 1)}" if ratio is not None else "")


def _labels(names: Sequence[str]) -> dict[str, Any]:
    return {"tickvals": list(range(len(names))), "ticktext": list(names)}
