"""One of the settings found, as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .analysis import Interaction
from .confirm import OnLibrary, Time, change, time_json
from .findings import Findings
from .front import FASTEST, Tried, dominates
from .knobs import Setting
from .replays import MEMORY, RESIDENT, geometric_mean, ratios

_TIME = "time"


def point_json(found: Findings, point: Tried, best: set[Setting]) -> dict[str, Any]:
    space, setting = found.space, point.setting
    searched = [
        _on_tape(found, tape, setting, values, base)
        for tape, values, base in zip(found.searched, point.values, found.base, strict=True)
    ]
    held_values = found.held_out_values.get(setting, ())
    held = [
        _on_tape(found, tape, setting, values, base)
        for tape, values, base in zip(
            found.held_out, held_values, found.held_out_base, strict=False
        )
    ]
    return {
        "trial": point.index,
        "settings": space.knob_values(setting),
        "line": space.line(setting),
        "spec": space.spec(setting, 0, "library"),
        "isDefault": not any(setting),
        "change": {name: value - 1 for name, value in point.ratios.items()},
        "shareRemoved": _shares(searched),
        "searched": searched,
        "heldOut": held,
        "library": library_change(found, setting),
        "onLibraryFront": setting in best if best else None,
        "interactions": [_interaction(each) for each in found.interactions.get(setting, [])],
    }


def library_change(found: Findings, setting: Setting) -> dict[str, float] | None:
    """From the default, on the real library: the mean over the tapes. None: no replays there."""
    each = [_library_ratios(found, tape, setting) for tape in found.searched]
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return None
    names = [name for name in known[0] if all(name in one for one in known)]
    return {name: geometric_mean([one[name] for one in known]) - 1 for name in names}


def on_library_front(found: Findings) -> set[Setting]:
    """The confirmed settings that none dominates in the known figures of all.

    Figures are peak, mean, plateau, faults, calls and time.
    """
    changes = {
        setting: library_change(found, setting)
        for setting in {found.space.default, *(each.setting for each in found.candidates)}
    }
    known = {setting: each for setting, each in changes.items() if each is not None}
    if not known:
        return set()
    first = next(iter(known.values()))
    names = [name for name in first if name != RESIDENT and all(name in c for c in known.values())]
    return {
        setting
        for setting, one in known.items()
        if not any(dominates(other, one, names) for other in known.values())
    }


def faster_setting(found: Findings) -> Setting | None:
    """A setting that all repeats on all tapes found faster than the one called fastest.

    None also if each time was measured once: any two then differ.
    """
    if found.confirmed.repeats < 2:
        return None
    fastest = found.points[FASTEST].setting
    settings = dict.fromkeys([found.space.default, *(each.setting for each in found.candidates)])
    faster: dict[Setting, float] = {}
    for setting in settings:
        pairs = [
            (_time(found, tape, setting), _time(found, tape, fastest)) for tape in found.searched
        ]
        if all(one and other and one.most < other.least for one, other in pairs):
            faster[setting] = sum(one.median for one, _ in pairs if one)
    return min(faster, key=lambda setting: faster[setting]) if faster else None


def _on_tape(
    found: Findings,
    tape: str,
    setting: Setting,
    values: Mapping[str, float],
    base: Mapping[str, float],
) -> dict[str, Any]:
    ideal = found.ideal.get(tape, {})
    library = found.confirmed.found.get((tape, setting))
    default = found.confirmed.found.get((tape, found.space.default))
    entry: dict[str, Any] = {
        "tape": tape,
        "change": {name: value - 1 for name, value in ratios(dict(values), dict(base)).items()},
        "shareRemoved": {
            name: share_removed(values[name], base[name], ideal.get(name)) for name in MEMORY
        },
    }
    if library is not None and default is not None:
        entry["library"] = _library(library, default, values)
    return entry


def share_removed(value: float, default: float, ideal: float | None) -> float | None:
    """The share of the default's excess over model:ideal. None: it is less than a page."""
    if ideal is None or default - ideal < 4096:
        return None
    return (default - value) / (default - ideal)


def _library(library: OnLibrary, default: OnLibrary, values: Mapping[str, float]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "change": {
            name: value - 1 for name, value in change(library.values, default.values).items()
        },
        "differsFromSearch": {
            name: library.values[name] / values[name] - 1
            for name in MEMORY
            if name in library.values and values[name]
        },
    }
    for name, one in library.times().items():
        other = default.times()[name]
        if one is not None and other is not None:
            entry[name] = time_json(one, other)
    return entry


def _library_ratios(found: Findings, tape: str, setting: Setting) -> dict[str, float] | None:
    library = found.confirmed.found.get((tape, setting))
    default = found.confirmed.found.get((tape, found.space.default))
    if library is None or default is None:
        return None
    values = change(library.values, default.values)
    if library.time is not None and default.time is not None:
        values[_TIME] = library.time.median / default.time.median
    return values


def _time(found: Findings, tape: str, setting: Setting) -> Time | None:
    library = found.confirmed.found.get((tape, setting))
    return library.time if library is not None else None


def _shares(tapes: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The medians over the tapes on which memory can be removed."""
    found: dict[str, float | None] = {}
    for name in MEMORY:
        shares = [tape["shareRemoved"][name] for tape in tapes]
        known = [share for share in shares if share is not None]
        found[name] = statistics.median(known) if known else None
    return found


def _interaction(each: Interaction) -> dict[str, Any]:
    return {
        "knobs": list(each.knobs),
        "objective": each.objective,
        "alone": list(each.alone),
        "together": each.together,
        "interaction": each.change,
        "strong": each.strong,
    }
