"""tune.html: the chart of the front and the tables of a tuning, on one page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._native import figure_text, percent_text
from ..page import Hint, Section, Table, name_cell, plot_text, write_page
from ..texts import quantity_text
from .replays import MEMORY, OBJECTIVES, WORK
from .summary import (
    NAMES,
    change_text,
    default_text,
    measured_rows,
    share_text,
    strong,
    time_text_of,
    together_text,
)


def write_chart(path: str, result: Mapping[str, Any]) -> None:
    allocator, answers = result["allocator"], result["answer"]["sentences"]
    sections = [
        Section("Measured", text=answers[1:], table=_library_table(result)),
        Section(
            "Points of interest",
            text=[_searched_on(result), default_text(result["default"])],
            lines=[
                f"{name}: {point['line'] or 'the default'}"
                for name, point in result["points"].items()
            ],
            table=_points(result),
        ),
        Section(
            "The front",
            text=["Left and below is better. Trials that are far off are not shown."],
            figure=_figure(result),
            table=_front(result),
        ),
        Section("Tapes", table=_tapes(result)),
        Section(
            "Knobs",
            text=[f"Together: {together_text(each)}" for each in strong(result)],
            table=_knobs(result),
        ),
    ]
    if result["notes"]:
        sections.append(Section("Notes", text=result["notes"]))
    title = f"Settings of {allocator['name']} {allocator['version']}"
    write_page(path, title, sections, lead=_lead(result["answer"]))


def _lead(answer: Mapping[str, Any]) -> str:
    """A sentence. Names of allocators, settings and tapes keep their small letters."""
    first: str = answer["sentences"][0]
    begins_with_words = first.startswith(("at the ", "settings of "))
    return f"{first[0].upper() + first[1:] if begins_with_words else first}."


def _searched_on(result: Mapping[str, Any]) -> str:
    trials = quantity_text(len(result["trials"]), "trial")
    return f"Searched on {result['allocator']['searchedOn']}, {trials}."


def _library_table(result: Mapping[str, Any]) -> Table | None:
    heading, *rows = measured_rows(result)
    return Table(heading, rows) if rows else None


def _points(result: Mapping[str, Any]) -> Table:
    headings = ["point", *(NAMES[name] for name in OBJECTIVES), "time, measured", "threads at once"]
    rows = [
        [
            name,
            *(change_text(point, each) for each in OBJECTIVES),
            time_text_of(point),
            time_text_of(point, "timeFree"),
            share_text(point["shareRemoved"][result["objective"]]),
        ]
        for name, point in result["points"].items()
    ]
    return Table([*headings, f"avoidable {NAMES[result['objective']]} removed"], rows)


def _figure(result: Mapping[str, Any]) -> dict[str, Any]:
    aim = result["objective"]
    trials = [trial for trial in result["trials"] if trial["change"]]
    data = [
        _scatter("tried", [trial for trial in trials if not trial["onFront"]], aim, size=6),
        _scatter("front", [trial for trial in trials if trial["onFront"]], aim, size=9),
        _scatter("default", trials[:1], aim, size=14, symbol="x"),
    ]
    data += [
        _scatter(name, [point], aim, size=15, symbol="star") for name, point in result["points"].items()
    ]
    near = [*(trial for trial in trials if trial["onFront"]), *result["points"].values()]
    layout = {
        "xaxis": {
            "title": {"text": f"{result['objectives'][result['objective']]}, change"},
            "tickformat": "+.1%",
            "range": _range(near, result["objective"]),
        },
        "yaxis": {
            "title": {"text": NAMES[WORK]},
            "tickformat": "+.0%",
            "range": _range(near, WORK),
        },
    }
    return {"data": data, "layout": layout}


def _range(trials: list[Any], objective: str) -> list[float]:
    """A range for these and the default: bad trials would squeeze them."""
    values = [0.0, *(trial["change"][objective] for trial in trials)]
    margin = 0.08 * (max(values) - min(values)) or 0.01
    return [min(values) - margin, max(values) + margin]


def _scatter(
    name: str, trials: list[Any], objective: str, *, size: int, symbol: str = "circle"
) -> dict[str, Any]:
    return {
        "name": name,
        "x": [trial["change"][objective] for trial in trials],
        "y": [trial["change"][WORK] for trial in trials],
        "text": [_hover(trial) for trial in trials],
        "marker": {"size": size, "symbol": symbol},
    }


def _hover(trial: Mapping[str, Any]) -> str:
    settings = [plot_text(f"{name}={value}") for name, value in trial["settings"].items()]
    changes = [f"{NAMES[name]} {percent_text(trial['change'][name])}" for name in OBJECTIVES]
    return "\n".join([*(settings or ["default"]), *changes])


def _front(result: Mapping[str, Any]) -> Table:
    headings = ["settings", *(NAMES[name] for name in OBJECTIVES), "time, measured", "confirmed"]
    rows = [
        [
            _settings(point),
            *(change_text(point, name) for name in OBJECTIVES),
            time_text_of(point),
            {True: "on the front", False: "off the front", None: ""}[point["onLibraryFront"]],
        ]
        for point in result["front"]
    ]
    return Table(headings, rows)


def _settings(point: Mapping[str, Any]) -> str | Hint:
    """The settings; the line is shown while the pointer is over them."""
    settings = ", ".join(f"{name}={value}" for name, value in point["settings"].items())
    return Hint(settings, point["line"]) if settings else "the default"


def _tapes(result: Mapping[str, Any]) -> Table:
    names = list(result["points"])
    aim = result["objective"]
    headings = ["tape", "part"]
    headings += [f"{NAMES[name]}, {which}" for name in MEMORY for which in ("default", "ideal")]
    rows = []
    for tape in result["tapes"]:
        changes = []
        for name in names:
            point = result["points"][name]
            here = [each for each in (*point["searched"], *point["heldOut"])]
            change = [each["change"][aim] for each in here if each["tape"] == tape["path"]]
            changes.append(percent_text(change[0]) if change else "")
        sizes = [
            (tape[which] or {}).get(name) for name in MEMORY for which in ("default", "ideal")
        ]
        texts = ["" if size is None else figure_text(size, "bytes") for size in sizes]
        part = "held out" if tape["heldOut"] else "searched"
        rows.append([name_cell(tape["path"]), part, *texts, *changes])
    return Table([*headings, *(f"{NAMES[aim]}, {name}" for name in names)], rows, texts=2)


def _knobs(result: Mapping[str, Any]) -> Table:
    headings = ["knob", "effect", "beware", "default"]
    rows = [
        [
            knob["name"],
            knob["meaning"],
            knob["beware"],
            knob["default"],
            *(f"{knob['importance'].get(name, 0):.0%}" for name in OBJECTIVES),
        ]
        for knob in result["knobs"]
    ]
    return Table([*headings, *(f"for {NAMES[name]}" for name in OBJECTIVES)], rows, texts=4)
