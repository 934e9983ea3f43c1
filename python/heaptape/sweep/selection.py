"""`--where`: which tapes of a sweep to take, by an SQL expression that DuckDB evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._native import Error
from ..texts import valid_text
from .cells import SweptTape


def choose_tapes(
    tapes: Sequence[SweptTape], unreadable: set[str], expression: str
) -> list[SweptTape]:
    """The tapes for which the expression is true.

    Its columns are name, uri, the facts and the metadata. A tape that cannot be read has no facts:
    it stays if the expression depends on them. `unreadable` has the URIs of such tapes.
    """
    import duckdb
    import pyarrow

    table = pyarrow.table(
        {
            **columns(tapes),
            "heaptape place": list(range(len(tapes))),
            "heaptape unreadable": [tape.uri in unreadable for tape in tapes],
        }
    )
    condition = f'coalesce((\n{expression}\n), "heaptape unreadable")'
    query = f'SELECT "heaptape place" FROM tapes WHERE {condition}'
    with duckdb.connect() as connection:
        connection.register("tapes", table)
        try:
            places = connection.execute(query).fetchall()
        except duckdb.Error as error:
            raise Error(f"cannot select tapes where {expression}: {_reason(error)}") from None
    if not places:
        raise Error(f"none of {len(tapes)} tapes matches {expression}")
    return [tapes[place] for (place,) in sorted(places)]


def columns(tapes: Sequence[SweptTape]) -> dict[str, list[Any]]:
    """Metadata with the name of a fact is the column `metadata.NAME`."""
    rows = [_row(tape) for tape in tapes]
    names = dict.fromkeys(name for row in rows for name in row)
    return {valid_text(name): [row.get(name) for row in rows] for name in names}


def _row(tape: SweptTape) -> dict[str, Any]:
    row = {"name": tape.name, "uri": tape.uri, **_scalars(tape.facts)}
    for name, value in tape.metadata.items():
        row[f"metadata.{name}" if name in row else name] = value
    return {
        name: valid_text(value) if isinstance(value, str) else value for name, value in row.items()
    }


def _scalars(facts: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Numbers and texts; those in a part have dotted names."""
    row: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            row.update(_scalars(value, f"{before}{name}."))
        elif isinstance(value, (str, int, float)):
            row[before + name] = value
    return row


def _reason(error: Exception) -> str:
    return " ".join(str(error).partition("\n\nLINE ")[0].split())
