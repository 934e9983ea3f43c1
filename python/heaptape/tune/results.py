"""The results of a tuning, as JSON: docs/howto-tune.md describes each name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from ..files import write_whole
from ..texts import join_names, quantity_text
from .answer import answer
from .findings import Findings
from .front import FASTEST, Tried, count_dominating, distinct, rank
from .knobs import Space
from .measured import measured_json
from .point import faster_setting, library_change, on_library_front, point_json
from .replays import MEAN, MEMORY, OBJECTIVES, PEAK, PLATEAU, WORK

_VERSION = 1


def as_json(found: Findings) -> dict[str, Any]:
    space = found.space
    best = on_library_front(found)
    return {
        "version": _VERSION,
        "allocator": {
            "name": space.allocator,
            "version": space.version,
            "searchedOn": space.spec_of[space.engine],
        },
        "answer": answer(found),
        "objective": found.objective,
        "maxSlowdown": found.max_slowdown,
        "seed": found.seed,
        "budgetSeconds": found.budget,
        "seconds": round(found.seconds, 3),
        "objectives": {
            PEAK: space.peak,
            MEAN: "mean.residentBytes",
            PLATEAU: "atPlateau.residentBytes",
            WORK: "estimated time",
        },
        "tapes": [_tape(found, path) for path in found.facts],
        "default": _default(found),
        "points": {name: point_json(found, point, best) for name, point in found.points.items()},
        "front": [point_json(found, point, best) for point in found.candidates],
        "measured": measured_json(found),
        "library": {
            "error": found.confirmed.error,
            "repeats": found.confirmed.repeats,
            "leftOut": found.confirmed.left_out,
        },
        "knobs": [_knob(found, i) for i in range(len(space.knobs))],
        "trials": [_trial(space, trial, found.front) for trial in found.tried],
        "notes": _notes(found),
    }


def write(folder: str, result: dict[str, Any]) -> None:
    from .chart import write_chart

    text = json.dumps(result, indent=1) + "\n"
    write_whole(os.path.join(folder, "tune.json"), text.encode())
    write_chart(os.path.join(folder, "tune.html"), result)


def _tape(found: Findings, path: str) -> dict[str, Any]:
    held = path in found.held_out
    tapes, bases = (found.held_out, found.held_out_base) if held else (found.searched, found.base)
    base = dict(zip(tapes, bases, strict=False)).get(path)
    ideal = {name: found.ideal.get(path, {}).get(name) for name in MEMORY}
    comparison = found.comparisons.get(path)
    facts = found.facts[path]
    return {
        "path": path,
        "threads": facts["threads"],
        "heldOut": held,
        "verdict": comparison.verdict if comparison else None,
        "default": base,
        "ideal": ideal,
    }


def _default(found: Findings) -> dict[str, Any]:
    ratios = found.default.ratios
    return {
        "dominatedBy": count_dominating(found.tried, ratios),
        "settings": len(distinct(found.tried)),
        "rank": {name: rank(found.tried, ratios, name) for name in OBJECTIVES},
        "best": all(not any(point.setting) for point in found.points.values()),
    }


def _knob(found: Findings, i: int) -> dict[str, Any]:
    knob = found.space.knobs[i]
    fields = ("name", "variable", "unit", "default", "meaning", "source", "beware")
    return {
        **{field: getattr(knob, field) for field in fields},
        "values": list(knob.values),
        "importance": {
            name: shares[knob.name] for name, shares in found.importances.items() if shares
        },
    }


def _trial(space: Space, trial: Tried, best: list[Tried]) -> dict[str, Any]:
    return {
        "trial": trial.index,
        "settings": space.knob_values(trial.setting),
        "change": {name: value - 1 for name, value in trial.ratios.items()} or None,
        "onFront": trial in best,
        "error": trial.error,
    }


def _other_versions(found: Findings) -> Iterator[str]:
    """The knobs, and the model if there is one, are those of one version."""
    space = found.space
    recorded = {
        facts.get("allocatorVersion")
        for facts in found.facts.values()
        if facts.get("allocatorFamily") == space.allocator
    }
    others = sorted(version for version in recorded if version and version != space.version)
    if others:
        yield (
            f"the tapes were recorded on {space.allocator} {join_names(others)}, and the knobs are "
            f"those of {space.version}"
        )


def _slow_note(found: Findings) -> str:
    if not found.confirmed.repeats:
        return "no times were measured: nothing is known to be too slow"
    settings = sum(not isinstance(key, str) for key in found.too_slow)
    slow = [quantity_text(settings, "setting")] if settings else []
    slow += [key for key in found.too_slow if isinstance(key, str)]
    named = join_names(slow, len(slow)) if slow else "nothing"
    return f"slower than the default by more than {found.max_slowdown:.1%}, as measured: {named}"


def _notes(found: Findings) -> list[str]:
    """Notes for the reader of these results, a sentence each."""
    notes = [*_other_versions(found)]
    if found.confirmed.error:
        notes.append(f"nothing was confirmed on the real library: {found.confirmed.error}")
    elif found.confirmed.left_out:
        left_out = quantity_text(found.confirmed.left_out, "setting")
        notes.append(f"there was no time to confirm {left_out} of the front")
    if not found.confirmed.error and not found.confirmed.repeats:
        notes.append("no times were measured: figures of time are estimates")
    faster = faster_setting(found)
    if faster is not None:
        notes.append(
            f"'{FASTEST}' goes by the estimate; measured, this is faster: "
            f"{found.space.line(faster) or 'the default'}"
        )
    for point in dict.fromkeys(found.points.values()):
        differs = library_change(found, point.setting)
        if differs is not None and differs.get(PEAK, 0) > max(0.0, point.ratios[PEAK] - 1) + 0.01:
            notes.append(
                f"on the real library the peak is not as found: {found.space.text(point.setting)}"
            )
    if found.max_slowdown is not None:
        notes.append(_slow_note(found))
    failed = sum(trial.error is not None for trial in found.tried)
    if failed:
        notes.append(f"{quantity_text(failed, 'trial')} failed")
    return notes
