"""The part of a run that a sweep keeps: its figures and notes, a few kB."""

from __future__ import annotations

import os
from typing import Any

from .._native import MEAN_RESIDENT, report_figures
from ..columns import drop_unknown_sizes
from ..run_figures import figures

_NO_TIMES = "timings are omitted"  # the note of every replay with --jobs


def slim(run: dict[str, Any], report: str) -> dict[str, Any]:
    """The run of a report with the same run_figures.figures(), and all its other metrics.

    Its timeline is one point, whose residentBytes are the mean over time.
    """
    known = figures(run)
    kept: dict[str, Any] = _without_lists(drop_unknown_sizes(run))
    kept.pop("label", None)
    kept["counters"] = run.get("counters") or []
    kept["notes"] = [note for note in run.get("notes") or [] if not note.startswith(_NO_TIMES)]
    mean = known[MEAN_RESIDENT]
    kept["timeline"] = {} if mean is None else {"at": [0], "residentBytes": [round(mean)]}
    found = report_figures(os.fsencode(report))
    kept["others"] = {name: value for name, value in found.items() if name not in known}
    return kept


def _without_lists(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return {name: _without_lists(v) for name, v in part.items() if not isinstance(v, list)}
