"""The default, the points and other allocators as replayed on real libraries, as JSON."""

from __future__ import annotations

from typing import Any

from .candidates import on_library
from .confirm import Key, time_json
from .findings import Findings
from .knobs import Setting
from .replays import CALLS, FAULTS, MEAN, PLATEAU, RESIDENT, plateau_moment

# By the name in the JSON.
FIGURES = {
    "peakResidentBytes": RESIDENT,
    "meanResidentBytes": MEAN,
    "plateauBytes": PLATEAU,
    "pageFaults": FAULTS,
    "systemCalls": CALLS,
}


def measured_json(found: Findings) -> list[dict[str, Any]]:
    rows = [_row(found, "default", "setting", found.space.default)]
    named: dict[Setting, list[str]] = {}
    for name, point in found.points.items():
        named.setdefault(point.setting, []).append(name)
    for setting, names in named.items():
        if any(setting):
            rows.append(_row(found, ", ".join(names), "setting", setting))
    rows.append({"name": "malloc_trim(0)", "kind": "trim", "tooSlow": False, "tapes": _trim(found)})
    labels = dict.fromkeys(key for _, key in found.confirmed.found if isinstance(key, str))
    rows += [_row(found, label, "allocator", label) for label in labels]
    return [row for row in rows if row["tapes"]]


def _row(found: Findings, name: str, kind: str, key: Key) -> dict[str, Any]:
    tapes = []
    for tape in found.searched:
        run = on_library(found, tape, key)
        if run is not None:
            figures = {json: run.values.get(figure) for json, figure in FIGURES.items()}
            tapes.append({"tape": tape, **figures, **_times(found, tape, key)})
    return {"name": name, "kind": kind, "tooSlow": key in found.too_slow, "tapes": tapes}


def _times(found: Findings, tape: str, key: Key) -> dict[str, Any]:
    one, default = on_library(found, tape, key), on_library(found, tape, found.space.default)
    if one is None or default is None:
        return {}
    pairs = ((name, time, default.times()[name]) for name, time in one.times().items())
    return {name: time_json(time, other) for name, time, other in pairs if time and other}


def _trim(found: Findings) -> list[dict[str, Any]]:
    """The default's plateau after a malloc_trim(0) there, on glibc."""
    tapes = []
    for tape, comparison in found.comparisons.items():
        run = comparison.runs.get("glibc")
        if found.space.allocator != "glibc" or run is None:
            continue
        moment = plateau_moment(run)
        given = run.get(f"{moment}.account.trimmableBytes") if moment else None
        resident = run.get(f"{moment}.residentBytes")
        if given and resident:
            nothing = dict.fromkeys(FIGURES)
            tapes.append({"tape": tape, **nothing, "plateauBytes": resident - given})
    return tapes
