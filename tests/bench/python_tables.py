"""How fast the tables of a tape are read through Arrow's C stream, and in how much memory.

usage: python_tables.py HEAPTAPE, in an environment with the package heaptape and pyarrow

Each reading is a process of its own that takes batch after batch and drops it. It is one thread, so what
counts is its processor time; medians of five.
`samples` reads and decodes every call, and makes next to no rows: the floor.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
JSON_PROGRAM = """
import json
records = [{"id": i, "name": "name %d" % i, "tags": ["a%d" % (i % 7), "b"]} for i in range(60000)]
for _ in range(3): json.loads(json.dumps(records))
"""


def read(kind, path):
    """Prints calls of the tape, rows, seconds of processor time and the peak of resident memory in MiB."""
    import pyarrow

    import heaptape

    tape = heaptape.Tape(path)
    rows = 0
    before = time.process_time()
    for batch in pyarrow.RecordBatchReader.from_stream(getattr(tape, kind)()):
        rows += batch.num_rows
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(tape.facts["events"], rows, seconds, peak)


def measure(kind, path):
    command = [sys.executable, __file__, "--read", kind, path]
    return [
        list(map(float, subprocess.run(command, check=True, capture_output=True).stdout.split()))
        for _ in range(ROUNDS)
    ]


def make_tapes(heaptape, folder):
    python, random = folder / "json.tape", folder / "random.tape"
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    command = [heaptape, "record", "--force", "-o", python, "--", "/usr/bin/python3", "-c", JSON_PROGRAM]
    subprocess.run(command, check=True, env=environment)
    options = ["--set", "events=20000000", "-o", random]
    command = [heaptape, "scenario", "random-slots", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [python, random]


def main():
    if sys.argv[1] == "--read":
        return read(*sys.argv[2:])
    print(
        f"{'tape':14}{'table':8}{'calls':>12}{'rows':>12}{'M calls/s':>11}{'ns/call':>9}{'MiB':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for path in make_tapes(sys.argv[1], pathlib.Path(folder)):
            for kind in ("samples", "events", "blocks"):
                runs = measure(kind, path)
                calls, rows, _, _ = runs[0]
                seconds = statistics.median(run[2] for run in runs)
                memory = max(run[3] for run in runs)
                speed, cost = calls / seconds / 1e6, seconds / calls * 1e9
                print(
                    f"{path.name:14}{kind:8}{calls:12,.0f}{rows:12,.0f}{speed:11.1f}{cost:9.1f}{memory:6.0f}"
                )


if __name__ == "__main__":
    main()
