"""The answer of a tuning in words, the most useful sentence first (docs/howto-tune.md)."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from .._native import figure_text, percent_text
from ..texts import display_text, noise_text, quantity_text
from .candidates import on_library, times_of
from .compare import Comparison
from .confirm import Key, Time
from .findings import Findings
from .front import FASTEST, SMALLEST, Tried
from .replays import MEAN, PEAK, PLATEAU, RESIDENT_AT, geometric_mean

SETTINGS, ALLOCATOR, TRIM, NOTHING = "settings", "allocator", "trim", "nothing"

_CALLED = {PEAK: "the resident peak", MEAN: "mean resident memory", PLATEAU: "the plateau"}
_NOTED_BYTES = 64 << 10  # less is not worth a sentence, as in the verdict
_SMALL_SHARE = 0.05  # of the run's time


def answer(found: Findings) -> dict[str, Any]:
    settings = _settings(found)
    others = [_other(found, tape, each) for tape, each in found.comparisons.items()]
    trims = list(_trims(found))
    better = [each.text for each in others if each is not None and each.is_better]
    if better:
        kind, first = ALLOCATOR, [*better, settings or _nothing(found)]
    elif settings:
        kind, first = SETTINGS, [settings]
    elif trims:
        kind, first = TRIM, [trims[0], _nothing(found)]
    else:
        kind, first = NOTHING, [_nothing(found)]
    rest = [each.text for each in others if each is not None and not each.is_better]
    sentences = [*first, *_faster(found), *rest, *trims, *_warnings(found)]
    return {
        "kind": kind,
        "objective": found.objective,
        "errorShare": _error_share(found),
        "sentences": [display_text(text) for text in dict.fromkeys(sentences)],
    }


# Settings


def _settings(found: Findings) -> str:
    """Empty if none helps by more than the error."""
    point = found.points[SMALLEST]
    pairs = list(_values(found, point))
    ratio = geometric_mean([value / base if base else 1 for value, base in pairs])
    saved = sum(base - value for value, base in pairs)
    if 1 - ratio <= _error_share(found) or saved < _NOTED_BYTES:
        return ""
    name, line = _objective_name(found), found.space.line(point.setting)
    change = percent_text(ratio - 1)
    if len(pairs) == 1:
        value, base = (figure_text(round(size), "bytes") for size in pairs[0])
        text = f"{line} takes {name} from {base} to {value} ({change})"
    else:
        text = f"{line} takes {name} down by {change.lstrip('-')} on {len(pairs)} tapes"
    return f"{text}{_time_part(found, point.setting)}; {_how(found)}{_held_out(found, point)}"


def _values(found: Findings, point: Tried) -> Iterator[tuple[float, float]]:
    """The bytes of a setting and of the default, on each tape: on the library, if it was there."""
    name = found.objective
    for i, tape in enumerate(found.searched):
        one, base = on_library(found, tape, point.setting), on_library(found, tape, _default(found))
        if one is not None and base is not None:
            yield one.values[name], base.values[name]
        else:
            yield point.values[i][name], found.base[i][name]


def _objective_name(found: Findings) -> str:
    is_committed = found.objective == PEAK and "committed" in found.space.peak
    return "the committed peak" if is_committed else _CALLED[found.objective]


def _default(found: Findings) -> Key:
    return found.space.default


def _error_share(found: Findings) -> float:
    """The largest error of a prediction on these tapes, as a share of what the default holds."""
    shares = [0.0]
    for i, (tape, comparison) in enumerate(found.comparisons.items()):
        default = on_library(found, tape, _default(found))
        held = (default.values if default is not None else found.base[i])[found.objective]
        error = comparison.error_of(found.space.allocator, held)
        shares.append(error / held if held else comparison.error_share)
    return max(shares)


def _held_out(found: Findings, point: Tried) -> str:
    values = found.held_out_values.get(point.setting, ())
    name = found.objective
    pairs = zip(values, found.held_out_base, strict=False)
    ratios = [one[name] / base[name] if base[name] else 1 for one, base in pairs]
    if not ratios:
        return ""
    tapes = quantity_text(len(ratios), "tape")
    return f"; predicted on {tapes} held out: {percent_text(geometric_mean(ratios) - 1)}"


def _time_part(found: Findings, key: Key) -> str:
    texts = {}
    for kind in ("time", "timeFree"):
        times = times_of(found, key, kind)
        if not times:
            continue
        if all(time.overlaps(default) for time, default in times):
            noise = max(time.noise(default) for time, default in times)
            texts[kind] = noise_text(noise)
        else:
            texts[kind] = f"{percent_text(_mean_ratio(times) - 1)}"
    if "time" not in texts:
        return ""
    free = f"; threads at once: {texts['timeFree']}" if "timeFree" in texts else ""
    return f"; time of calls: {texts['time']}{free}"


def _mean_ratio(times: list[tuple[Time, Time]]) -> float:
    return geometric_mean([time.median / default.median for time, default in times])


def _how(found: Findings) -> str:
    confirmed, space = found.confirmed, found.space
    if confirmed.error:
        return f"predicted by {space.spec_of[space.engine]}, not measured: {confirmed.error}"
    version = f" {found.installed}" if found.installed else ""
    repeats = f", {quantity_text(confirmed.repeats, 'repeat')}" if confirmed.repeats else ""
    return f"measured on {space.allocator}{version}{repeats}"


def _nothing(found: Findings) -> str:
    tried = quantity_text(len({trial.setting for trial in found.tried}), "setting")
    name, error = _objective_name(found), f"{_error_share(found):.0%}"
    allowed = "" if found.max_slowdown is None else " that is fast enough"
    return (
        f"settings of {found.space.allocator} have nothing to gain: of {tried} tried, none{allowed} takes "
        f"{name} down by {figure_text(_NOTED_BYTES, 'bytes')} and by more than the error of a prediction "
        f"({error}); {_how(found)}"
    )


def _faster(found: Findings) -> Iterator[str]:
    """A setting that saves time alone."""
    point = found.points[FASTEST]
    times = times_of(found, point.setting, "time")
    if point.setting == found.points[SMALLEST].setting or found.confirmed.repeats < 2:
        return
    if times and all(one.most < other.least for one, other in times):
        ratio = _mean_ratio(times)
        pairs = [value / base if base else 1 for value, base in _values(found, point)]
        yield (
            f"{found.space.line(point.setting)} changes the time of calls by {percent_text(ratio - 1)} "
            f"and {_objective_name(found)} by {percent_text(geometric_mean(pairs) - 1)}"
        )


# Other allocators


@dataclasses.dataclass(frozen=True)
class _Other:
    text: str
    is_better: bool  # than the settings, by more than the error


def _other(found: Findings, tape: str, comparison: Comparison) -> _Other | None:
    prefix = _tape_name(found, tape)
    finding = comparison.finding("allocator")
    if finding is not None and finding["allocator"] in comparison.runs:
        return _holds_less(found, tape, comparison, finding)
    for kind in ("purged", "noBetter", "nothing"):
        other = comparison.finding(kind)
        if other is not None:
            action = f"; {other['action']}" if other["action"] else ""
            return _Other(f"{prefix}{other['evidence']}{action}", False)
    return None


def _holds_less(
    found: Findings, tape: str, comparison: Comparison, finding: Mapping[str, Any]
) -> _Other:
    label, error = finding["allocator"], int(finding["errorBytes"])
    held = comparison.held_bytes(comparison.runs[label]) or 0
    yours = held + int(finding["bytes"])
    best = _best_held(found, tape, comparison)
    texts = [figure_text(size, "bytes") for size in (held, yours, error, best or 0)]
    text = f"{_tape_name(found, tape)}{label} would hold {texts[0]} at the {comparison.moment} where "
    text += f"yours holds {texts[1]}"
    if best is None:
        return _Other(f"{text}; the prediction may be wrong by {texts[2]}; {finding['action']}", True)
    text += f" and the best settings {texts[3]}; the prediction may be wrong by {texts[2]}"
    is_better = best - held > error
    return _Other(f"{text}; {finding['action']}" if is_better else text, is_better)


def _best_held(found: Findings, tape: str, comparison: Comparison) -> int | None:
    """The least that a setting holds at the moment of the verdict, on the library."""
    name = RESIDENT_AT[comparison.moment]
    held = []
    for key in (_default(found), *(each.setting for each in found.candidates)):
        run = on_library(found, tape, key)
        if run is not None and name in run.values and key not in found.too_slow:
            held.append(run.values[name])
    return round(min(held)) if held else None


def _trims(found: Findings) -> Iterator[str]:
    """Memory that the allocator gives back when asked, on the tapes where that is worth it."""
    for tape, comparison in found.comparisons.items():
        for kind in ("trim", "purge"):
            finding = comparison.finding(kind)
            if finding is not None:
                action = str(finding["action"]).replace("TAPE", shlex.quote(tape))
                yield (
                    f"{_tape_name(found, tape)}at the {comparison.moment}, {finding['evidence']}; "
                    f"{action}"
                )


# Warnings


def _warnings(found: Findings) -> Iterator[str]:
    for tape, comparison in found.comparisons.items():
        finding = comparison.finding("besideMalloc")
        if finding is not None:
            action = f"; {finding['action']}" if finding["action"] else ""
            yield f"{_tape_name(found, tape)}{finding['evidence']}{action}"
    for tape in found.searched:
        share = _share_of_time(found, tape)
        if share is not None and share < _SMALL_SHARE:
            yield (
                f"{_tape_name(found, tape)}calls of malloc are about {share:.1%} of the run's time: "
                "faster calls would hardly shorten it"
            )


def _share_of_time(found: Findings, tape: str) -> float | None:
    """The time of the calls in the replay, of the time that the recording took."""
    default, facts = on_library(found, tape, _default(found)), found.facts[tape]
    duration = facts.get("durationNs") or 0
    if default is None or default.time is None or not duration:
        return None
    return float(default.time.median * facts["events"] / duration)


def _tape_name(found: Findings, tape: str) -> str:
    return f"{display_text(tape, 60)}: " if len(found.searched) > 1 else ""
