"""The figures of a run of a report: one number each, by the names of docs/metrics.md."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from .columns import Column, columns_of, convert, drop_unknown_sizes, units_of, value_at

Figure = float | int | None

MEAN_RESIDENT = "mean.residentBytes"
COUNTERS = "counters."


@functools.cache
def figure_columns() -> tuple[Column, ...]:
    """Those of figures(), without the counters, whose names are the allocators' own."""
    scalars = [column for column in columns_of("Run") if column[1] != "text"]
    return (*scalars, (MEAN_RESIDENT, "real", ()))


@functools.cache
def _units() -> dict[str, str]:
    return {**dict(units_of("Run")), MEAN_RESIDENT: "bytes"}


def unit_of(metric: str) -> str:
    """`bytes`, `count`, `ns` or `ratio`.

    A counter has no unit in reports: its name decides.
    """
    if metric.startswith(COUNTERS):
        if "bytes" in metric.lower():
            return "bytes"
        return "ns" if metric.endswith("Ns") else "count"
    return _units().get(metric, "count")


def figures(run: dict[str, Any]) -> dict[str, Figure]:
    """Every metric of a run that is one number, its counters, and mean.residentBytes.

    None: the run does not have it. A failed run has only `failure.event`.
    """
    run = drop_unknown_sizes(run)
    found: dict[str, Figure] = {
        name: convert(value_at(run, path), kind) for name, kind, path in figure_columns() if path
    }
    for counter in run.get("counters") or []:
        found[COUNTERS + counter["name"]] = convert(counter["value"], "count")
    found[MEAN_RESIDENT] = mean_resident_bytes(run)
    return found


def mean_resident_bytes(run: dict[str, Any]) -> float | None:
    """Over the timeline: a sample stands for the time, else the calls, to the next one."""
    timeline = run.get("timeline") or {}
    resident, times, calls = (
        [int(value) for value in timeline.get(name) or []]
        for name in ("residentBytes", "timeNs", "at")
    )
    if not resident:
        return None
    for clock in (times, calls):
        weights = [after - before for before, after in itertools.pairwise(clock)]
        if len(clock) == len(resident) and sum(weights) > 0:
            weighed = sum(value * weight for value, weight in zip(resident, weights, strict=False))
            return weighed / sum(weights)
    return float(resident[-1])
