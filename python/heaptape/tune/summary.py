"""The results of a tuning, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._native import figure_text, percent_text
from ..texts import display_text, noise_text, quantity_text, table_text
from .measured import FIGURES
from .replays import MEAN, MEMORY, OBJECTIVES, PEAK, PLATEAU, geometric_mean

NAMES = {PEAK: "peak", MEAN: "mean resident", PLATEAU: "plateau", "work": "time, estimated"}
MEASURED = {
    "peakResidentBytes": "peak resident",
    "meanResidentBytes": "mean resident",
    "plateauBytes": "plateau",
    "pageFaults": "page faults",
    "systemCalls": "system calls",
}

_MOST_KNOBS = 3
_MOST_INTERACTIONS = 4


def summary(result: Mapping[str, Any]) -> str:
    parts = [_answer(result), _measured_table(result), _head(result), _table(result), _lines(result)]
    parts += [_held_out_table(result), _knobs(result), _together(result), _notes(result)]
    return "\n".join(part for part in parts if part)


def _answer(result: Mapping[str, Any]) -> str:
    return "".join(sentence + "\n" for sentence in result["answer"]["sentences"])


def _head(result: Mapping[str, Any]) -> str:
    allocator, default = result["allocator"], result["default"]
    held = sum(tape["heldOut"] for tape in result["tapes"])
    searched_on = (
        f"{allocator['name']} {allocator['version']}, searched on {allocator['searchedOn']}: "
        f"{quantity_text(len(result['trials']), 'trial')} on "
        f"{quantity_text(len(result['tapes']) - held, 'tape')}, {held} held out, "
        f"seed {result['seed']}"
    )
    lines = [searched_on, default_text(default), *_avoidable(result)]
    return "\n".join(lines) + "\n"


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
    """The figures of the search."""
    objective = result["objective"]
    headings = ["point", result["objectives"][PEAK], *(NAMES[name] for name in OBJECTIVES[1:])]
    rows = [[*headings, f"avoidable {NAMES[objective]} removed"]]
    rows.append(["default", *_absolute(result), "", ""])
    for name, point in result["points"].items():
        changes = [change_text(point, each) for each in OBJECTIVES]
        rows.append([name, *changes, share_text(point["shareRemoved"][objective])])
    return table_text(rows)


def measured_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """A heading, and a row for each that ran on its library: figures, or changes on several tapes."""
    rows, measured = [], result["measured"]
    default = next((row for row in measured if row["name"] == "default"), None)
    kinds = [kind for kind in ("time", "timeFree") if any(_times_of(row, kind) for row in measured)]
    headings = {"time": "time of calls", "timeFree": "threads at once"}
    rows.append(["", *MEASURED.values(), *(headings[kind] for kind in kinds)])
    for row in measured:
        name = f"{row['name']} (too slow)" if row["tooSlow"] else row["name"]
        cells = [_figure(row, default, figure) for figure in FIGURES]
        times = [_time_cell(row, kind, is_default=row is default) for kind in kinds]
        rows.append([name, *cells, *times])
    return rows


def _figure(row: Mapping[str, Any], default: Mapping[str, Any] | None, name: str) -> str:
    values = [tape[name] for tape in row["tapes"]]
    if any(value is None for value in values):
        return ""
    if len(values) == 1:
        return figure_text(round(values[0]), "bytes" if name.endswith("Bytes") else "count")
    bases = [tape[name] for tape in default["tapes"]] if default else []
    if row is default or len(bases) != len(values) or not all(bases):
        return ""
    ratios = [value / base for value, base in zip(values, bases, strict=True)]
    return percent_text(geometric_mean(ratios) - 1)


def _time_cell(row: Mapping[str, Any], kind: str, *, is_default: bool) -> str:
    times = _times_of(row, kind)
    if is_default:
        return f"{times[0]['nsPerEvent']:,.0f} ns" if len(times) == 1 else ""
    return time_text(times)


def _times_of(row: Mapping[str, Any], kind: str) -> list[Any]:
    return [tape[kind] for tape in row["tapes"] if kind in tape]


def _measured_table(result: Mapping[str, Any]) -> str:
    return table_text(measured_rows(result)) if result["measured"] else ""


def _absolute(result: Mapping[str, Any]) -> list[str]:
    """The default's figures, if there is one tape."""
    searched = [tape for tape in result["tapes"] if not tape["heldOut"]]
    if len(searched) > 1:
        return [""] * len(MEMORY)
    return [figure_text(searched[0]["default"][name], "bytes") for name in MEMORY]


def change_text(point: Mapping[str, Any], objective: str) -> str:
    """For several tapes: the mean, the least and the greatest."""
    text = percent_text(point["change"][objective])
    changes = [tape["change"][objective] for tape in point["searched"]]
    if len(changes) == 1:
        return text
    return f"{text} ({percent_text(min(changes))} to {percent_text(max(changes))})"


def time_text_of(point: Mapping[str, Any], kind: str = "time") -> str:
    times = [(tape.get("library") or {}).get(kind) for tape in point["searched"]]
    return time_text([time for time in times if time])


def time_text(times: list[Any]) -> str:
    """Over the tapes: the mean, the least and the greatest of all repeats; no figure in noise."""
    if not times:
        return ""
    if all(time["withinNoise"] for time in times):
        return noise_text(max(time["noise"] for time in times))
    mean = mean_change([time["change"] for time in times])
    least, most = min(time["least"] for time in times), max(time["most"] for time in times)
    return f"{percent_text(mean)} ({percent_text(least)} to {percent_text(most)})"


def share_text(share: float | None) -> str:
    if share is None:
        return ""
    return f"{share:.1%}" if share >= 0 else "none: it is higher"


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
