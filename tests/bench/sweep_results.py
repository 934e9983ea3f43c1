"""What it takes to write the results of a sweep of 10,000 tapes on 20 candidates.

usage: sweep_results.py HEAPTAPE [TAPES], in an environment with heaptape[sweep]

Cells are made of one real run, with figures changed at random (seed 1). Prints the processor time of each step, sizes, and the peak of resident memory.
"""

import dataclasses
import os
import pathlib
import random
import resource
import sys
import tempfile
import time

import heaptape
from heaptape.sweep import results
from heaptape.sweep.cells import Candidate, Cell, SweptTape

CANDIDATES = 20
ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = ("_write_cells", "judge", "summary_of", "write_sweep", "write_summary_page")


@dataclasses.dataclass
class MadeCells:
    """Made anew whenever they are gone through, so that they take no memory."""

    tapes: int
    run: dict

    def __iter__(self):
        chance = random.Random(1)
        for i in range(self.tapes):
            facts = {"events": chance.randrange(10**6), "threads": chance.choice([1, 1, 4, 16])}
            facts |= {"command": "./server --serve", "allocator": "libc.so.6"}
            name = f"service-{i % 37}/run-{i:05}.tape"
            tape = SweptTape(name, f"s3://tapes/{i}", f"{i:064x}", facts, {"service": str(i % 37)})
            size = int(2 ** chance.uniform(20, 34))
            for j in range(CANDIDATES):
                candidate = Candidate(f"setting-{j}", f"jemalloc N={j}", "/lib/x.so", "ab" * 20)
                yield self._cell(tape, candidate, int(size * chance.uniform(0.7, 1.6)), chance)

    def _cell(self, tape, candidate, size, chance):
        if chance.random() < 0.002:
            return Cell(tape, candidate, None, "its worker was killed", False, 1.0)
        values = {
            name: {"value": int(size * chance.uniform(1, 1.1)), "at": 5}
            for name in ("committedBytes", "residentBytes")
        }
        timeline = {
            **self.run["timeline"],
            "residentBytes": [size // 2] * len(self.run["timeline"]["at"]),
        }
        timed = {**self.run["time"], "nsPerEvent": chance.uniform(20, 50)}
        run = {
            **self.run,
            "peak": {**self.run["peak"], **values},
            "timeline": timeline,
            "time": timed,
        }
        return Cell(tape, candidate, run, None, chance.random() < 0.5, 1.0)


def real_run():
    run = heaptape.replay(ROOT / "docs/questions/threads.tape", ["glibc"]).json["runs"][0]
    run["timeline"] = {name: run["timeline"][name] for name in ("at", "timeNs", "residentBytes")}
    return run


def time_step(name):
    step = getattr(results, name)

    def run(*words):
        before = time.process_time()
        done = step(*words)
        print(f"{name.strip('_'):20} {time.process_time() - before:6.1f} s")
        return done

    setattr(results, name, run)


def main():
    os.environ["HEAPTAPE"] = os.path.abspath(sys.argv[1])
    cells = MadeCells(int(sys.argv[2]) if len(sys.argv) > 2 else 10_000, real_run())
    for name in STEPS:
        time_step(name)
    labels = [f"setting-{j}" for j in range(CANDIDATES)]
    terms = results.read_terms(["p90(peak.residentBytes)>+3%"], labels=labels, baseline=labels[0])
    with tempfile.TemporaryDirectory() as folder:
        results.write_results(
            folder, cells, engine={"version": heaptape.__version__, "buildIds": []}, terms=terms
        )
        for name in ("cells", "sweep.json", "sweep.html"):
            path = pathlib.Path(folder, name)
            files = (
                [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
            )
            print(f"{name:20} {sum(file.stat().st_size for file in files) / 1e6:6.1f} MB")
    print(f"{'memory':20} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:6} MiB")


if __name__ == "__main__":
    main()
