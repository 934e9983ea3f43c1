"""A report of `heaptape replay`: its runs, timelines, holes, latencies and counters as tables.

Columns have the names of docs/metrics.md, and come from report.schema.json: all reports of a
version of heaptape have the same ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from ._native import Error, Table
from .columns import Column, columns_of, drop_unknown_sizes, metric_name, table_of, value_at

_VERSION = 1


class Report:
    """A report that `heaptape replay -o` wrote. Raises heaptape.Error if the file is not one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: str | None = os.fspath(path)  # None: its file is gone
        self.json = _read(os.fspath(path))

    def __repr__(self) -> str:
        return f"Report({self.path!r})"

    def runs(self) -> Table:
        """One row for each run: its metrics, and its tape (`tape.*`)."""
        tape = [
            (f"tape.{name}", kind, ("tape", *path)) for name, kind, path in columns_of("TapeInfo")
        ]
        facts = self.json.get("tape")
        rows = [{**drop_unknown_sizes(run), "tape": facts} for run in self.json["runs"]]
        return table_of([*columns_of("Run"), *tape], rows)

    def timelines(self) -> Table:
        """One row for each point of the timeline of each run."""
        columns = list(columns_of("Timeline", lists=True))
        rows = []
        for run in self.json["runs"]:
            lists = [(path, value_at(run, ("timeline", *path)) or []) for _, _, path in columns]
            for i in range(max(len(values) for _, values in lists)):
                row: dict[str, Any] = {"run": run["label"]}
                row.update(
                    {metric_name(path): values[i] for path, values in lists if i < len(values)}
                )
                rows.append(row)
        run_column: Column = ("run", "text", ("run",))
        return table_of([run_column, *((name, kind, (name,)) for name, kind, _ in columns)], rows)

    def holes(self) -> Table:
        """Holes by size at each moment of each run: one row for each power of two."""
        return self._table("HoleBucket", self._histograms(), "run", "moment")

    def latencies(self) -> Table:
        """How long calls took: one row for each kind of call and band of sizes of each run."""
        return self._table("Latency", self._lists("latency"), "run")

    def counters(self) -> Table:
        """The counters of each run's allocator."""
        return self._table("Counter", self._lists("counters"), "run")

    def _lists(self, name: str) -> Iterator[dict[str, Any]]:
        for run in self.json["runs"]:
            for item in run.get(name, []):
                yield {**item, "run": run["label"]}

    def _histograms(self) -> Iterator[dict[str, Any]]:
        for run in self.json["runs"]:
            states = {
                name: run.get(name) for name in ("peak", "end", "atPeak", "atPlateau", "atExit")
            }
            states.update(
                {f"atMark.{mark['name']}": mark["state"] for mark in run.get("atMarks", [])}
            )
            for moment, state in states.items():
                for bucket in value_at(state, ("holes", "histogram")) or []:
                    yield {**bucket, "run": run["label"], "moment": moment}

    @staticmethod
    def _table(definition: str, rows: Iterable[dict[str, Any]], *keys: str) -> Table:
        key_columns = [(key, "text", (key,)) for key in keys]
        columns = [(".".join(path), kind, path) for _, kind, path in columns_of(definition)]
        return table_of([*key_columns, *columns], list(rows))


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        raise Error(f"cannot open '{path}': {error.strerror}") from None
    except ValueError:
        raise Error(f"'{path}' is not a report: write one with `heaptape replay -o`") from None
    if not isinstance(report, dict) or not isinstance(report.get("runs"), list):
        raise Error(f"'{path}' is not a report: write one with `heaptape replay -o`")
    if report.get("version") != _VERSION:
        raise Error(
            f"'{path}' is a report of version {report.get('version')}, and this heaptape reads "
            f"version {_VERSION}: read it with the heaptape that wrote it"
        )
    return report
