"""heaptape.Tape against what the tool says of the same tape."""

import json
import shutil
import subprocess

import pyarrow
import pytest
from conftest import QUESTIONS, ROOT, rows

import heaptape


def address_of(event, name):
    text = event.get(name)
    return None if text is None else int(text, 16)


def expected_event(line):
    return {
        "n": line["n"],
        "thread": line["thread"],
        "op": line["op"],
        "freed": address_of(line, "freed"),
        "alignment": line.get("alignment"),
        "size": line.get("size"),
        "address": address_of(line, "address"),
    }


def dump(tool, path, *options):
    lines = map(json.loads, tool("dump", "--format", "ndjson", *options, path).splitlines())
    return [line for line in lines if "op" in line]


def test_facts_are_those_of_info(real_tape, tool_json):
    info = tool_json("info", "--json", real_tape)
    facts = heaptape.Tape(real_tape).facts
    only_here = {"startUnixNs", "endReason", "endStatus"}
    only_there = {"version", "bytesPerEvent", "recordedAt", "ended"}
    assert {k: v for k, v in facts.items() if k not in only_here} == {
        k: v for k, v in info.items() if k not in only_there
    }


def test_facts_have_the_memory_of_the_process(tool, tool_json, tmp_path):
    tape = tmp_path / "a.tape"
    tool("record", "-o", tape, "--", "sleep", "0.2")
    facts = heaptape.Tape(tape).facts
    info = tool_json("info", "--json", tape)
    assert facts["largestSample"] == info["largestSample"]
    assert facts["peakBytes"] == info["peakBytes"] > facts["largestSample"]["anonymousBytes"]
    parts = facts["largestSample"]["anonymous"]
    assert parts["mallocBytes"] + parts["besideMallocBytes"] == facts["largestSample"]["anonymousBytes"]
    assert 0 < parts["stackBytes"] <= parts["besideMallocBytes"]
    samples = rows(heaptape.Tape(tape).samples())
    largest = max(samples, key=lambda sample: sample["residentBytes"])
    assert largest["mallocBytes"] == parts["mallocBytes"]
    assert largest["fileBytes"] == facts["largestSample"]["fileBytes"]


def test_facts_name_files_with_allocators_inside(tool, tool_json, tmp_path):
    source, program, tape = tmp_path / "inner.c", tmp_path / "inner", tmp_path / "a.tape"
    source.write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { puts("<jemalloc>: Error"); puts("opt.narenas"); usleep(200000); }\n'
    )
    subprocess.run(["cc", "-o", program, source], check=True)
    tool("record", "-o", tape, "--", program)
    files = heaptape.Tape(tape).facts["innerAllocators"]
    remedies = files[0].pop("remedies")
    assert files == [{"file": str(program.resolve()), "owner": program.name, "families": ["jemalloc"]}]
    assert len(remedies) == 1 and remedies[0].startswith("MALLOC_CONF=stats_print:true")
    files[0]["remedies"] = remedies
    assert files == tool_json("info", "--json", tape)["innerAllocators"]


def test_facts_say_what_an_imported_trace_lacks(tool, tool_json, tmp_path):
    trace, tape = tmp_path / "a.rep", tmp_path / "a.tape"
    trace.write_text("100\n1\n2\n1\na 0 64\nf 0\n")
    tool("import", "malloclab", trace, "-o", tape)
    facts = heaptape.Tape(tape).facts
    assert facts["import"] == tool_json("info", "--json", tape)["import"]
    assert {"times", "addresses", "threads"} <= set(facts["import"]["lacks"])
    assert [event["timeNs"] for event in rows(heaptape.Tape(tape).events())] == [None, None]


def test_facts_of_stacks_are_those_of_info(stack_tape, tool_json):
    assert (
        heaptape.Tape(stack_tape).facts["stacks"]
        == tool_json("info", "--json", stack_tape)["stacks"]
    )


def test_events_are_those_of_dump(real_tape, tool):
    events = rows(heaptape.Tape(real_tape).events())
    for event in events:
        del event["timeNs"], event["stack"]
    assert events == [expected_event(line) for line in dump(tool, real_tape)]


# dump draws a line to the first sample of the next chunk; replays and this stand still up to its end.
@pytest.mark.parametrize("name", ["growth", "threads"])
def test_events_have_the_times_of_dump_but_between_chunks(name, tool):
    path = QUESTIONS / f"{name}.tape"
    dumped_times = [line.get("timeNs") for line in dump(tool, path, "--times")]
    times = [event["timeNs"] for event in rows(heaptape.Tape(path).events())]
    known = [
        (time, other) for time, other in zip(times, dumped_times, strict=True) if other is not None
    ]
    same = sum(abs(time - other) <= 1 for time, other in known)
    assert same > 0.98 * len(times) and times == sorted(times)


def test_events_of_a_tape_without_times_have_none(large_tape):
    assert {event["timeNs"] for event in rows(heaptape.Tape(large_tape).events())[:1000]} == {None}


def test_events_have_the_stacks_of_dump(stack_tape, tool):
    lines = dump(tool, stack_tape, "--stacks")
    events = rows(heaptape.Tape(stack_tape).events())
    assert any("stack" in line for line in lines)
    assert [event["stack"] for event in events] == [line.get("stack") for line in lines]


def test_events_of_every_kind_are_read():
    events = rows(heaptape.Tape(ROOT / "tests/golden/tape-v1.tape").events())
    assert [event["op"] for event in events] == [
        "malloc",
        "malloc",
        "posix_memalign",
        "realloc",
        "free",
        "free",
    ]
    assert [event["alignment"] for event in events] == [None, None, 64, None, None, None]
    assert events[3]["freed"] == 0x5555557592A0 and events[3]["size"] == 200
    assert events[5]["freed"] is None and events[5]["size"] is None


def test_samples_are_those_of_the_process():
    samples = rows(heaptape.Tape(ROOT / "tests/golden/tape-v1.tape").samples())
    assert samples == [
        {
            "at": 6,
            "timeNs": 2_000_000,
            "residentBytes": 135_168,
            "regions": 1,
            "regionBytes": 0x21000,
            "mallocBytes": None,
            "fileBytes": 0,
            "sharedBytes": 0,
            "peakBytes": None,
            "stackBytes": None,
            "hugeBytes": 0,
        }
    ]


def test_owners_of_samples_are_those_of_the_facts(tool, tmp_path):
    tape = tmp_path / "a.tape"
    tool("record", "-o", tape, "--", "sleep", "0.2")
    table = heaptape.Tape(tape).sample_owners()
    assert pyarrow.schema(table).names == ["at", "timeNs", "owner", "bytes"]
    largest = heaptape.Tape(tape).facts["largestSample"]
    owners = [
        {"owner": row["owner"], "bytes": row["bytes"]}
        for row in rows(table)
        if (row["at"], row["timeNs"]) == (largest["at"], largest["timeNs"])
    ]
    assert owners == largest["anonymous"].get("owners", [])


def test_calls_beside_malloc_are_those_of_the_dump(tool, tmp_path):
    tape = tmp_path / "a.tape"
    program = "import ctypes, mmap; m = mmap.mmap(-1, 12288); m.madvise(4); m.resize(40960); m.close(); ctypes.CDLL(None).malloc_trim(7)"
    tool("record", "-o", tape, "--", "/usr/bin/python3", "-c", program)
    dumped = [json.loads(line) for line in tool("dump", "--format", "ndjson", tape).splitlines()]
    mapped = rows(heaptape.Tape(tape).mapping_calls())
    assert [(row["at"], row["thread"], row["call"], row["begin"], row["bytes"]) for row in mapped] == [
        (one["n"], one["thread"], one["mapping"], one["begin"], one["bytes"])
        for one in dumped
        if "mapping" in one
    ]
    own = [row for row in mapped if row["bytes"] in (12288, 40960)]
    assert [row["call"] for row in own] == ["mmap", "madvise", "munmap", "mmap", "munmap"]
    assert (own[3]["protection"], own[3]["flags"]) == (None, None), "of mremap"
    assert (own[0]["protection"], own[0]["advice"]) == (3, None)
    assert (own[1]["advice"], own[1]["flags"], own[1]["protection"]) == (4, None, None)
    steered = rows(heaptape.Tape(tape).steering_calls())
    assert [(row["call"], row["first"], row["second"]) for row in steered] == [("malloc_trim", 7, None)]
    assert steered[0]["at"] == next(one["n"] for one in dumped if "steering" in one)


def test_samples_of_older_tapes_have_no_owners():
    assert rows(heaptape.Tape(ROOT / "tests/golden/tape-v2-rich.tape").sample_owners()) == []


def test_samples_have_the_peak_of_the_recorded_run(tool, tmp_path):
    path, report = QUESTIONS / "redis.tape", tmp_path / "report.json"
    tool("replay", path, "-a", "recorded", "-o", report)
    peak = json.loads(report.read_text())["runs"][0]["peak"]["residentBytes"]["value"]
    assert max(sample["residentBytes"] for sample in rows(heaptape.Tape(path).samples())) == peak


def test_marks_are_those_of_the_user(stack_tape):
    marks = rows(heaptape.Tape(stack_tape).marks())
    assert [mark["name"] for mark in marks] == ["warm"]
    assert 0 < marks[0]["at"] < heaptape.Tape(stack_tape).facts["events"] and marks[0]["timeNs"] > 0


def test_missing_file_is_one_sentence():
    with pytest.raises(
        heaptape.Error, match=r"^cannot open '/no/such.tape': No such file or directory$"
    ):
        heaptape.Tape("/no/such.tape")


def test_foreign_file_is_one_sentence():
    with pytest.raises(heaptape.Error, match="README.md': it is not a heaptape tape$"):
        heaptape.Tape(ROOT / "README.md")


def test_path_need_not_be_text(tmp_path):
    path = str(tmp_path / "\udcff.tape")  # as os.fsdecode has the byte 0xff
    shutil.copy(QUESTIONS / "threads.tape", path)
    assert heaptape.Tape(path).facts["events"] == 17265


def test_on_damage_is_one_of_two_words():
    with pytest.raises(ValueError, match="'stop' or 'skip', not 'ignore'"):
        heaptape.Tape(QUESTIONS / "threads.tape", on_damage="ignore")


@pytest.fixture
def damaged_tape(tmp_path):
    """Of several chunks, one of which has a wrong byte."""
    data = bytearray((QUESTIONS / "redis.tape").read_bytes())
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / "damaged.tape"
    path.write_bytes(data)
    return path


def test_damage_stops_a_table_with_its_place(damaged_tape):
    with pytest.raises(OSError, match=r"damaged at byte \d+"):
        rows(heaptape.Tape(damaged_tape).events())


def test_damage_can_be_left_out(damaged_tape, tool):
    assert 0 < len(rows(heaptape.Tape(damaged_tape, on_damage="skip").events())) < 403325


def test_damage_of_the_outline_is_listed(tmp_path):
    data = bytearray((QUESTIONS / "threads.tape").read_bytes())
    data[15] ^= 1  # of the checksum of its first bytes
    (tmp_path / "bad.tape").write_bytes(data)
    tape = heaptape.Tape(tmp_path / "bad.tape", on_damage="skip")
    assert [damage["offset"] for damage in tape.damages] == [0]
    assert len(rows(tape.events())) == 17265


def test_unfinished_tape_is_read_as_far_as_it_goes(tmp_path):
    data = (QUESTIONS / "redis.tape").read_bytes()
    (tmp_path / "cut.tape").write_bytes(data[: len(data) * 3 // 4])
    tape = heaptape.Tape(tmp_path / "cut.tape")
    assert not tape.facts["finished"] and "allocations" not in tape.facts
    assert len(rows(tape.events())) == tape.facts["events"] > 0
    assert rows(tape.summary())[0]["allocations"] is None
