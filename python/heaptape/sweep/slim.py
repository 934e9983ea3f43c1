"""The part of a run that a sweep keeps: its figures and notes, a few kB."""

from __future__ import annotations

import os
from typing import Any

from .._native import report_figures
from ..columns import columns_of, value_at
from ..run_figures import figures, mean_resident_bytes

_NO_TIMES = "timings are omitted"  # the note of every replay with --jobs


def slim(run: dict[str, Any], report: str) -> dict[str, Any]:
    """The run of a report with the same run_figures.figures(), and all its other metrics.

    Its timeline is one point, whose residentBytes are the mean over time.
    """
    kept: dict[str, Any] = {}
    for _, _, path in columns_of("Run"):
        value = value_at(run, path)
        if value is not None and path != ("label",):
            part = kept
            for name in path[:-1]:
                part = part.setdefault(name, {})
            part[path[-1]] = value
    kept["counters"] = run.get("counters") or []
    kept["notes"] = [note for note in run.get("notes") or [] if not note.startswith(_NO_TIMES)]
    mean = mean_resident_bytes(run)
    if mean is not None:
        kept["timeline"] = {"at": [0], "residentBytes": [round(mean)]}
    known = figures(run)
    kept["others"] = {
        name: value
        for name, value in report_figures(os.fsencode(report)).items()
        if name not in known
    }
    return kept
