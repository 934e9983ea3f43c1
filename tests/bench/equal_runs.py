"""./dev bench gates: how often equal runs pass `heaptape diff --strict`, and by how much their figures differ.

Each tape is replayed one time more often than REPEATS on each allocator, every time anew, and each replay is
compared with the one before it. The table has the comparisons that passed, and of the gates with a limit in
percent the greatest changes that were seen. `recorded anew` records the program for each replay, too: then it is the
program that must do the same twice.

usage: equal_runs.py HEAPTAPE [--repeats N] [--allocators A,B] [--tapes NAME,NAME]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOCATORS = ["glibc", "jemalloc", "mimalloc", "tcmalloc", "model:ptmalloc", "model:slabs", "model:runs"]
QUESTIONS = ["redis", "python", "threads"]
SCENARIO = "fleet-like"  # four threads
RECORDED = "recorded anew"
PROGRAM = ["/usr/bin/python3", "-c", "import json; json.loads(json.dumps(list(range(30000))))"]
SETTINGS = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin"}


class Heaptape:
    def __init__(self, path, folder):
        self.path = str(Path(path).resolve())
        self.folder = folder

    def run(self, *words, may_end=(0,), **options):
        done = subprocess.run([self.path, *map(str, words)], cwd=self.folder, capture_output=True, text=True, **options)
        if done.returncode not in may_end:
            sys.exit(f"heaptape {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def tape(self, name):
        if name in QUESTIONS:
            return ROOT / f"docs/questions/{name}.tape"
        if name == SCENARIO:
            self.run("scenario", SCENARIO, "-o", "fleet.tape", "--set", "events=300k", "--set", "live=20k")
            return "fleet.tape"
        self.run("record", "-o", "anew.tape", "--", *PROGRAM, env=SETTINGS)
        return "anew.tape"


def comparisons(heaptape, name, allocator, repeats):
    """Each diff, as heaptape writes it in JSON."""
    tape = heaptape.tape(name)
    reports = ["odd.json", "even.json"]
    for i in range(repeats + 1):
        if name == RECORDED:
            tape = heaptape.tape(name)
        heaptape.run("replay", tape, "-a", f"run={allocator}", "-o", reports[i % 2])
        if i > 0:
            words = ["diff", reports[(i + 1) % 2], reports[i % 2], "--strict", "--format", "json"]
            yield json.loads(heaptape.run(*words, may_end=(0, 1)))


def greatest_change(gates):
    """"peak.residentBytes +3.5%": of gates with a limit in percent."""
    changes = {}
    for gate in gates:
        if not gate["expression"].endswith("%") or gate["base"] is None or gate["new"] is None:
            continue
        base, now = float(gate["base"]), float(gate["new"])
        change = (now - base) / base if base else float(now > 0)
        metric = gate["expression"].split()[0]
        changes[metric] = max(changes.get(metric, 0), change)
    metric = max(changes, key=changes.get, default=None)
    return f"{metric} +{changes[metric]:.2%}" if metric and changes[metric] else "none"


def main():
    options = argparse.ArgumentParser(prog="./dev bench gates")
    options.add_argument("heaptape")
    options.add_argument("--repeats", type=int, default=100)
    options.add_argument("--allocators", default=",".join(ALLOCATORS))
    options.add_argument("--tapes", default=",".join([*QUESTIONS, SCENARIO, RECORDED]))
    options = options.parse_args()
    print("| tape | allocator | passed | gates that failed | greatest increase |\n|---|---|---:|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="heaptape-bench-") as folder:
        heaptape = Heaptape(options.heaptape, folder)
        for name in options.tapes.split(","):
            for allocator in options.allocators.split(","):
                diffs = list(comparisons(heaptape, name, allocator, options.repeats))
                gates = [gate for diff in diffs for gate in diff["gates"]]
                failed = Counter(gate["expression"] for gate in gates if gate["state"] == "failed")
                passed = sum(not diff["failed"] for diff in diffs)
                what = ", ".join(f"`{gate}` {count}" for gate, count in failed.most_common()) or "none"
                print(f"| {name} | {allocator} | {passed} of {len(diffs)} | {what} | {greatest_change(gates)} |",
                      flush=True)


if __name__ == "__main__":
    main()
