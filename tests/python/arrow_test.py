"""Tables in the hands of consumers of Arrow's PyCapsule interface."""

import ast
import os
import pathlib

import duckdb
import pandas
import polars
import pyarrow
import pytest
from conftest import rows

import heaptape
from heaptape import _native

TABLES = ["events", "blocks", "samples", "sample_owners", "marks", "sites", "stacks"]


@pytest.fixture
def tape(stack_tape):
    return heaptape.Tape(stack_tape)


@pytest.mark.parametrize("name", TABLES)
def test_arrays_are_valid(tape, name):
    table = pyarrow.table(getattr(tape, name)())
    table.validate(full=True)
    assert table.num_rows > 0


@pytest.mark.parametrize("name", TABLES)
def test_schema_is_that_of_the_stream(tape, name):
    table = getattr(tape, name)()
    assert pyarrow.schema(table) == pyarrow.table(table).schema


@pytest.mark.parametrize("name", TABLES)
def test_polars_reads_the_same(tape, name):
    table = getattr(tape, name)()
    assert polars.DataFrame(table).to_dicts() == rows(table)


@pytest.mark.parametrize("name", TABLES)
def test_duckdb_reads_the_same(tape, name):
    relation = getattr(tape, name)()
    assert duckdb.sql("FROM relation").to_arrow_table().to_pylist() == rows(relation)


@pytest.mark.parametrize("name", TABLES)
def test_pandas_reads_the_same(tape, name):
    table = getattr(tape, name)()
    frame = pandas.DataFrame.from_arrow(table)
    assert pyarrow.Table.from_pandas(frame, schema=pyarrow.schema(table)).num_rows == len(
        rows(table)
    )


def test_table_can_be_read_again(threads_tape):
    events = threads_tape.events()  # noqa: F841 (DuckDB finds it by its name)
    query = "SELECT count(*), sum(size) FROM events"
    assert duckdb.sql(query).fetchall() == duckdb.sql(query).fetchall()


def test_streams_of_one_table_are_apart(large_tape):
    events = heaptape.Tape(large_tape).events()
    one, other = (pyarrow.RecordBatchReader.from_stream(events) for _ in range(2))
    assert one.read_next_batch()["n"][0] == other.read_next_batch()["n"][0]


def test_table_outlives_its_tape(threads_tape):
    events = heaptape.Tape(threads_tape.path).events()
    assert len(rows(events)) == 17265


def addresses(batch):
    return {
        buffer.address
        for column in batch.columns
        for buffer in column.buffers()
        if buffer is not None
    }


def test_memory_is_bounded_by_a_batch(large_tape):
    seen, batches = set(), 0
    for batch in pyarrow.RecordBatchReader.from_stream(heaptape.Tape(large_tape).events()):
        seen |= addresses(batch)
        batches += 1
    assert batches >= 4 and len(seen) <= 4 * len(addresses(batch))


def test_what_a_consumer_keeps_stays_as_it_is(large_tape):
    reader = pyarrow.RecordBatchReader.from_stream(heaptape.Tape(large_tape).events())
    column = reader.read_next_batch()["n"]
    for _ in reader:
        pass
    del reader
    assert column.to_pylist() == list(range(1, len(column) + 1))


def test_stream_that_is_not_read_is_released(large_tape):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        heaptape.Tape(large_tape).events().__arrow_c_stream__()
    assert len(os.listdir("/proc/self/fd")) == before


def test_null_stays_apart_from_0(threads_tape):
    events = rows(threads_tape.events())
    assert {event["size"] is None for event in events if event["op"] == "free"} == {True}
    assert {event["freed"] is None for event in events if event["op"] == "malloc"} == {True}


def test_lists_become_tables():
    columns = [
        ("name", "text", ["a", None, "ü"]),
        ("count", "count", [1, 2**63, None]),
        ("share", "real", [None, 0.5, 2]),
    ]
    assert rows(_native.list_table(columns)) == [
        {"name": "a", "count": 1, "share": None},
        {"name": None, "count": 2**63, "share": 0.5},
        {"name": "ü", "count": None, "share": 2.0},
    ]


def test_lists_of_many_batches_become_tables():
    values = list(range(150_000))
    assert pyarrow.table(_native.list_table([("n", "count", values)]))["n"].to_pylist() == values


def test_lists_that_differ_in_length_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        _native.list_table([("a", "count", [1]), ("b", "count", [])])


def test_stubs_have_what_the_module_has():
    stub = ast.parse((pathlib.Path(heaptape.__file__).parent / "_native.pyi").read_text())
    names = {
        getattr(node, "name", None) or getattr(node.target, "id", None)
        for node in stub.body
        if not isinstance(node, ast.ImportFrom)
    }
    assert names == {
        name for name in dir(_native) if not name.startswith("__") or name == "__version__"
    }
