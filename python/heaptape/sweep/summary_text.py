"""The summary of a sweep for the terminal, in the manner of `heaptape replay`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._native import figure_text, percent_text
from ..texts import display_text, join_names, quantity_text, table_text

_LONGEST = 40  # of a name in a table
_MOST_TAPES = 20  # with a line each
_MOST_ERRORS = 10
MAIN = "peak.residentBytes"
_NOTED_CHANGE = 0.05  # at worst, of a candidate that is as good as others


def summary_text(sweep: dict[str, Any], *, exact: bool = False) -> str:
    """The text of a sweep.json."""
    parts = [
        _head(sweep),
        _line(answer_text(sweep)),
        *(_metric_text(metric, sweep, exact) for metric in sweep["summary"]["metrics"]),
        _best_by_tape(sweep),
        "".join(f"{line}\n" for line in where_lines(sweep["summary"])),
        _errors_text(sweep["errors"]),
    ]
    return "\n".join(part for part in parts if part)


def _line(text: str) -> str:
    return f"{text}\n" if text else ""


def answer_text(sweep: dict[str, Any]) -> str:
    """The candidate that holds least on most tapes, and what it saves; or that none does."""
    for metric in sweep["summary"]["metrics"]:
        if metric["metric"] != MAIN or not metric["compared"]["tapes"]:
            continue
        rivals = [found for found in metric["candidates"] if "bestOn" in found]
        if len(sweep["candidates"]) < 2:
            continue
        most = max(found["bestOn"] + found["tiedOn"] for found in rivals)
        best = [found for found in rivals if found["bestOn"] + found["tiedOn"] == most]
        names = join_names([found["candidate"] for found in best])
        tapes = quantity_text(metric["compared"]["tapes"], "tape")
        baseline = sweep["summary"]["baseline"]
        if len(best) > 1 and 2 * most <= metric["compared"]["tapes"]:
            text = f"No candidate is best: at the peak, {names} hold least on {most:,} of {tapes} each"
            return f"{text}{_risk(best, baseline)}."
        text = f"Least resident at the peak: {names}, on {most:,} of {tapes}"
        return f"{text}{_saving(best, baseline)}."
    return ""


def _risk(best: list[dict[str, Any]], baseline: str) -> str:
    """The candidate that may hold most more than the baseline."""
    ratios = [found for found in best if found["candidate"] != baseline and found["ratio"]["worst"]]
    found = max(ratios, key=lambda one: float(one["ratio"]["worst"]["value"]), default=None)
    if found is None or found["ratio"]["worst"]["value"] < 1 + _NOTED_CHANGE:
        return ""
    worst = found["ratio"]["worst"]
    return (
        f"; {display_text(found['candidate'], 60)} holds up to "
        f"{percent_text(worst['value'] - 1).lstrip('+')} more than {display_text(baseline, 60)} "
        f"({display_text(worst['tape'], 60)})"
    )


def _saving(best: list[dict[str, Any]], baseline: str) -> str:
    """The median change of the only best candidate."""
    if len(best) > 1 or best[0]["candidate"] == baseline or not best[0]["ratio"]["tapes"]:
        return ""
    change = percent_text(best[0]["ratio"]["median"] - 1)
    return f"; the median of its changes from {display_text(baseline, 60)} is {change}"


def _head(sweep: dict[str, Any]) -> str:
    cells = sweep["cells"]
    return (
        f"{quantity_text(len(sweep['tapes']), 'tape')}, "
        f"{quantity_text(len(sweep['candidates']), 'candidate')}: "
        f"{quantity_text(cells['count'], 'cell')}, "
        f"{cells['failed']:,} failed, {cells['cached']:,} from the cache\n"
    )


def comparison_text(metric: dict[str, Any], sweep: dict[str, Any]) -> str:
    """The base of the changes in a metric's table; empty: there are none."""
    if metric["compared"] is None or len(sweep["candidates"]) < 2:
        return ""
    baseline, compared = sweep["summary"]["baseline"], metric["compared"]
    text = f"changes are those of each tape, from {display_text(baseline, _LONGEST)}"
    if compared["incomplete"]:
        text += (
            f"; on {compared['incomplete']:,} of {quantity_text(compared['tapes'], 'tape')} "
            "a candidate has no figure, and the others were compared"
        )
    return text


def metric_table(
    metric: dict[str, Any], sweep: dict[str, Any], *, exact: bool = False, longest: int = _LONGEST
) -> list[list[str]]:
    """Headings, then a row for each candidate."""
    has_ratio = metric["compared"] is not None and len(sweep["candidates"]) > 1
    headings = ["candidate", "tapes", "failed", "p10", "median", "p90", "worst", "worst tape"]
    changes = ["p10", "median", "p90", "worst"]
    if has_ratio:
        headings += [f"change {name}" for name in changes] + ["most on", "best on", "worst on"]
    rows = [headings]
    for found in metric["candidates"]:
        if not found["tapes"] and not found["failed"]:
            continue
        row = [
            display_text(found["candidate"], longest),
            f"{found['tapes']:,}",
            f"{found['failed']:,}",
            *(figure_text(found[name], metric["unit"], exact=exact) for name in headings[3:6]),
            *_worst_cells(
                found["worst"], lambda v: figure_text(v, metric["unit"], exact=exact), longest
            ),
        ]
        rows.append(row + (_ratio_cells(found, longest) if has_ratio else []))
    return rows


def _worst_cells(
    worst: dict[str, Any] | None, shown: Callable[[float], str], longest: int
) -> list[str]:
    if worst is None:
        return ["-", "-"]
    return [shown(worst["value"]), display_text(worst["tape"], longest)]


def _ratio_cells(found: dict[str, Any], longest: int) -> list[str]:
    of_base = found["ratio"]
    changes = [
        "-" if of_base[name] is None else percent_text(of_base[name] - 1)
        for name in ("p10", "median", "p90")
    ]
    changes += _worst_cells(of_base["worst"], lambda v: percent_text(v - 1), longest)
    if "bestOn" not in found:
        return [*changes, "-", "-"]
    tied = f" (+{found['tiedOn']:,} tied)" if found["tiedOn"] else ""
    return [*changes, f"{found['bestOn']:,}{tied}", f"{found['worstOn']:,}"]


def _metric_text(metric: dict[str, Any], sweep: dict[str, Any], exact: bool) -> str:
    head = "; ".join(filter(None, [metric["metric"], comparison_text(metric, sweep)]))
    headings, *rows = metric_table(metric, sweep, exact=exact)
    upper, lower = zip(*(_two_lines(heading) for heading in headings), strict=True)
    return head + "\n" + table_text([upper, lower, *rows])


def _two_lines(heading: str) -> tuple[str, str]:
    upper, _, lower = heading.rpartition(" ")
    return upper, lower


def _best_by_tape(sweep: dict[str, Any]) -> str:
    """For few tapes; the page has them all."""
    if len(sweep["tapes"]) > _MOST_TAPES:
        return ""
    best = {metric: tapes for metric, tapes in sweep["summary"]["best"].items() if any(tapes)}
    if not best:
        return ""
    rows = [["best on", *best]]
    for i, tape in enumerate(sweep["tapes"]):
        cells = [best_text(tapes[i]) for tapes in best.values()]
        rows.append([display_text(tape["tape"], _LONGEST), *cells])
    return table_text(rows, texts=len(rows[0]))


def best_text(labels: list[str]) -> str:
    """Shows ties: `a = b`."""
    shown = " = ".join(display_text(label, _LONGEST) for label in labels[:3]) or "-"
    return shown if len(labels) <= 3 else f"{shown} and {len(labels) - 3} more"


def where_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Where candidates win and lose most, and a fact that distinguishes these tapes."""
    for metric in summary["metrics"]:
        for found in metric["candidates"]:
            parts = [
                f"{word} most on {join_names([_tape_change(pair) for pair in found[key]], 3)}"
                for word, key in (("wins", "wins"), ("loses", "losses"))
                if found.get(key)
            ]
            if found.get("where"):
                parts.append(where_text(found["where"]))
            if parts:
                label = display_text(found["candidate"], _LONGEST)
                yield f"{metric['metric']}: {label}: {'; '.join(parts)}"


def _tape_change(pair: dict[str, Any]) -> str:
    return f"{display_text(pair['tape'], _LONGEST)} {percent_text(pair['ofBestOther'] - 1)}"


def where_text(where: dict[str, Any]) -> str:
    fact = where["fact"]
    if "is" in where:
        side = f"with {display_text(fact)} = {display_text(where['is'], _LONGEST)}"
    elif fact == "tape.threads":
        side = f"with more than {quantity_text(where['above'], 'thread')}"
    elif fact == "tape.events":
        side = f"of more than {quantity_text(where['above'], 'call')}"
    else:
        side = f"with more than {figure_text(where['above'], 'bytes')} live at the peak"
    return (
        f"best on {where['best']:,} of {quantity_text(where['of'], 'tape')} {side}, "
        f"on {where['bestElsewhere']:,} of {where['ofElsewhere']:,} others"
    )


def _errors_text(errors: list[dict[str, Any]]) -> str:
    lines = [
        f"failed: {display_text(error['tape'], 60)} on "
        f"{display_text(error['candidate'], _LONGEST)}: {display_text(error['error'], 300)}\n"
        for error in errors[:_MOST_ERRORS]
    ]
    if len(errors) > _MOST_ERRORS:
        lines.append(f"failed: {len(errors) - _MOST_ERRORS:,} more; sweep.json has them all\n")
    return "".join(lines)
