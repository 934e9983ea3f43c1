"""Cells as a Hive-partitioned dataset of Parquet files.

    DIR/cells/candidate=glibc/data.parquet      one row for each tape, and so on for each candidate

It is written as DIR/cells.partial, which replaces DIR/cells when it is whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from .._native import Error
from ..parquet import hive_text
from ..run_figures import Figure
from ..texts import valid_text
from .rows import place_of, schema_of

_ROWS_AT_ONCE = 1024  # of a candidate in memory; a row group


class Dataset:
    """Takes rows in any order. Leaving `with` without an exception puts the dataset in place."""

    def __init__(self, folder: str | os.PathLike[str], metadata: Iterable[str]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise Error("a sweep needs pyarrow: pip install pyarrow") from None
        self._pyarrow = pyarrow
        self._place = os.path.join(folder, "cells")
        self._partial = self._place + ".partial"
        self._schema = schema_of(metadata)
        self._writers: dict[str, Any] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def __enter__(self) -> Self:
        shutil.rmtree(self._partial, ignore_errors=True)  # of a run that was killed
        try:
            os.makedirs(os.path.dirname(self._partial), exist_ok=True)
            os.mkdir(self._partial, 0o700)  # a link of that name is not followed
        except OSError as error:
            raise Error(f"cannot write '{self._place}': {error}") from None
        return self

    def add(self, candidate: str, row: dict[str, Any]) -> None:
        rows = self._rows.setdefault(candidate, [])
        rows.append(row)
        if len(rows) == _ROWS_AT_ONCE:
            self._write(candidate)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for candidate in self._rows if kind is None else ():
                self._write(candidate)
        finally:
            for writer in self._writers.values():
                writer.close()
        if kind is None:
            self._replace()

    def _write(self, candidate: str) -> None:
        try:
            if candidate not in self._writers:
                folder = os.path.join(
                    self._partial, f"candidate={hive_text(valid_text(candidate))}"
                )
                os.makedirs(folder, exist_ok=True)
                self._writers[candidate] = self._pyarrow.parquet.ParquetWriter(
                    os.path.join(folder, "data.parquet"), self._schema, compression="zstd"
                )
            table = self._pyarrow.Table.from_pylist(self._rows[candidate], self._schema)
            self._writers[candidate].write_table(table)
            self._rows[candidate].clear()
        except OSError as error:
            raise Error(f"cannot write '{self._place}': {error}") from None

    def _replace(self) -> None:
        """Between the two renames there is no dataset, but never half of one."""
        old = self._place + ".old"
        shutil.rmtree(old, ignore_errors=True)
        try:
            if os.path.exists(self._place):
                os.rename(self._place, old)
            os.rename(self._partial, self._place)
        except OSError as error:
            raise Error(f"cannot write '{self._place}': {error}") from None
        shutil.rmtree(old, ignore_errors=True)


def read_figure(place: str, metric: str) -> dict[tuple[str, str], Figure]:
    """By candidate and tape."""
    import pyarrow
    import pyarrow.dataset

    column, key = place_of(metric)
    partitions = pyarrow.dataset.partitioning(
        pyarrow.schema([("candidate", pyarrow.string())]), flavor="hive"
    )
    try:
        table = pyarrow.dataset.dataset(place, partitioning=partitions).to_table(
            ["candidate", "tape", column]
        )
    except (OSError, pyarrow.ArrowException) as error:
        raise Error(f"cannot read '{place}': {error}") from None
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    return {
        (candidate, tape): value if key is None else dict(value).get(key)
        for candidate, tape, value in rows
    }
