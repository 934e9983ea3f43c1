"""The results of a tuning, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._native import figure_text, percent_text
from ..texts import display_text, quantity_text, table_text
from .replays import MEAN, OBJECTIVES, PEAK, geometric_mean

NAMES = {PEAK: "peak", MEAN: "mean resident", "work": "time, estimated"}

_NOTED_BYTES = 1 << 20
_NOTED_SHARE = 5
_MOST_REMEDIES = 4
_MOST_KNOBS = 3
_MOST_INTERACTIONS = 4


def summary(result: Mapping[str, Any]) -> str:
    parts = [_head(result), _table(result), _lines(result)]
    parts += [_held_out_table(result), _knobs(result), _together(result), _notes(result)]
    return "\n".join(part for part in parts if part)


def _head(result: Mapping[str, Any]) -> str:
    allocator, default = result["allocator"], result["default"]
    held = sum(tape["heldOut"] for tape in result["tapes"])
    searched_on = (
        f"{allocator['name']} {allocator['version']}, searched on {allocator['searchedOn']}: "
        f"{quantity_text(len(result['trials']), 'trial')} on "
        f"{quantity_text(len(result['tapes']) - held, 'tape')}, {held} held out, "
        f"seed {result['seed']}"
    )
    lines = [*beside_malloc(result), searched_on, default_text(default), *_avoidable(result)]
    if default["best"]:
        lines.append("the default is already the best")
    return "\n".join(lines) + "\n"


def beside_malloc(result: Mapping[str, Any]) -> Iterator[str]:
    """Memory that no setting changes, where it is a fifth of the process's or more; remedies."""
    remedies: dict[str, None] = {}
    for tape in result["tapes"]:
        sample = tape["largestSample"] or {}
        whole, parts = sample.get("anonymousBytes", 0), sample.get("anonymous")
        if parts is None or parts["besideMallocBytes"] < max(_NOTED_BYTES, whole / _NOTED_SHARE):
            continue
        beside = parts["besideMallocBytes"]
        yield (
            f"{display_text(tape['path'], 60)}: {figure_text(beside, 'bytes')} of "
            f"{figure_text(whole, 'bytes')} anonymous memory ({beside / whole:.0%}) is beside "
            f"malloc{_main_owner(parts)}: no setting changes that"
        )
        remedies |= dict.fromkeys(each for file in tape["innerAllocators"] for each in file["remedies"])
    yield from list(remedies)[:_MOST_REMEDIES]


def _main_owner(parts: Mapping[str, Any]) -> str:
    """As in the verdict of a replay."""
    most = max(parts.get("owners", ()), key=lambda one: one["bytes"], default=None)
    if most is None or most["bytes"] * 2 < parts["besideMallocBytes"]:
        return ""
    name = "variables of programs and libraries" if most["owner"] == "data" else f"{most['owner']}'s"
    return f", {figure_text(most['bytes'], 'bytes')} of it {name}"


def _avoidable(result: Mapping[str, Any]) -> Iterator[str]:
    for tape in result["tapes"]:
        default, ideal = tape["default"], tape["ideal"]
        if default is not None and ideal[PEAK] is not None:
            more = max(0.0, default[PEAK] - ideal[PEAK])
            sizes = (default[PEAK], more, ideal[PEAK])
            peak, avoidable, least = (figure_text(size, "bytes") for size in sizes)
            part = ", held out" if tape["heldOut"] else ""
            yield (
                f"{display_text(tape['path'], 60)}{part}: peak {peak}, "
                f"of which {avoidable} avoidable (model:ideal: {least})"
            )


def default_text(default: Mapping[str, Any]) -> str:
    ranks = ", ".join(f"{default['rank'][name]} in {NAMES[name]}" for name in OBJECTIVES)
    better = quantity_text(default["dominatedBy"], "setting")
    return (
        f"the default: {better} of {default['settings']:,} better in every way; its rank is {ranks}"
    )


def _table(result: Mapping[str, Any]) -> str:
    free = any(_times(point, "timeFree") for point in result["points"].values())
    headings = ["point", result["objectives"][PEAK], "mean resident", "time, estimated"]
    headings += ["time, measured", *(["threads at once"] if free else []), "page faults"]
    rows = [[*headings, "avoidable peak removed"]]
    rows.append(["default", *_absolute(result)] + [""] * (len(headings) - 2))
    for name, point in result["points"].items():
        times = [time_text_of(point), *([time_text_of(point, "timeFree")] if free else [])]
        rows.append(
            [
                name,
                *(change_text(point, each) for each in OBJECTIVES),
                *times,
                _percent((point["library"] or {}).get("counters.pageFaults")),
                share_text(point["shareRemoved"][PEAK]),
            ]
        )
    return table_text(rows)


def _absolute(result: Mapping[str, Any]) -> list[str]:
    """The default's figures, if there is one tape."""
    searched = [tape for tape in result["tapes"] if not tape["heldOut"]]
    if len(searched) > 1:
        return ["", ""]
    return [figure_text(searched[0]["default"][name], "bytes") for name in (PEAK, MEAN)]


def change_text(point: Mapping[str, Any], objective: str) -> str:
    """For several tapes: the mean, the least and the greatest."""
    text = percent_text(point["change"][objective])
    changes = [tape["change"][objective] for tape in point["searched"]]
    if len(changes) == 1:
        return text
    return f"{text} ({percent_text(min(changes))} to {percent_text(max(changes))})"


def time_text_of(point: Mapping[str, Any], kind: str = "time") -> str:
    """Over the tapes: the mean, the least and the greatest of all repeats."""
    times = _times(point, kind)
    if not times:
        return ""
    mean = mean_change([time["change"] for time in times])
    least, most = min(time["least"] for time in times), max(time["most"] for time in times)
    noise = ", within noise" if all(time["withinNoise"] for time in times) else ""
    return f"{percent_text(mean)} ({percent_text(least)} to {percent_text(most)}{noise})"


def _times(point: Mapping[str, Any], kind: str) -> list[Any]:
    """The times of the tapes that have them."""
    times = [(tape.get("library") or {}).get(kind) for tape in point["searched"]]
    return [time for time in times if time]


def share_text(share: float | None) -> str:
    if share is None:
        return ""
    return f"{share:.1%}" if share >= 0 else "none: it is higher"


def _percent(change: float | None) -> str:
    return "" if change is None else percent_text(change)


def _lines(result: Mapping[str, Any]) -> str:
    return "".join(
        f"{name}: {point['line'] or 'the default'}\n" for name, point in result["points"].items()
    )


def _held_out_table(result: Mapping[str, Any]) -> str:
    """How well the points generalize: tapes held out beside those searched on."""
    headings = (cell for name in OBJECTIVES for cell in (NAMES[name], "searched", "worst"))
    rows = [["on tapes held out", *headings]]
    for name, point in result["points"].items():
        if point["heldOut"]:
            row = [name]
            for objective in OBJECTIVES:
                held = [tape["change"][objective] for tape in point["heldOut"]]
                changes = (mean_change(held), point["change"][objective], max(held))
                row += map(percent_text, changes)
            rows.append(row)
    return table_text(rows) if len(rows) > 1 else ""


def mean_change(changes: list[float]) -> float:
    """The geometric mean of ratios, as a change."""
    return geometric_mean([1 + change for change in changes]) - 1


def _knobs(result: Mapping[str, Any]) -> str:
    text = ""
    for objective in OBJECTIVES:
        shares = sorted(
            ((knob["importance"].get(objective, 0), knob["name"]) for knob in result["knobs"]),
            reverse=True,
        )
        named = [f"{name} {share:.0%}" for share, name in shares[:_MOST_KNOBS] if share >= 0.05]
        if named:
            text += f"knobs that matter for {NAMES[objective]}: {', '.join(named)}\n"
    return text


def strong(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Interactions of the points of interest, each once, the strongest first."""
    found = sorted(_each_once(result), key=lambda each: -abs(each["interaction"]))
    return found[:_MOST_INTERACTIONS]


def _each_once(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    seen = set()
    for point in result["points"].values():
        for each in point["interactions"]:
            values = tuple((name, point["settings"].get(name)) for name in each["knobs"])
            key = (values, each["objective"])
            if each["strong"] and key not in seen:
                seen.add(key)
                yield {**each, "values": [f"{name}={value}" for name, value in values]}


def _together(result: Mapping[str, Any]) -> str:
    return "".join(f"together: {together_text(each)}\n" for each in strong(result))


def together_text(each: Mapping[str, Any]) -> str:
    alone = " and ".join(percent_text(value) for value in each["alone"])
    return (
        f"{' with '.join(each['values'])}: {NAMES[each['objective']]} "
        f"{percent_text(each['together'])}, alone {alone}"
    )


def _notes(result: Mapping[str, Any]) -> str:
    return "".join(f"note: {display_text(note)}\n" for note in result["notes"])
