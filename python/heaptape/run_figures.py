"""The figures of a run of a report: one number each, under the names in docs/metrics.md."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from ._native import MEAN_RESIDENT
from .columns import Column, columns_of, convert, drop_unknown_sizes, value_at

Figure = float | int | None

COUNTERS = "counters."


@functools.cache
def figure_columns() -> tuple[Column, ...]:
    """Those of figures() whose names do not depend on the run."""
    scalars = [column for column in columns_of("Run") if column[1] != "text"]
    return (*scalars, (MEAN_RESIDENT, "real", ()))


def figures(run: dict[str, Any]) -> dict[str, Figure]:
    """Every metric of a run that is one number, its counters, and mean.residentBytes.

    None: the run does not have it. A failed run has only `failure.event`. A run of a sweep also
    has its latencies, figures at marks and the losses of its tape.
    """
    run = drop_unknown_sizes(run)
    found: dict[str, Figure] = {
        name: convert(value_at(run, path), kind) for name, kind, path in figure_columns() if path
    }
    for counter in run.get("counters") or []:
        found[COUNTERS + counter["name"]] = convert(counter["value"], "count")
    found[MEAN_RESIDENT] = mean_resident_bytes(run)
    return found | (run.get("others") or {})


def mean_resident_bytes(run: dict[str, Any]) -> float | None:
    """The mean over the timeline.

    A sample counts for the time until the next one or, without times, for the calls.
    """
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
