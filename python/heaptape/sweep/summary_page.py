"""sweep.html: the content of sweep.json, for a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ..page import Hint, Section, Table, name_cell, write_page
from ..texts import display_text, quantity_text
from .charts import MOST_TAPES, box_chart, heat_map, most_different
from .grid import Grid
from .judging import Verdict, verdict_line
from .summary import DECIDING, ratios_of
from .summary_text import MAIN, answer_text, best_text, comparison_text, metric_table, where_lines

_MOST_ROWS = 1000  # of a table


def write_summary_page(
    path: str | os.PathLike[str],
    grid: Grid,
    sweep: dict[str, Any],
    verdicts: Sequence[Verdict],
    notes: Sequence[str],
) -> None:
    gates = [_gates(verdicts)] if verdicts else []
    failed = bool(gates) and gates[0].failed
    sections = [
        *(gates if failed else []),
        *_comparisons(grid, sweep),
        *(gates if not failed else []),
        *_where(sweep, notes),
        *_best(sweep),
        *_errors(sweep),
        _origin(sweep),
    ]
    tapes = quantity_text(len(grid.tapes), "tape")
    title = f"heaptape sweep: {tapes} on {quantity_text(len(grid.candidates), 'candidate')}"
    lead = verdict_line(verdicts) if failed else answer_text(sweep)
    write_page(path, title, sections, lead=lead)


def _gates(verdicts: Sequence[Verdict]) -> Section:
    order = {"failed": 0, "passed": 1, "skipped": 2}
    rows = [
        [v.state, display_text(v.gate.text), name_cell(v.candidate), display_text(v.detail)]
        for v in sorted(verdicts, key=lambda verdict: order[verdict.state])
    ]
    return Section(
        "Gates",
        [verdict_line(verdicts)],
        table=Table(["", "gate", "candidate", "why"], rows, texts=4),
        failed=any(verdict.state == "failed" for verdict in verdicts),
    )


def _comparisons(grid: Grid, sweep: dict[str, Any]) -> Iterator[Section]:
    """A table for each metric, with charts if the metric has ratios."""
    base = grid.labels.index(sweep["summary"]["baseline"])
    # The metric of the page's first sentence comes first.
    for metric in sorted(sweep["summary"]["metrics"], key=lambda one: one["metric"] != MAIN):
        table = metric_table(metric, sweep, longest=200)
        text, figure = [line for line in [comparison_text(metric, sweep)] if line], None
        has_ratios = metric["metric"] in DECIDING and len(grid.candidates) > 1
        if has_ratios:
            ratios = ratios_of(grid, metric["metric"], base)
            shown = most_different(ratios, len(grid.tapes))
            figure = box_chart(grid, metric["metric"], ratios, shown)
            text.append(_chart_text(grid, base, len(shown)))
        rows = [[name_cell(row[0]), *row[1:]] for row in table[1:]]
        yield Section(metric["metric"], text, figure=figure, table=Table(table[0], rows))
        if has_ratios and len(grid.tapes) > 1:
            yield Section(
                f"{metric['metric']}, tape by tape",
                [_map_text(grid, base, len(shown))],
                figure=heat_map(grid, metric["metric"], ratios, shown),
                folded=metric["metric"] != MAIN,
            )


def _chart_text(grid: Grid, base: int, shown: int) -> str:
    text = (
        f"Ratios to {display_text(grid.labels[base], 60)}: a box spans the middle half of the tapes, its line "
        "is the median, and its whiskers end at p10 and p90."
    )
    if shown < len(grid.tapes):
        return text + f" Points are the {shown:,} tapes that differ most, of {len(grid.tapes):,}."
    return text + " Each point is a tape."


def _map_text(grid: Grid, base: int, shown: int) -> str:
    name = display_text(grid.labels[base], 60)
    text = f"Blue needs less than {name}, orange more; the tapes that differ most stand on top."
    if shown < len(grid.tapes):
        text += f" These are the first {MOST_TAPES} of {len(grid.tapes):,}; cells/ has all."
    return text


def _where(sweep: dict[str, Any], notes: Sequence[str]) -> Iterator[Section]:
    lines = [*where_lines(sweep["summary"]), *notes]
    if lines:
        yield Section("Where candidates win and lose", lines)


def _best(sweep: dict[str, Any]) -> Iterator[Section]:
    best = {metric: tapes for metric, tapes in sweep["summary"]["best"].items() if any(tapes)}
    if not best:
        return
    rows: list[list[str | Hint]] = [
        [name_cell(tape["tape"]), *(best_text(tapes[i]) for tapes in best.values())]
        for i, tape in enumerate(sweep["tapes"][:_MOST_ROWS])
    ]
    text = _most_rows(len(sweep["tapes"]), "tapes")
    table = Table(["tape", *best], rows, texts=1 + len(best))
    yield Section("The best candidate of each tape", text, table=table, folded=True)


def _errors(sweep: dict[str, Any]) -> Iterator[Section]:
    errors = sweep["errors"]
    if errors:
        rows = [
            [name_cell(e["tape"]), name_cell(e["candidate"]), display_text(e["error"], 500)]
            for e in errors[:_MOST_ROWS]
        ]
        table = Table(["tape", "candidate", "why"], rows, texts=3)
        title = f"{quantity_text(len(errors), 'cell')} failed"
        yield Section(title, _most_rows(len(errors), "of these"), table=table, failed=True)


def _most_rows(count: int, things: str) -> list[str]:
    return [f"The first {_MOST_ROWS:,} {things}; sweep.json has all."] if count > _MOST_ROWS else []


def _origin(sweep: dict[str, Any]) -> Section:
    cells = sweep["cells"]
    rows = [
        [
            name_cell(c["label"]),
            name_cell(c["spec"]),
            name_cell(c["library"] or "-"),
            name_cell(c["build_id"] or "-"),
        ]
        for c in sweep["candidates"]
    ]
    text = (
        f"heaptape {sweep['engine']['version']}: {quantity_text(cells['count'], 'cell')}, "
        f"{cells['cached']:,} of them from the cache; replays took {cells['replaySeconds']:,.1f} s."
    )
    table = Table(["candidate", "allocator", "library", "build id"], rows, texts=4)
    return Section("How it was made", [text], table=table, folded=True)
