"""./dev bench gates: how often equal runs pass `heaptape diff --strict`, and by how much their figures differ.

Each repeat replays a tape anew on all allocators, and its report is compared with that of the repeat before it, or
with those of the last N. Tapes named `... anew` are recorded anew for each repeat, too: then it is the program that
must do the same twice. The table has the comparisons that passed, the gates that failed, and of the gates that allow
a change in percent the one that came closest to its limit.

usage: equal_runs.py HEAPTAPE [--repeats N] [--bases N] [--allocators A,B] [--tapes NAME,NAME] [--keep FOLDER]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOCATORS = ["glibc", "jemalloc", "mimalloc", "tcmalloc", "model:ptmalloc", "model:slabs", "model:runs"]
QUESTIONS = ["redis", "python", "threads"]
SCENARIO = "fleet-like"  # four threads
PYTHON = """
import collections, json, re
records = [{"id": i, "name": "user%d" % i, "tags": ["a%d" % (i % 7)]} for i in range(3000)]
assert len(json.loads(json.dumps(records))) == 3000
collections.Counter(re.findall("[a-z]+[0-9]", json.dumps(records)))
"""
CXX = '#include <map>\n#include <regex>\nint main() { return std::regex_match("", std::regex("a+")); }\n'
# The command, and the name of the program in it whose tape is replayed. Four threads sort.
PROGRAMS = {
    "python3 anew": (["/usr/bin/python3", "-c", PYTHON], "python3"),
    "g++ anew": (["g++", "-O1", "-c", "source.cc", "-o", "source.o"], "cc1plus"),
    "sort anew": (["sort", "--parallel=4", "--buffer-size=1M", "words"], "sort"),
}


class Heaptape:
    def __init__(self, path, folder):
        self.path = str(Path(path).resolve())
        self.folder = Path(folder)
        (self.folder / "source.cc").write_text(CXX)
        (self.folder / "words").write_text("".join(f"{i * 7919 % 100003} word\n" for i in range(100000)))

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
        command, program = PROGRAMS[name]
        self.run("record", "--force", "-o", "anew.tape", "--", *command, env={**os.environ, "PYTHONMALLOC": "malloc"})
        processes = json.loads((self.folder / "anew.tape.manifest.json").read_text())["processes"]
        [tape] = [process["tape"] for process in processes if Path(process["executable"]).name.startswith(program)]
        return tape


def reports(heaptape, name, options):
    """The path of each repeat's report."""
    allocators = [word for allocator in options.allocators.split(",") for word in ("-a", allocator)]
    tape = heaptape.tape(name)
    for number in range(options.repeats + options.bases):
        if name in PROGRAMS and number > 0:
            tape = heaptape.tape(name)
        report = heaptape.folder / f"{name.replace(' ', '-')}-{number}.json"
        heaptape.run("replay", tape, *allocators, "-o", report)
        yield report


def outcomes(heaptape, name, options):
    """{allocator: [the gates of each comparison]}"""
    found = defaultdict(list)
    known = []
    for report in reports(heaptape, name, options):
        if len(known) == options.bases:
            diff = json.loads(heaptape.run("diff", *known, report, "--strict", "--format", "json", may_end=(0, 1)))
            gates = defaultdict(list)
            for gate in diff["gates"]:
                gates[gate["run"]].append(gate)
            for allocator, of_run in gates.items():
                found[allocator].append(of_run)
            known.pop(0)
        known.append(report)
    return found


def closest(gates):
    """"peak.residentBytes +3.5%, 40% of what is allowed": of increases, that which is nearest to its limit."""
    nearest, text = 0, "none"
    for gate in gates:
        if "%" not in gate["expression"] or gate["limit"] is None or gate["new"] is None:
            continue
        base, now, limit = (float(gate[name]) for name in ("base", "new", "limit"))
        part = (now - base) / (limit - base) if limit > base else 0
        if part > nearest:
            change = f"{(now - base) / base:+.2%}" if base else f"{now:+,.0f}"
            nearest, text = part, f"`{gate['expression'].split()[0]}` {change}, {part:.0%} of what is allowed"
    return text


def main():
    parser = argparse.ArgumentParser(prog="./dev bench gates")
    parser.add_argument("heaptape")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--bases", type=int, default=1, help="reports that each is compared with")
    parser.add_argument("--allocators", default=",".join(ALLOCATORS))
    parser.add_argument("--tapes", default=",".join([*QUESTIONS, SCENARIO, *PROGRAMS]))
    parser.add_argument("--keep", type=Path, help="an existing folder for the reports")
    options = parser.parse_args()
    print("| tape | allocator | passed | gates that failed | nearest to its limit |\n|---|---|---:|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="heaptape-bench-") as temporary:
        heaptape = Heaptape(options.heaptape, options.keep or temporary)
        for name in options.tapes.split(","):
            for allocator, comparisons in outcomes(heaptape, name, options).items():
                failed = Counter(gate["expression"] for gates in comparisons for gate in gates
                                 if gate["state"] == "failed")
                passed = sum(all(gate["state"] != "failed" for gate in gates) for gates in comparisons)
                what = ", ".join(f"`{gate}` {count}" for gate, count in failed.most_common()) or "none"
                print(f"| {name} | {allocator} | {passed} of {len(comparisons)} | {what} | "
                      f"{closest(gate for gates in comparisons for gate in gates)} |", flush=True)


if __name__ == "__main__":
    main()
