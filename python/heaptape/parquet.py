"""Tapes and reports as a Hive-partitioned dataset of Parquet files.

    DIR/blocks/tape=NAME/data.parquet      of NAME.tape, and so on for each table of a tape
    DIR/runs/report=NAME/data.parquet      of NAME.json, and so on for each table of a report

A file gets its name when it is whole.
"""

from __future__ import annotations

import itertools
import os
import urllib.parse
from collections.abc import Callable, Iterable, Iterator

from . import files
from ._native import Error, Table
from .report import Report
from .tape import Tape

TAPE_TABLES = (
    "tapes",
    "events",
    "blocks",
    "samples",
    "sample_owners",
    "marks",
    "mapping_calls",
    "steering_calls",
    "sites",
    "stacks",
)
REPORT_TABLES = ("runs", "timelines", "holes", "latencies", "counters")

_BATCHES_PER_GROUP = 16  # 1,048,576 rows: a row group of Parquet, and the rows kept in memory
_TAPE_MAGIC = b"\x89HTAPE"

Tables = dict[str, Callable[[], Table]]


def write_dataset(
    inputs: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    tables: Iterable[str] | None = None,
) -> list[str]:
    """Writes the tables of tapes and reports, all or those named.

    Returns the paths of the files.
    Files of an earlier run with the same names are replaced, one by one. Raises heaptape.Error
    before anything is written if an input cannot be read or two have one name.
    """
    wanted = _choose_tables(tables)
    parts = [_open_input(os.fspath(path)) for path in inputs]
    names = [partition for partition, _ in parts]
    for name in names:
        if names.count(name) > 1:
            raise Error(
                f"two inputs would both be written to {name!r}: give them different file names"
            )
    written = []
    for partition, opened in parts:
        for name, table in opened.items():
            if name not in wanted:
                continue
            path = os.path.join(folder, name, partition, "data.parquet")
            _write(table(), path)
            written.append(path)
    return written


def _choose_tables(tables: Iterable[str] | None) -> set[str]:
    known = {*TAPE_TABLES, *REPORT_TABLES}
    wanted = known if tables is None else set(tables)
    for name in sorted(wanted - known):
        names = ", ".join((*TAPE_TABLES, *REPORT_TABLES))
        raise Error(f"there is no table {name!r}: the tables are {names}")
    return wanted


def _open_input(path: str) -> tuple[str, Tables]:
    """The partition of an input, such as `tape=run`, and its tables by name."""
    name = os.path.basename(path)
    if _is_tape(path):
        tape = Tape(path)
        tables: Tables = {name: getattr(tape, name) for name in TAPE_TABLES if name != "tapes"}
        return f"tape={hive_text(name.removesuffix('.tape'))}", {"tapes": tape.summary, **tables}
    report = Report(path)
    return f"report={hive_text(name.removesuffix('.json'))}", {
        name: getattr(report, name) for name in REPORT_TABLES
    }


def _is_tape(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_TAPE_MAGIC)) == _TAPE_MAGIC
    except OSError as error:
        raise Error(f"cannot open '{path}': {error.strerror}") from None


def hive_text(value: str) -> str:
    """As Hive writes values into names of directories."""
    return urllib.parse.quote(os.fsencode(value), safe="")


def _write(table: Table, path: str) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Error("Parquet needs pyarrow: pip install pyarrow") from None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        reader = pyarrow.RecordBatchReader.from_stream(table)
        with (
            files.replacing(path) as file,
            pyarrow.parquet.ParquetWriter(file, reader.schema, compression="zstd") as writer,
        ):
            for group in _groups(reader):
                writer.write_table(pyarrow.Table.from_batches(group, reader.schema))
    except OSError as error:  # a full disk, or a damaged tape
        raise Error(f"cannot write '{path}': {error}") from None


def _groups(batches: Iterable[object]) -> Iterator[list[object]]:
    remaining = iter(batches)
    while group := list(itertools.islice(remaining, _BATCHES_PER_GROUP)):
        yield group
