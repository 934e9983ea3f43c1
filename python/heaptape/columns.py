"""Columns of heaptape's JSON: names, types and values, according to report.schema.json."""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Iterable, Iterator
from typing import Any

from ._native import Table, list_table

# The column type of each type that the schema names.
_NUMBERS = {"Integer": "count", "SignedInteger": "signed", "Float": "real"}
_TYPES = {"integer": "count", "number": "real", "string": "text"}

Column = tuple[str, str, tuple[str, ...]]  # its name, its type, where its value is in the JSON


@functools.cache
def _definitions() -> dict[str, Any]:
    text = importlib.resources.files(__package__).joinpath("report.schema.json").read_text("utf-8")
    definitions: dict[str, Any] = json.loads(text)["$defs"]
    return definitions


def columns_of(
    definition: str, path: tuple[str, ...] = (), *, lists: bool = False
) -> Iterator[Column]:
    """The numbers and texts of a definition and of its parts; with `lists`, also those in lists."""
    for name, field in _definitions()[definition]["properties"].items():
        here = (*path, name)
        if lists and field.get("type") == "array":
            field = field["items"]
        target = field.get("$ref", "").rpartition("/")[2]
        if target in _NUMBERS:
            yield metric_name(here), _NUMBERS[target], here
        elif target:
            yield from columns_of(target, here, lists=lists)
        elif field["type"] in _TYPES:
            yield metric_name(here), _TYPES[field["type"]], here


def metric_name(path: tuple[str, ...]) -> str:
    """The name in gates: `peak.liveBytes` for peak.liveBytes.value; `run` for a run's label."""
    return "run" if path == ("label",) else ".".join(path).removesuffix(".value")


def value_at(value: Any, path: Iterable[str]) -> Any:
    """None if a part is missing."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


# Not known for a run that lacks these: docs/metrics.md.
_RETURNED = {"returnedBytes", "untouchedBytes"}
_OF_PAGES = _RETURNED | {"residentHoleBytes", "purgeableBytes", "trimmableBytes"}
_ABSENT = {
    "returnedPages": _RETURNED,
    "residentPages": _OF_PAGES,
    "residentSizes": _OF_PAGES | {"residentBytes"},
}


def drop_unknown_sizes(run: dict[str, Any]) -> dict[str, Any]:
    """Drops the numbers that mean nothing because resident sizes are not known."""
    absent = set().union(*(_ABSENT.get(what, set()) for what in run.get("lacks") or []))
    if not absent:
        return run

    def without(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        return {name: without(value) for name, value in part.items() if name not in absent}

    found: dict[str, Any] = without(run)
    return found


def convert(value: Any, kind: str) -> Any:
    """The Python value of a JSON value.

    There, integers beyond 2^53 are text, and others may be written as 1e15.
    """
    if value is None or kind == "text":
        return value
    return float(value) if kind == "real" else int(value)


def table_of(columns: Iterable[Column], rows: list[Any]) -> Table:
    return list_table(
        [
            (name, kind, [convert(value_at(row, path), kind) for row in rows])
            for name, kind, path in columns
        ]
    )
