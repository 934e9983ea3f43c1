"""Exports of the heap over time. The definitions of Perfetto and of the Firefox Profiler judge their fields, and folded
stacks their sums."""

import collections
import functools
import json
import pathlib
import subprocess

import jsonschema
import pytest
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from conftest import QUESTIONS

SCHEMA = json.loads((pathlib.Path(__file__).parent / "firefox_profile.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
# heap_history.h: two for each window, the first, and that of the last window.
MOST_POINTS = 2 * 1000 + 3
MADE = ("stacks", "small", "pinned", "sampled", "hostile")


@pytest.fixture(scope="session")
def made_tapes(binary, tmp_path_factory):
    """Small tapes whose every number is known, and one with hostile names."""
    maker = pathlib.Path(binary).parents[1] / "tests" / "make_page_tapes"
    if not maker.exists():
        pytest.skip("make_page_tapes is not built beside heaptape")
    directory = tmp_path_factory.mktemp("made")
    subprocess.run([maker, directory], check=True, capture_output=True)
    return directory


@pytest.fixture(params=("recorded", *MADE))
def tape(request):
    """Tapes with call stacks."""
    if request.param == "recorded":
        return request.getfixturevalue("stack_tape")
    return request.getfixturevalue("made_tapes") / f"{request.param}.tape"


@pytest.fixture(scope="session")
def export(binary):
    def run(tape, form, *options):
        words = [binary, "export", tape, "--format", form, *options]
        return subprocess.run(words, check=True, capture_output=True).stdout

    return run


def shown(name):
    """As folded stacks have it."""
    return name.replace(";", ":")


@pytest.fixture(scope="session")
def perfetto(export):
    return functools.cache(lambda tape, *options: PerfettoTrace(export(tape, "perfetto", *options)))


@pytest.fixture(scope="session")
def firefox(export):
    return functools.cache(lambda tape, *options: FirefoxProfile(export(tape, "firefox", *options)))


@pytest.fixture(scope="session")
def folded(export):
    """The sum of each stack, the outermost function first."""

    def run(tape, value, *options):
        lines = export(tape, "folded", "--value", value, *options).decode().splitlines()
        return {tuple(stack.split(";")): int(sum) for stack, _, sum in (line.rpartition(" ") for line in lines)}

    return run


def unknown_fields(message):
    found = [field.field_number for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if isinstance(value, Message):
            found += unknown_fields(value)
        elif field.message_type is not None:
            for one in value:
                found += unknown_fields(one)
    return found


class PerfettoTrace:
    """A trace that has been checked, as a reader would have it."""

    def __init__(self, data):
        trace = protos.Trace.FromString(data)
        assert unknown_fields(trace) == []
        self.packets = trace.packet
        assert self.packets[0].sequence_flags == protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        assert {packet.trusted_packet_sequence_id for packet in self.packets} == {1}
        times = [packet.timestamp for packet in self.packets if packet.HasField("timestamp")]
        assert times == sorted(times)
        self.interned = collections.defaultdict(dict)
        self.tracks = {}
        self.counters = collections.defaultdict(list)
        self.instants = []
        self.dumps = []
        for packet in self.packets:
            self.take(packet)

    def take(self, packet):
        for field, entries in packet.interned_data.ListFields():
            for entry in entries:
                assert entry.iid and entry.iid not in self.interned[field.name]
                self.interned[field.name][entry.iid] = entry
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in self.tracks
            assert not track.parent_uuid or track.parent_uuid in self.tracks
            self.tracks[track.uuid] = track
        if packet.HasField("track_event"):
            self.take_event(packet.timestamp, packet.track_event)
        if packet.HasField("profile_packet"):
            assert packet.sequence_flags == protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            assert packet.profile_packet.index == len(self.dumps)
            (dump,) = packet.profile_packet.process_dumps
            assert dump.timestamp == packet.timestamp
            self.dumps.append(dump)

    def take_event(self, time, event):
        track = self.tracks[event.track_uuid]
        if event.type == protos.TrackEvent.TYPE_COUNTER:
            self.counters[track.name].append((time, event.counter_value))
            assert track.counter.unit in (protos.CounterDescriptor.UNIT_COUNT, protos.CounterDescriptor.UNIT_SIZE_BYTES)
        else:
            assert event.type == protos.TrackEvent.TYPE_INSTANT
            self.instants.append((time, event.name))

    def text(self, table, iid):
        return self.interned[table][iid].str.decode()  # UTF-8, or it fails

    def frame(self, iid):
        """What a reader tells frames by."""
        frame = self.interned["frames"][iid]
        mapping = self.interned["mappings"][frame.mapping_id]
        for path in mapping.path_string_ids:
            self.text("mapping_paths", path)
        if mapping.build_id:
            assert mapping.build_id in self.interned["build_ids"]
        if frame.source_path_iid:
            self.text("source_paths", frame.source_path_iid)
        return frame.mapping_id, frame.rel_pc, self.text("function_names", frame.function_name_id)

    @functools.cached_property
    def stacks(self):
        """By callstack: the names, the outermost first."""
        stacks = {
            iid: tuple(map(self.frame, stack.frame_ids)) for iid, stack in self.interned["callstacks"].items()
        }
        # A reader adds up what callstacks of the same frames say, as if it were of one.
        assert len(set(stacks.values())) == len(stacks)
        return {iid: tuple(shown(name) for _, _, name in frames) for iid, frames in stacks.items()}

    def states(self):
        """After each time with a dump: by callstack, the sums. None of them ever falls."""
        state = collections.defaultdict(lambda: (0, 0, 0, 0))
        states = {}
        for dump in self.dumps:
            for sample in dump.samples:
                now = sample.self_allocated, sample.self_freed, sample.alloc_count, sample.free_count
                assert all(a <= b for a, b in zip(state[sample.callstack_id], now))
                state[sample.callstack_id] = now
            states[dump.timestamp] = dict(state)
        return states

    def sums(self, state, value):
        """By names: the sum of value(state)."""
        sums = collections.Counter()
        stacks = self.stacks
        for callstack, figures in state.items():
            sums[stacks[callstack]] += value(*figures)
        return +sums


def live_bytes(allocated, freed, *_):
    return allocated - freed


def test_a_perfetto_trace_has_the_sums_of_other_exports(tape, folded, perfetto):
    trace = perfetto(tape)
    states = trace.states()
    end = states[max(states)]
    assert trace.sums(end, live_bytes) == folded(tape, "end")
    # Stacks that only map memory have no blocks.
    assert trace.sums(end, lambda allocated, *_: allocated) == folded(tape, "bytes")
    assert trace.sums(end, lambda _, __, count, ___: count) == folded(tape, "calls")
    # At the peak, or the last moment before it in which a stack changed.
    peak = next(time for time, name in trace.instants if name == "peak")
    at_peak = states[max(time for time in states if time <= peak)]
    assert trace.sums(at_peak, live_bytes) == folded(tape, "peak")


def test_a_perfetto_trace_has_only_the_sites_that_are_asked_for(stack_tape, folded, perfetto):
    options = ("--only", "site~Py")
    trace = perfetto(stack_tape, *options)
    states = trace.states()
    assert trace.sums(states[max(states)], live_bytes) == folded(stack_tape, "end", *options)
    assert trace.sums(states[max(states)], lambda allocated, *_: allocated) == folded(stack_tape, "bytes", *options)


def test_counters_have_the_figures_of_the_tape(stack_tape, tool_json, perfetto):
    counters = perfetto(stack_tape).counters
    stats = tool_json("stats", stack_tape, "--json")
    for name, peak in (("liveBytes", "peakLiveBytes"), ("liveCount", "peakLiveCount")):
        values = [value for _, value in counters[name]]
        assert max(values) == stats[peak]["value"]
        assert values[-1] == stats[name]
        assert len(values) <= MOST_POINTS
    assert counters["cumulativeBytesUpper"][-1][1] == stats["cumulativeBytesUpper"]
    largest = tool_json("info", stack_tape, "--json")["largestSample"]
    assert (largest["timeNs"], largest["anonymousBytes"]) in counters["residentBytes"]
    assert (largest["timeNs"], largest["anonymous"]["mallocBytes"]) in counters["process.mallocBytes"]
    assert max(value for _, value in counters["committedBytes"]) > 0


def test_marks_are_instants(stack_tape, perfetto, firefox):
    names = [name for _, name in perfetto(stack_tape).instants]
    assert {"warm", "peak", "end"} <= set(names)
    profile = firefox(stack_tape)
    assert {"warm", "peak", "end"} <= set(profile.markers)


def test_perfetto_clocks_begin_with_the_recording(stack_tape, tool_json, perfetto):
    packet = perfetto(stack_tape).packets[0]
    clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
    # That of packets, that of heap profiles, and the time of day.
    assert (clocks[protos.BUILTIN_CLOCK_BOOTTIME], clocks[protos.BUILTIN_CLOCK_MONOTONIC_COARSE]) == (0, 0)
    assert clocks[protos.BUILTIN_CLOCK_REALTIME] > 1_600_000_000 * 10**9


def test_source_lines_are_kept(made_tapes, perfetto, firefox):
    trace = perfetto(made_tapes / "stacks.tape")
    lines = {
        (trace.text("function_names", frame.function_name_id), trace.text("source_paths", frame.source_path_iid), frame.line_number)
        for frame in trace.interned["frames"].values()
        if frame.source_path_iid
    }
    assert ("parse(int)", "/src/app.cc", 20) in lines
    profile = firefox(made_tapes / "stacks.tape")
    assert ("parse(int)", "/src/app.cc", 20) in profile.lines()


class FirefoxProfile:
    """A profile that has been checked, as a reader would have it."""

    def __init__(self, data):
        self.data = json.loads(data)
        VALIDATOR.validate(self.data)
        shared = self.data["shared"]
        self.strings = shared["stringArray"]
        assert len(set(self.strings)) == len(self.strings)
        self.stacks, self.frames, self.funcs = shared["stackTable"], shared["frameTable"], shared["funcTable"]
        self.threads = self.data["threads"]
        for table in self.tables():
            assert {len(column) for name, column in table.items() if isinstance(column, list)} <= {table["length"]}
        self.check_indices()
        first = self.threads[0]["markers"]
        assert first["phase"][0] == 1 and first["startTime"][0] == 0
        self.markers = [self.strings[name] for name in first["name"]]

    def tables(self):
        yield from (table for table in self.data["shared"].values() if isinstance(table, dict))
        for thread in self.threads:
            yield from (table for table in thread.values() if isinstance(table, dict))
        yield from (counter["samples"] for counter in self.data["counters"])

    def check_indices(self):
        shared = self.data["shared"]

        def within(column, limit, none=None):
            assert all(index == none or 0 <= index < limit for index in column)

        for i, offset in enumerate(self.stacks["prefixOffset"]):
            assert offset <= i
        within(self.stacks["frame"], self.frames["length"])
        within(self.frames["func"], self.funcs["length"])
        within(self.frames["lib"], len(self.data["libs"]), -1)
        within(self.funcs["name"], len(self.strings))
        within(self.funcs["resource"], shared["resourceTable"]["length"], -1)
        within(self.funcs["source"], shared["sources"]["length"])
        within(shared["resourceTable"]["name"], len(self.strings))
        within(shared["sources"]["filename"], len(self.strings))
        categories = self.data["meta"]["categories"]
        assert any(category["color"] == "grey" for category in categories)
        within(self.frames["category"], len(categories))
        within(self.data["meta"]["initialSelectedThreads"], len(self.threads))
        within(self.data["meta"]["initialVisibleThreads"], len(self.threads))
        assert len({thread["tid"] for thread in self.threads}) == len(self.threads)
        kinds = {schema["name"] for schema in self.data["meta"]["markerSchema"]}
        for thread in self.threads:
            within(thread["markers"]["name"], len(self.strings))
            assert {data["type"] for data in thread["markers"]["data"]} <= kinds
            allocations = thread.get("nativeAllocations", {"stack": [], "time": []})
            within(allocations["stack"], self.stacks["length"])
            assert allocations["time"] == sorted(allocations["time"])
        for counter in self.data["counters"]:
            assert counter["pid"] == self.threads[counter["mainThreadIndex"]]["pid"]
            assert counter["samples"]["time"] == sorted(counter["samples"]["time"])

    @functools.cache  # noqa: B019 (few, and as long as the session)
    def names(self, stack):
        names = []
        while True:
            names.append(shown(self.strings[self.funcs["name"][self.frames["func"][self.stacks["frame"][stack]]]]))
            if self.stacks["prefixOffset"][stack] == 0:
                return tuple(reversed(names))
            stack -= self.stacks["prefixOffset"][stack]

    def lines(self):
        for func, line in zip(self.frames["func"], self.frames["line"]):
            source = self.funcs["source"][func]
            file = None if source is None else self.strings[self.data["shared"]["sources"]["filename"][source]]
            yield self.strings[self.funcs["name"][func]], file, line

    def sums(self, thread, keep=lambda row: True):
        """By names: the bytes of the allocations in rows that keep(row) wants."""
        table = self.threads[thread]["nativeAllocations"]
        sums = collections.Counter()
        for row in range(table["length"]):
            if table["weight"][row] > 0 and keep(row):
                sums[self.names(table["stack"][row])] += table["weight"][row]
        return sums

    def retained(self, until=None):
        """The rows of allocations that nothing freed up to that time (ms), as the viewer finds them."""
        table = self.threads[0]["nativeAllocations"]
        row_of = {}
        for row in range(table["length"]):
            if until is not None and table["time"][row] > until:
                break
            address = table["memoryAddress"][row]
            if table["weight"][row] >= 0:
                assert address not in row_of
                row_of[address] = row
            else:
                assert table["weight"][row_of.pop(address)] == -table["weight"][row]
        return set(row_of.values())

    def time_of(self, marker):
        return self.threads[0]["markers"]["startTime"][self.markers.index(marker)]


def test_a_firefox_profile_has_the_sums_of_other_exports(tape, folded, firefox):
    profile = firefox(tape)
    asked = folded(tape, "bytes")
    assert profile.sums(0) == asked
    retained = profile.retained()
    assert profile.sums(0, lambda row: row in retained) == folded(tape, "end")
    at_peak = profile.retained(profile.time_of("peak"))
    assert profile.sums(0, lambda row: row in at_peak) == folded(tape, "peak")
    assert profile.sums(1) == folded(tape, "peak")
    assert profile.sums(2) == folded(tape, "end")


def test_both_have_the_same_blocks_at_every_moment(tape, perfetto, firefox):
    trace = perfetto(tape)
    profile = firefox(tape)
    for time, state in trace.states().items():
        retained = profile.retained(time / 1e6)
        assert profile.sums(0, retained.__contains__) == trace.sums(state, live_bytes)


@pytest.mark.parametrize(("value", "thread"), [("peak", 1), ("end", 2), ("bytes", 0)])
def test_a_firefox_profile_shows_first_what_is_asked_for(made_tapes, firefox, value, thread):
    profile = firefox(made_tapes / "stacks.tape", "--value", value)
    assert profile.data["meta"]["initialSelectedThreads"] == [thread]


def test_both_have_the_same_series(stack_tape, perfetto, firefox):
    counters = perfetto(stack_tape).counters
    profile = firefox(stack_tape)
    assert [counter["name"] for counter in profile.data["counters"]] == list(counters)
    for counter in profile.data["counters"]:
        value = 0
        points = []
        for time, difference in zip(counter["samples"]["time"], counter["samples"]["count"]):
            value += difference
            points.append((round(time * 1e6), value))
        assert points[0][1] == 0  # the viewer takes it for that
        first = 0 if counters[counter["name"]][0][1] == 0 else 1
        assert points[first:] == counters[counter["name"]]


def test_hostile_names_survive(made_tapes, perfetto, firefox):
    strings = firefox(made_tapes / "hostile.tape").strings
    assert any("<script>" in text and "\ufffd" in text for text in strings)
    trace = perfetto(made_tapes / "hostile.tape")
    names = [trace.text("function_names", iid) for iid in trace.interned["function_names"]]
    assert any("<script>" in name and "\ufffd" in name for name in names)


def test_a_tape_without_stacks_has_figures_over_time(binary, perfetto):
    path = QUESTIONS / "threads.tape"
    done = subprocess.run([binary, "export", path, "--format", "firefox"], check=True, capture_output=True)
    assert b"no call stacks" in done.stderr
    profile = FirefoxProfile(done.stdout)
    assert len(profile.threads) == 1 and profile.data["counters"]
    trace = perfetto(path)
    assert trace.dumps == [] and trace.counters["liveBytes"]


def test_files_do_not_grow_with_calls(large_tape, export, perfetto):
    for points in perfetto(large_tape).counters.values():
        assert len(points) <= MOST_POINTS
    assert len(export(large_tape, "firefox")) < 300_000


def test_without_times_a_call_is_a_microsecond(tool, tmp_path, perfetto):
    calls = tmp_path / "calls.rep"
    calls.write_text("0\n2\n4\n0\na 0 100\na 1 50\nf 0\nf 1\n")
    tape = tmp_path / "calls.tape"
    tool("import", "malloclab", calls, "-o", tape)
    assert perfetto(tape).counters["liveBytes"] == [
        (0, 0),
        (1000, 100),
        (2000, 150),
        (3000, 50),
        (4000, 0),
    ]
