"""The settings that remain once the real library has been measured, and the best of them."""

from __future__ import annotations

import dataclasses

from .confirm import Key, OnLibrary, Time
from .findings import Findings
from .front import Tried, points
from .point import library_change
from .replays import MEMORY


def times_of(found: Findings, key: Key, kind: str) -> list[tuple[Time, Time]]:
    """The time measured on each tape, and that of the default. `kind`: "time" or "timeFree"."""
    pairs = []
    for tape in found.searched:
        one, other = on_library(found, tape, key), on_library(found, tape, found.space.default)
        if one is not None and other is not None:
            pairs.append((one.times()[kind], other.times()[kind]))
    return [(time, default) for time, default in pairs if time and default]


def on_library(found: Findings, tape: str, key: Key) -> OnLibrary | None:
    return found.confirmed.found.get((tape, key))


def find_slow(found: Findings) -> list[Key]:
    """Settings and allocators slower than the limit allows, on some tape and beyond noise."""
    limit = found.max_slowdown
    if limit is None:
        return []
    keys = dict.fromkeys(key for _, key in found.confirmed.found)
    return [key for key in keys if _is_slower(found, key, limit)]


def _is_slower(found: Findings, key: Key, limit: float) -> bool:
    times = [*times_of(found, key, "time"), *times_of(found, key, "timeFree")]
    return any(time.is_slower(default, limit) for time, default in times)


def choose_points(found: Findings) -> dict[str, Tried]:
    """Among the candidates that are not too slow, by what the real library holds."""
    kept = [each for each in found.candidates if each.setting not in found.too_slow]
    if len(kept) < len(found.candidates):
        kept.append(found.default)
    by_library = {_on_library(found, each): each for each in kept}
    measured = [each for each in by_library if each is not None]
    if not measured:
        return points(kept, found.objective)
    chosen = points(measured, found.objective)
    return {name: by_library[point] for name, point in chosen.items()}


def _on_library(found: Findings, candidate: Tried) -> Tried | None:
    """With the memory that it holds there. None: it was not confirmed."""
    changes = library_change(found, candidate.setting)
    if changes is None:
        return None
    ratios = {name: 1 + changes[name] for name in MEMORY if name in changes}
    return dataclasses.replace(candidate, ratios={**candidate.ratios, **ratios})
