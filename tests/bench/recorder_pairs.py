"""./dev bench recorder OTHER: the processor time of recording, by this build and by another one.

Each program runs bare, under the other build's recorder and under this one's, in turn. The figure of
a recorded run is the processor time of all its processes beyond the bare run before it, for each
call on its tapes and as a whole. A line has medians, half of the distance between the quartiles, and
the median and the quartiles of the ratios, pair by pair.

usage: recorder_pairs.py HEAPTAPE OTHER_HEAPTAPE TARGETS [PAIRS]
"""

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from cpu_time import cpu_seconds, half_spread

PYTHON = """
import json
records = [{"id": i, "name": "user%d" % i, "tags": ["a%d" % (i % 7)]} for i in range(20000)]
for _ in range(3):
    assert len(json.loads(json.dumps(records))) == 20000
"""


def programs(targets, folder):
    source = os.path.join(folder, "p.py")
    Path(source).write_text(PYTHON)
    return {
        "random loop": [os.path.join(targets, "random_loop"), "5000000"],
        "python3": ["env", "PYTHONMALLOC=malloc", "/usr/bin/python3", source],
        "python3 -c pass": ["env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c", "pass"],
    }


def calls_of(tape):
    processes = json.loads(Path(tape + ".manifest.json").read_text())["processes"]
    return sum(int(process["events"]) for process in processes)


def extra_seconds(heaptape, command, bare_seconds, tape):
    """Processor time of recording, beyond the bare run."""
    for path in (tape, tape + ".manifest.json"):
        Path(path).unlink(missing_ok=True)
    return cpu_seconds([heaptape, "record", "-o", tape, "--", *command]) - bare_seconds


def text_of(seconds, calls):
    ns = [one * 1e9 / calls for one in seconds]
    return f"{statistics.median(ns):.1f} +- {half_spread(ns):.1f} ns a call ({statistics.median(seconds) * 1e3:.1f} ms)"


def main():
    heaptape, other, targets = (os.path.abspath(word) for word in sys.argv[1:4])
    pairs = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    with tempfile.TemporaryDirectory() as folder:
        tape = os.path.join(folder, "run.tape")
        for name, command in programs(targets, folder).items():
            ours, theirs = [], []
            for _ in range(pairs):
                bare = cpu_seconds(command)
                theirs.append(extra_seconds(other, command, bare, tape))
                ours.append(extra_seconds(heaptape, command, bare, tape))
            calls = calls_of(tape)
            first, middle, third = statistics.quantiles([a / b for a, b in zip(ours, theirs, strict=True)], n=4)
            print(f"{name}, {calls:,} calls, {pairs} pairs: other {text_of(theirs, calls)}, this {text_of(ours, calls)}; "
                  f"ratio {middle:.3f} ({first:.3f} to {third:.3f})", flush=True)


if __name__ == "__main__":
    main()
