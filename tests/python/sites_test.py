"""sites() and stacks() against what the tool says of the same tape."""

import collections
import json
import shutil

import pytest
from conftest import rows

import heaptape


@pytest.fixture
def tape(stack_tape):
    return heaptape.Tape(stack_tape)


def calls_by_site(tape):
    """{text: calls}, of allocations and resizes."""
    texts = {site["site"]: site["text"] for site in rows(tape.sites())}
    sites = {frame["stack"]: frame["site"] for frame in rows(tape.stacks())}
    calls = collections.Counter()
    for event in rows(tape.events()):
        if event["stack"] is not None and event["address"] is not None:
            calls[texts[sites[event["stack"]]]] += 1
    return calls


def test_sites_have_the_calls_that_stats_says(tape, stack_tape, tool_json):
    stats = tool_json("stats", "--by", "site", "--json", stack_tape)
    # A site that only maps memory has none.
    calls = {site["site"]: site["totals"]["calls"] for site in stats["sites"] if site["totals"]["calls"]}
    assert calls_by_site(tape) == calls


def test_blocks_have_the_sites_of_their_stacks(tape):
    sites = {frame["stack"]: frame["site"] for frame in rows(tape.stacks())}
    blocks = rows(tape.blocks())
    assert any(block["site"] is not None for block in blocks)
    assert all(block["site"] == sites.get(block["stack"]) for block in blocks)


def frames_of(stacks, stack):
    while stack is not None:
        frames = sorted(stacks[stack], key=lambda frame: frame["inlined"])
        yield from (frame["text"] for frame in frames)
        stack = frames[0]["caller"]


def test_stacks_have_the_frames_of_dump(tape, stack_tape, tool):
    stacks = collections.defaultdict(list)
    for frame in rows(tape.stacks()):
        stacks[frame["stack"]].append(frame)
    lines = map(json.loads, tool("dump", "--stacks", "--format", "ndjson", stack_tape).splitlines())
    dumped = {line["stack"]: line["frames"] for line in lines if "frames" in line}
    assert len(dumped) > 100
    assert {stack: list(frames_of(stacks, stack)) for stack in dumped} == dumped


def test_sites_know_functions_by_the_file_of_symbols(tape):
    assert any(site["function"] is not None for site in rows(tape.sites()))


def test_sites_without_symbols_are_modules_and_offsets(stack_tape, tmp_path):
    path = shutil.copy(stack_tape, tmp_path)
    sites = rows(heaptape.Tape(path).sites())
    assert sites and all(site["function"] is None for site in sites)
    assert any(
        site["module"].endswith("python3.11") or "python" in site["module"]
        for site in sites
        if site["module"]
    )


def test_symbols_of_another_tape_are_an_error(stack_tape, threads_tape, tmp_path):
    path = shutil.copy(stack_tape, tmp_path)
    (tmp_path / "python.tape.symbols").write_bytes(b"no symbols")
    with pytest.raises(heaptape.Error, match="python.tape.symbols'"):
        rows(heaptape.Tape(path).sites())


def test_tape_without_stacks_has_no_sites(threads_tape):
    assert rows(threads_tape.sites()) == [] and rows(threads_tape.stacks()) == []
    assert {block["site"] for block in rows(threads_tape.blocks())} == {None}
