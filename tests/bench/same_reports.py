#!/usr/bin/env python3
"""Whether two builds of heaptape say the same of the same tapes: before and after work on speed.

    tests/bench/same_reports.py OLD NEW [TAPE...]

OLD and NEW are heaptape programs. Without tapes: those of docs/questions, the published cases, and a
compiler and a Python program that OLD records. Every allocator that both builds have replays each,
with the options below; reports must be the same, times aside, but for what two replays by OLD do not
agree on. Prints what differs, and ends with 1 if anything does.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = [
    ["fill"], ["random-slots"], ["resize"], ["manifest-patching"], ["sliver-pin"],
    ["mmap-threshold"], ["cvs-pagealign", "bytes=16MiB"], ["openbsd-cvs"], ["pagealign-bench"],
    ["lmdb-synthetic", "ids=100k"], ["lmdb-dust-bricks", "dust=200k", "bricks=2k"],
    ["ring-mix"], ["fleet-like"], ["fleet-like", "events=300k", "live=100k", "threads=1"],
]
OPTIONS = [[], ["--samples", "40", "--touch", "none", "--do", "trim@end"]]
SECONDS = 300
# Those that take hours, or terabytes, on some of the cases.
SKIPPED = {"model:lmdb", "model:pagealign-list", "model:pagealign-hash"}
TIMES = {"time", "latency", "elapsedNs"}


def run(words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=SECONDS, **options)


def make_tapes(heaptape, folder):
    tapes = sorted((ROOT / "docs/questions").glob("*.tape"))
    for number, (name, *sets) in enumerate(SCENARIOS):
        tape = folder / f"{number}-{name}.tape"
        words = [heaptape, "scenario", name, "-o", tape]
        for one in sets:
            words += ["--set", one]
        run(words).check_returncode()
        tapes.append(tape)
    programs = {
        "json": ["/usr/bin/python3", "-c", "import json; json.loads(json.dumps(list(range(90000))))"],
        "cc": ["g++", "-O1", "-I", ROOT, "-std=c++20", "-S", ROOT / "base/number_text.cc",
               "-o", folder / "out.s"],
    }
    for name, words in programs.items():
        run([heaptape, "record", "-o", folder / f"{name}.tape", "--", *words],
            env={**os.environ, "PYTHONMALLOC": "malloc"}).check_returncode()
    recorded = [tape for name in programs for tape in folder.glob(f"{name}*.tape")]
    return tapes + [max((t for t in recorded if t.name.startswith(name)), key=os.path.getsize)
                    for name in programs]


def allocators(heaptape):
    lines = run([heaptape, "allocators"]).stdout.splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    return [name for name in names if not name.endswith(":PATH") and name not in SKIPPED]


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(part) for name, part in value.items() if name not in TIMES}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def report_of(heaptape, tape, allocator, options, path):
    path.unlink(missing_ok=True)
    done = run([heaptape, "replay", tape, "-a", allocator, "-o", path, *options])
    if not path.exists():
        return {"status": done.returncode, "error": done.stderr}
    return without_times(json.loads(path.read_text()))


def figures(value, place=""):
    """Each number and text of a report, by its place in it."""
    if isinstance(value, dict):
        parts = [(f"{place}.{name}", part) for name, part in value.items()]
    elif isinstance(value, list):
        parts = [(f"{place}[{i}]", part) for i, part in enumerate(value)]
    else:
        return {place: value}
    return {key: text for where, part in parts for key, text in figures(part, where).items()}


def differences(before, after):
    before, after = figures(before), figures(after)
    return {place for place in before.keys() | after.keys()
            if before.get(place) != after.get(place)}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, new, *tapes = sys.argv[1:]
    count = different = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tapes = tapes or make_tapes(old, folder)
        shared = [name for name in allocators(old) if name in allocators(new)]
        for tape in tapes:
            for allocator in shared:
                for options in OPTIONS:
                    report = functools.partial(report_of, tape=tape, allocator=allocator, options=options,
                                               path=folder / "report")
                    before = report(old)
                    count += 1
                    found = differences(before, report(new))
                    # mimalloc begins at a random address.
                    found -= differences(before, report(old)) if found else set()
                    if not found:
                        continue
                    different += 1
                    print(f"{tape} on {allocator} {' '.join(options)}: {sorted(found)[:4]}",
                          flush=True)
    print(f"{count} reports of {len(tapes)} tapes on {len(shared)} allocators: "
          f"{different} differ")
    sys.exit(different != 0)


if __name__ == "__main__":
    main()
