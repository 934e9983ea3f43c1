"""blocks() against the events, and against what the tool says of the same tape."""

import collections

from conftest import rows

import heaptape


class Reference:
    """Which blocks are live, by the definition in docs/python.md."""

    def __init__(self):
        self.live = {}  # by address
        self.lost = []  # handed out again while live
        self.dead = []

    def note(self, event):
        freed, address, size = event["freed"], event["address"], event["size"]
        if size is None or (
            event["op"] in ("realloc", "reallocarray") and size == 0 and not address and freed
        ):
            self.release(event)
        elif address and freed in self.live:
            block = self.live.pop(freed)
            block.update(size=size, address=address, resizes=block["resizes"] + 1)
            self.live[address] = block
        elif address:
            if address in self.live:
                self.lost.append(self.live[address])
            self.live[address] = {
                "birth": event["n"], "birthNs": event["timeNs"], "firstSize": size, "size": size, "resizes": 0,
                "address": address, "alignment": event["alignment"], "op": event["op"], "thread": event["thread"],
                "stack": event["stack"], "death": None, "deathNs": None, "freedBy": None,
            }  # fmt: skip

    def release(self, event):
        if event["freed"] in self.live:
            block = self.live.pop(event["freed"])
            block.update(death=event["n"], deathNs=event["timeNs"], freedBy=event["thread"])
            self.dead.append(block)

    def all(self):
        return self.dead + sorted(
            [*self.live.values(), *self.lost], key=lambda block: block["birth"]
        )


def without_site(blocks):
    return [{name: value for name, value in block.items() if name != "site"} for block in blocks]


def expected_blocks(tape):
    reference = Reference()
    for event in rows(tape.events()):
        reference.note(event)
    return reference.all()


def test_blocks_follow_from_the_events(real_tape):
    tape = heaptape.Tape(real_tape)
    assert without_site(rows(tape.blocks())) == expected_blocks(tape)


def test_blocks_with_stacks_follow_from_the_events(stack_tape):
    tape = heaptape.Tape(stack_tape)
    assert without_site(rows(tape.blocks())) == expected_blocks(tape)


def test_blocks_of_many_batches_follow_from_the_events(large_tape):
    tape = heaptape.Tape(large_tape)
    assert without_site(rows(tape.blocks())) == expected_blocks(tape)


def test_blocks_that_other_threads_resize_and_free_follow_from_the_events(tool, tmp_path):
    trace = tmp_path / "a.txt"
    trace.write_text("1: malloc 0x1000 64\n2: realloc 0x2000 0x1000 128\n3: realloc 0x2000 0x2000 32\n"
                     "2: malloc 0x3000 8\n1: realloc 0x4000 0x3000 16\n3: free 0x4000\n")
    tool("import", "android", trace, "-o", tmp_path / "a.tape")
    blocks = rows(heaptape.Tape(tmp_path / "a.tape").blocks())
    assert without_site(blocks) == expected_blocks(heaptape.Tape(tmp_path / "a.tape"))
    assert [(block["thread"], block["freedBy"], block["resizes"]) for block in blocks] == [(1, 2, 1), (0, None, 2)]


def test_blocks_that_never_die_are_those_of_stats(real_tape, tool_json):
    stats = tool_json("stats", "--json", real_tape)
    live = [block for block in rows(heaptape.Tape(real_tape).blocks()) if block["death"] is None]
    assert len(live) == stats["liveCount"]
    assert sum(block["size"] for block in live) == stats["liveBytes"]


def test_lifetimes_are_those_of_stats(real_tape, tool_json):
    dead = [
        block for block in rows(heaptape.Tape(real_tape).blocks()) if block["death"] is not None
    ]
    temporaries = sum(block["death"] == block["birth"] + 1 for block in dead)
    assert temporaries == tool_json("stats", "--json", real_tape)["temporaries"]


def test_peak_is_that_of_stats(real_tape, tool_json):
    changes = collections.Counter()
    for block in rows(heaptape.Tape(real_tape).blocks()):
        changes[block["birth"]] += 1
        changes[block["death"]] -= block["death"] is not None
    live = peak = 0
    for call in sorted(call for call in changes if call is not None):
        live += changes[call]
        peak = max(peak, live)
    assert peak == tool_json("stats", "--json", real_tape)["peakLiveCount"]["value"]
