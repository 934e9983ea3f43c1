"""write_results(): dataset, sweep.json, sweep.html and the text, of real and of made cells."""

import json
import os

import duckdb
import pyarrow.dataset
import pyarrow.parquet
import pytest
from conftest import needs_glibc_2_36
from page_test import HOSTILE, Parsed
from sweep_cells import SPECS, cell, cells, real_cells, results, run, tape

import heaptape
from heaptape.run_figures import figures
from heaptape.sweep import dataset
from heaptape.sweep.cells import Candidate

QUERY = "FROM read_parquet('{}/cells/*/*.parquet', hive_partitioning = true)"


@pytest.fixture(scope="module")
def real():
    return real_cells()


@pytest.fixture(scope="module")
def sweep(real, tmp_path_factory):
    """Of all tapes of docs/questions on three candidates."""
    folder = tmp_path_factory.mktemp("sweep")
    gates = ["p90(peak.residentBytes)>+3%", "failed>0"]
    return folder, results(folder, real, gates, baseline="glibc")


def rows_of(folder):
    partitions = pyarrow.dataset.partitioning(
        pyarrow.schema([("candidate", pyarrow.string())]), flavor="hive"
    )
    return pyarrow.dataset.dataset(folder / "cells", partitioning=partitions).to_table().to_pylist()


def schemas(folder):
    files = (folder / "cells").rglob("*.parquet")
    return [pyarrow.parquet.ParquetFile(file).schema_arrow for file in files]


def parse_page(folder):
    return Parsed((folder / "sweep.html").read_text("utf-8"))


def charts(folder):
    return json.loads(next(s for s in parse_page(folder).scripts if s.startswith("[")))


def test_dataset_has_a_row_for_each_cell_with_its_figures(sweep, real):
    rows = {(row["tape"], row["candidate"]): row for row in rows_of(sweep[0])}
    assert len(rows) == len(real) == 15
    for each in real:
        row = rows[each.tape.name, each.candidate.label]
        for name, value in figures(each.run).items():
            known = dict(row["counters"]).get(name.removeprefix("counters."))
            assert (known if name.startswith("counters.") else row[name]) == value


def test_rows_have_what_they_are_of(sweep, real):
    row = next(row for row in rows_of(sweep[0]) if row["tape"] == "threads")
    facts = heaptape.Tape(row["uri"]).facts
    assert (row["meta.kind"], row["tape.threads"], row["tape.events"]) == ("t", 5, 17265)
    assert (row["tape.command"], row["tape.allocator"]) == (facts["command"], facts["allocator"])
    assert (row["engine"], row["cached"], row["error"], row["seconds"]) == (
        "0.1.0",
        False,
        None,
        0.5,
    )
    assert len(row["digest"]) == 64


def test_files_of_the_dataset_have_one_schema(sweep, tmp_path):
    first, *others = schemas(sweep[0])
    assert len(others) == 2 and all(other == first for other in others)
    results(tmp_path, [cell(tape("t", metadata={"kind": "x"}), "a", None, "it crashed")])
    assert schemas(tmp_path) == [first]


def test_duckdb_reads_the_dataset(sweep):
    query = f'SELECT candidate, count("peak.residentBytes") {QUERY.format(sweep[0])} GROUP BY 1'
    assert dict(duckdb.sql(query).fetchall()) == dict.fromkeys(SPECS, 5)


def test_labels_are_quoted_as_hive_does(tmp_path):
    results(tmp_path, cells({"a=b c/%": [1]}))
    assert os.listdir(tmp_path / "cells") == ["candidate=a%3Db%20c%2F%25"]
    assert rows_of(tmp_path)[0]["candidate"] == "a=b c/%"
    assert duckdb.sql(f"SELECT candidate {QUERY.format(tmp_path)}").fetchall() == [("a=b c/%",)]


def test_failed_cell_is_a_row_with_its_error(tmp_path):
    results(tmp_path, cells({"a": [1, None]}))
    row = next(row for row in rows_of(tmp_path) if row["tape"] == "t1")
    assert row["error"] == "it crashed" and row["peak.residentBytes"] is None


def test_what_an_imported_trace_lacks_is_null(tmp_path):
    lacks = {"format": "malloclab", "lacks": ["threads", "times", "addresses"]}
    of = tape("t", **{"import": lacks, "durationNs": 0})
    results(tmp_path, [cell(of, "a", run(1))])
    (row,) = rows_of(tmp_path)
    assert (row["tape.threads"], row["tape.durationNs"], row["tape.events"]) == (None, None, 1000)


def test_later_sweep_replaces_the_whole_dataset(tmp_path):
    results(tmp_path, cells({"a": [1], "b": [2]}))
    results(tmp_path, cells({"b": [3], "c": [4]}))
    assert sorted(row["candidate"] for row in rows_of(tmp_path)) == ["b", "c"]
    assert sorted(os.listdir(tmp_path)) == ["cells", "sweep.html", "sweep.json"]


def test_interrupted_sweep_leaves_the_dataset_before(tmp_path):
    results(tmp_path, cells({"a": [1], "b": [2]}))

    def interrupt_cells():
        yield from cells({"b": [3], "c": [4]})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), dataset.Dataset(tmp_path, []) as written:
        for each in interrupt_cells():
            written.add(each.candidate.label, {"tape": each.tape.name})
    assert sorted(row["candidate"] for row in rows_of(tmp_path)) == ["a", "b"]


def test_many_rows_are_written_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "_ROWS_AT_ONCE", 4)
    results(tmp_path, cells({"a": list(range(10))}))
    file = pyarrow.parquet.ParquetFile(tmp_path / "cells/candidate=a/data.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(3)] == [4, 4, 2]
    assert [row["peak.residentBytes"] for row in rows_of(tmp_path)] == list(range(10))


def test_sweep_json_has_the_figures_of_each_cell(sweep, real):
    saved = json.loads((sweep[0] / "sweep.json").read_text())
    for each in real:
        i = [c["label"] for c in saved["candidates"]].index(each.candidate.label)
        j = [t["tape"] for t in saved["tapes"]].index(each.tape.name)
        expected = figures(each.run)
        for metric, rows in saved["figures"].items():
            assert rows[i][j] == expected.get(metric)
    assert saved["engine"]["buildIds"] == ["ab", "cd"] and saved["cells"]["count"] == 15


def test_sweep_json_summary_and_results_are_the_same(sweep):
    saved = json.loads((sweep[0] / "sweep.json").read_text())
    assert saved["summary"] == sweep[1].json["summary"] and saved["gates"] == sweep[1].json["gates"]


def test_same_sweep_passes_every_change_against_itself(sweep, real, tmp_path):
    gates = [f"{name}({metric})>+0%" for name in ("max", "mean") for metric in ("peak.committedBytes", "end.slackBytes")]  # fmt: skip
    again = results(tmp_path, real, gates, against=sweep[0])
    assert again.passed and all(v.state == "passed" and v.tapes == 5 for v in again.verdicts)


def test_base_may_be_the_folder_that_is_written_to(tmp_path):
    results(tmp_path, cells({"a": [100]}))
    gates = ["max(peak.residentBytes)>+3%"]
    assert not results(tmp_path, cells({"a": [200]}), gates, against=tmp_path).passed
    assert results(tmp_path, cells({"a": [200]}), gates, against=tmp_path).passed


def test_large_integers_are_text_in_json_and_exact_when_read_back(tmp_path):
    results(tmp_path, cells({"a": [2**53 + 1]}))
    saved = json.loads((tmp_path / "sweep.json").read_text())
    assert saved["figures"]["peak.residentBytes"] == [[str(2**53 + 1)]]
    gate = ["max(peak.residentBytes)!=+0B"]
    assert results(tmp_path, cells({"a": [2**53 + 1]}), gate, against=tmp_path).passed


def test_results_say_whether_gates_passed_and_how_many_cells_failed(tmp_path):
    made = cells({"a": [1, None], "b": [None, 1]})
    found = results(tmp_path, made, ["failed>0"])
    assert found.failed == 2 and not found.passed
    passed = results(tmp_path, made, ["failed>1"])
    assert passed.failed == 2 and passed.passed


def test_text_has_a_line_for_each_candidate_with_sizes_and_units(sweep):
    text = sweep[1].text()
    assert text.startswith("5 tapes, 3 candidates: 15 cells, 0 failed, 0 from the cache\n")
    line = next(line for line in text.splitlines() if line.startswith("model:ptmalloc "))
    assert line.split()[:9] == [
        "model:ptmalloc",
        "5",
        "0",
        "1.74",
        "MiB",
        "3.98",
        "MiB",
        "9.04",
        "MiB",
    ]
    assert "9,482,240 B" in sweep[1].text(exact=True)


def test_text_leaves_out_candidates_that_have_no_such_figure(tmp_path):
    made = [cell(tape("t"), label, run(1, time_nsPerEvent=2.0)) for label in ("a", "model:slabs")]
    times = results(tmp_path, made).text().partition("time.nsPerEvent")[2].partition("\n\n")[0]
    assert "\na " in times and "model:slabs" not in times


def test_replays_are_counted_apart_from_what_was_in_the_cache(tmp_path):
    made = [
        cell(tape("t"), "a", run(1), cached=True, seconds=7.0),
        cell(tape("t"), "b", run(1), seconds=0.5),
    ]
    found = results(tmp_path, made)
    assert found.json["cells"] == {"count": 2, "failed": 0, "cached": 1, "replaySeconds": 0.5}
    assert "2 cells, 0 failed, 1 from the cache" in found.text()


@needs_glibc_2_36
def test_text_has_the_best_candidate_of_few_tapes_with_ties(sweep):
    text = sweep[1].text()
    assert "\nthreads   glibc = model:ptmalloc" in text and "\nbest on " in text


def test_text_names_failures_and_counts_those_it_leaves_out(tmp_path):
    text = results(tmp_path, cells({"a": [None] * 12, "b": [1] * 12})).text()
    assert text.count("failed: t") == 10 and "failed: t0 on a: it crashed\n" in text
    assert "failed: 2 more; sweep.json has them all\n" in text


def test_text_ends_with_the_verdict(sweep):
    assert sweep[1].text().endswith("\n\nPASS: 0 of 5 gate checks failed\n") is sweep[1].passed


def test_text_says_what_else_differs_from_the_base(tmp_path):
    lib = [Candidate("a", "jemalloc", "/l", "01"), Candidate("b", "x"), Candidate("d", "d")]
    new = [Candidate("a", "jemalloc", "/l", "02"), Candidate("b", "y"), Candidate("c", "c")]
    results(tmp_path, [cell(tape("t"), c, run(1)) for c in lib])
    text = results(tmp_path, [cell(tape("t"), c, run(1)) for c in new], against=tmp_path).text()
    assert "note: a: was another build of its library in the base\n" in text
    assert (
        "note: b: was 'x' in the base\nnote: c: not in the base\nnote: only in the base: d\n"
        in text
    )


def test_page_has_the_numbers_of_the_text(sweep):
    texts = [text.strip() for text in parse_page(sweep[0]).texts]
    for line in sweep[1].text().splitlines():
        if line.startswith(("glibc ", "model:")) and "  " in line:
            for value in line.split("  "):
                assert value.strip() in [*texts, ""]


def test_page_begins_with_gates_that_failed(tmp_path):
    made = cells({"a": [1, 2], "b": [2, 1]})
    titles = ("Gates", "peak.residentBytes")
    results(tmp_path, made, ["max(peak.residentBytes)>1"])
    texts = parse_page(tmp_path).texts
    assert texts.index(titles[0]) < texts.index(titles[1])
    results(tmp_path, made, ["max(peak.residentBytes)>9"])
    texts = parse_page(tmp_path).texts
    assert texts.index(titles[0]) > texts.index(titles[1])


def test_page_lists_what_failed(tmp_path):
    results(tmp_path, cells({"a": [None, 1], "b": [1, 2]}))
    texts = parse_page(tmp_path).texts
    assert "1 cell failed" in texts and "it crashed" in texts


def test_charts_have_a_box_for_each_candidate_and_a_point_for_each_tape(sweep):
    boxes, *points = charts(sweep[0])[0]["data"]
    assert boxes["type"] == "box" and len(boxes["median"]) == 3
    assert [len(trace["x"]) for trace in points] == [5, 5, 5]
    assert any(text.startswith("threads, glibc: ") for text in points[0]["text"])


def test_heat_map_has_the_tapes_that_differ_most_on_top(sweep):
    (heat,) = charts(sweep[0])[1]["data"]
    furthest = [max(abs(value) for value in row) for row in heat["z"]]
    assert furthest == sorted(furthest, reverse=True) and len(furthest) == 5


def test_charts_of_many_tapes_are_bounded_and_say_so(tmp_path):
    results(tmp_path, cells({"a": [100] * 250, "b": list(range(1, 251))}))
    boxes, *points = charts(tmp_path)[0]["data"]
    assert boxes["median"] == [1.0, 1.25] and [len(trace["x"]) for trace in points] == [200, 200]
    assert "Points are the 200 tapes that differ most, of 250." in "".join(
        parse_page(tmp_path).texts
    )
    assert len(charts(tmp_path)[1]["data"][0]["z"]) == 200


def texts_of(value):
    """All texts of a chart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_of(inner)


@pytest.mark.parametrize("text", [HOSTILE, "", "\ud800", "a" * 400])
def test_hostile_names_are_inert(tmp_path, text):
    of = tape(text, metadata={"key" + text: text}, command=text)
    other = tape("t")
    made = [
        cell(t, Candidate(label, text), r, error)
        for t in (of, other)
        for label, r, error in (("a", run(1), None), ("<b>x</b>", run(2), None), ("c", None, text))
    ]
    found = results(tmp_path, made, ["failed>0"])
    parsed = parse_page(tmp_path)
    assert not {"img", "b"} & set(parsed.tags()) and len(parsed.scripts) == 2
    assert not set("\u202e\u2066\x1b") & set("".join(parsed.texts) + found.text())
    plotted = [t for f in charts(tmp_path) for t in texts_of(f)]
    assert len(plotted) > 10
    assert not set("\u202e\u2066\x1b") & set("".join(plotted))
    assert len(rows_of(tmp_path)) == 6


def test_all_cells_failed_still_gives_a_page_and_a_text(tmp_path):
    found = results(tmp_path, cells({"a": [None], "b": [None]}))
    assert found.text().count("it crashed") == 2 and found.failed == 2
    assert "2 cells failed" in parse_page(tmp_path).texts


def test_one_tape_on_one_candidate_has_no_comparison(tmp_path):
    text = results(tmp_path, cells({"a": [1]})).text()
    assert "change" not in text and "1 tape, 1 candidate: 1 cell, 0 failed" in text


def test_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "cells.partial").write_text("")
    with pytest.raises(heaptape.Error, match=r"^cannot write '.*/cells': "):
        results(tmp_path, cells({"a": [1]}))


def test_the_page_begins_with_the_best_candidate_and_what_it_saves(tmp_path):
    results(tmp_path, cells({"a": [100, 100], "b": [50, 60]}))
    assert (
        "Least resident at the peak: b, on 2 of 2 tapes; the median of its changes from a is -50.00%."
        in parse_page(tmp_path).texts
    )
    found = results(tmp_path, cells({"a": [10, 10], "b": [50, 60]}))
    answer = "Least resident at the peak: a, on 2 of 2 tapes."
    assert answer in parse_page(tmp_path).texts
    assert found.text().splitlines()[1:3] == ["", answer]


def test_a_tie_names_the_candidate_that_may_hold_most_more(tmp_path):
    tie = "No candidate is best: at the peak, a, b hold least on 1 of 2 tapes each"
    found = results(tmp_path, cells({"a": [100, 100], "b": [90, 139]}))
    assert f"{tie}; b holds up to 39.00% more than a (t1)." in found.text()
    assert f"\n{tie}.\n" in results(tmp_path, cells({"a": [100, 100], "b": [90, 104]})).text()
