"""python -m heaptape parquet, read back by DuckDB and pyarrow."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from conftest import QUESTIONS, rows

import heaptape
from heaptape.parquet import REPORT_TABLES, TAPE_TABLES, write_dataset

THREADS, REDIS = QUESTIONS / "threads.tape", QUESTIONS / "redis.tape"


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "heaptape", "parquet", *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="session")
def dataset(tool, stack_tape, tmp_path_factory):
    """Of three tapes and a report."""
    folder = tmp_path_factory.mktemp("dataset")
    tool("replay", THREADS, "-a", "model:ptmalloc", "-o", folder / "main.json")
    assert (
        run(THREADS, REDIS, stack_tape, folder / "main.json", "-o", folder / "out").returncode == 0
    )
    return folder / "out"


def read(dataset, table):
    return pyarrow.dataset.dataset(dataset / table, partitioning="hive").to_table()


@pytest.mark.parametrize("table", [name for name in TAPE_TABLES if name != "tapes"])
def test_tables_of_tapes_have_their_rows(dataset, stack_tape, table):
    for path in (THREADS, stack_tape):
        part = pyarrow.parquet.ParquetFile(
            dataset / table / f"tape={path.stem}" / "data.parquet"
        ).read()
        assert part.to_pylist() == rows(getattr(heaptape.Tape(path), table)())


@pytest.mark.parametrize("table", REPORT_TABLES)
def test_tables_of_reports_have_their_rows(dataset, table):
    report = heaptape.Report(dataset.parent / "main.json")
    part = pyarrow.parquet.ParquetFile(dataset / table / "report=main" / "data.parquet").read()
    assert part.to_pylist() == rows(getattr(report, table)())


def test_tapes_have_a_row_each(dataset):
    tapes = {row["tape"]: row for row in read(dataset, "tapes").to_pylist()}
    assert set(tapes) == {"threads", "redis", "python"}
    assert tapes["redis"]["events"] == 403325 and tapes["redis"]["losses.lostEvents"] == 0
    assert tapes["redis"]["endReason"] == "exited"


def test_duckdb_finds_the_partitions(dataset):
    query = f"SELECT tape, count(*) FROM read_parquet('{dataset}/events/*/*.parquet', hive_partitioning = true) GROUP BY tape"
    assert dict(duckdb.sql(query).fetchall())["redis"] == 403325


def test_names_are_escaped_as_hive_does(tmp_path):
    shutil.copy(THREADS, tmp_path / "a=b c%.tape")
    write_dataset([tmp_path / "a=b c%.tape"], tmp_path / "out", ["tapes"])
    assert os.listdir(tmp_path / "out/tapes") == ["tape=a%3Db%20c%25"]
    assert read(tmp_path / "out", "tapes")["tape"].to_pylist() == ["a=b c%"]


def test_only_the_tables_that_are_named_are_written(tmp_path):
    assert run(THREADS, "-o", tmp_path / "out", "--tables", "marks,tapes").returncode == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["marks", "tapes"]


def test_files_of_an_earlier_run_are_replaced(tmp_path):
    for source in (REDIS, THREADS):
        shutil.copy(source, tmp_path / "run.tape")
        write_dataset([tmp_path / "run.tape"], tmp_path / "out", ["events"])
    assert read(tmp_path / "out", "events").num_rows == 17265


def test_unknown_table_is_one_sentence(tmp_path):
    done = run(THREADS, "-o", tmp_path, "--tables", "block")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "heaptape: there is no table 'block': the tables are tapes, events, blocks,"
    )


def test_two_inputs_of_one_name_are_refused(tmp_path):
    (tmp_path / "a").mkdir()
    shutil.copy(THREADS, tmp_path / "a")
    done = run(THREADS, tmp_path / "a/threads.tape", "-o", tmp_path / "out")
    assert (done.returncode, done.stderr) == (
        2,
        "heaptape: two inputs would both be written to 'tape=threads': "
        "give them different file names\n",
    )


def test_missing_input_writes_nothing(tmp_path):
    done = run(THREADS, "/no/such.tape", "-o", tmp_path / "out")
    assert (done.returncode, done.stderr) == (
        2,
        "heaptape: cannot open '/no/such.tape': No such file or directory\n",
    )
    assert not (tmp_path / "out").exists()


def test_damaged_tape_leaves_no_file_of_the_table(tmp_path):
    data = bytearray(REDIS.read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "bad.tape").write_bytes(data)
    done = run(tmp_path / "bad.tape", "-o", tmp_path / "out", "--tables", "events")
    assert (
        done.returncode == 2 and "damaged at byte" in done.stderr and done.stderr.count("\n") == 1
    )
    assert list((tmp_path / "out").rglob("*parquet*")) == []


def wait_for_partial(folder, process):
    while not list(pathlib.Path(folder).rglob("*.partial")):
        assert process.poll() is None
        time.sleep(0.001)


def test_killed_run_leaves_nothing_under_a_final_name(tool, tmp_path):
    tool("scenario", "random-slots", "--set", "events=4000000", "-o", tmp_path / "long.tape")
    command = [
        sys.executable,
        "-m",
        "heaptape",
        "parquet",
        tmp_path / "long.tape",
        "-o",
        tmp_path / "out",
        "--tables",
        "events",
    ]
    process = subprocess.Popen(command)
    wait_for_partial(tmp_path / "out", process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list((tmp_path / "out").rglob("*.parquet")) == []
    assert run(tmp_path / "long.tape", "-o", tmp_path / "out", "--tables", "events").returncode == 0
    assert [path.name for path in (tmp_path / "out").rglob("*.parquet*")] == ["data.parquet"]


def test_memory_is_bounded_by_a_row_group(tool, tmp_path):
    tool("scenario", "random-slots", "--set", "events=3000000", "-o", tmp_path / "long.tape")
    write_dataset([tmp_path / "long.tape"], tmp_path / "out", ["events"])
    file = pyarrow.parquet.ParquetFile(tmp_path / "out/events/tape=long/data.parquet")
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sum(sizes) == 3_000_000 and max(sizes) <= 1 << 20


def test_without_pyarrow_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        heaptape.Error, match=r"^Parquet needs pyarrow: pip install pyarrow$"
    ):
        write_dataset([THREADS], tmp_path / "out")
