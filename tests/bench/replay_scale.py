#!/usr/bin/env python3
"""How the cost of a replay grows with calls, and with live blocks: tables and charts for
docs/benchmarks.md. `./dev bench scale` runs it; `./dev bench scale 1G` goes up to that many calls,
and needs 12 bytes of disk for each. `./dev bench scale clone` replays 2.34 billion calls instead.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"
HEAPTAPE = BUILD / "bin/heaptape"
COLUMNS = ["floor", "stats", "glibc", "recorded", "model:ptmalloc"]
CALLS = {"1M": 10**6, "10M": 10**7, "100M": 10**8, "1G": 10**9}
LIVE = ["10k", "100k", "1M", "10M"]
CALLS_PER_LIVE_BLOCK = 4
CLONE_ALLOCATORS = ["glibc", "model:ptmalloc"]


def timed(words):
    """Seconds that a command takes, and the most memory of its first process, in MiB."""
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
    mib = 0
    while process.poll() is None:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        if most := re.search(r"VmHWM:\s*(\d+)", status):
            mib = int(most[1]) / 1024
        time.sleep(0.05)
    if process.returncode != 0:
        raise SystemExit(f"{words[0]} ended with {process.returncode}")
    return time.monotonic() - begin, mib


def measure(tape, repetitions):
    """Nanoseconds for each call by column, and the most memory that a replay takes, in MiB."""
    wanted = "|".join(COLUMNS)
    words = [BUILD / "bench/replay_bench", f"--benchmark_filter=^given/({wanted})/iter",
             f"--benchmark_repetitions={repetitions}", "--benchmark_format=json"]
    out = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True,
                         env={**os.environ, "HEAPTAPE_BENCH_TAPE": str(tape)}).stdout
    results = {name: [] for name in COLUMNS}
    for result in json.loads(out)["benchmarks"]:
        if result["run_type"] == "iteration":
            results[result["run_name"].split("/")[1]].append(result["ns_per_event"])
    _, mib = timed([HEAPTAPE, "replay", tape, "-a", "glibc", "--touch", "none"])
    return [statistics.median(results[name]) for name in COLUMNS], mib


def table(title, rows):
    """Rows of (label, nanoseconds, MiB) as a table and a chart."""
    print(f"| {title} | {' | '.join(COLUMNS)} | heaptape, MiB |")
    print("|---:|" + "---:|" * (len(COLUMNS) + 1))
    for label, ns, mib in rows:
        print(f"| {label} | {' | '.join(f'{value:.1f}' for value in ns)} | {mib:.0f} |")
    print("\n```mermaid\nxychart-beta")
    print(f'    title "ns a call: floor, then {", ".join(COLUMNS[1:])}"')
    print(f"    x-axis \"{title}\" [{', '.join(label for label, _, _ in rows)}]")
    print('    y-axis "ns"')
    for i in range(len(COLUMNS)):
        print(f"    line [{', '.join(f'{ns[i]:.1f}' for _, ns, _ in rows)}]")
    print("```\n", flush=True)


def measured(folder, label, events, live):
    tape = folder / "scale.tape"
    write_scenario(tape, "fleet-like", events=events, live=live)
    ns, mib = measure(tape, 5 if events <= 10**7 else 3 if events <= 10**8 else 1)
    print(f"{label}: {[round(value, 1) for value in ns]} ns", file=sys.stderr, flush=True)
    return label, ns, mib


def write_scenario(tape, name, **values):
    sets = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    subprocess.run([str(HEAPTAPE), "scenario", name, *sets, "-o", str(tape)], check=True,
                   capture_output=True)


def clone(folder):
    """2.34 billion calls that leave millions of blocks, as whole commands."""
    tape = folder / "clone.tape"
    write_scenario(tape, "clone-like", events="2340M")
    for allocator in CLONE_ALLOCATORS:
        report = folder / "report.json"
        words = [HEAPTAPE, "replay", tape, "-a", allocator, "--touch", "none", "--samples", "1000",
                 "-o", report]
        took, mib = timed(words)
        given = json.loads(report.read_text())
        events = given["tape"]["events"]
        if allocator == CLONE_ALLOCATORS[0]:
            print(f"{events:,} calls, {tape.stat().st_size / events:.3f} bytes each\n")
            print("| allocator | time | ns a call | heaptape, MiB | live blocks at most |")
            print("|---|---:|---:|---:|---:|")
        print(f"| {allocator} | {took:.0f} s | {took / events * 1e9:.1f} "
              f"| {mib:.0f} | {given['runs'][0]['peak']['liveCount']['value']:,} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("most", nargs="?", choices=[*CALLS, "clone"], default="100M", help="calls")
    given = parser.parse_args().most
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = pathlib.Path(name)
        if given == "clone":
            return clone(folder)
        most = CALLS[given]
        table("calls, of `fleet-like` with 20,000 live blocks",
              [measured(folder, label, events, "20k") for label, events in CALLS.items()
               if events <= most])
        units = {"k": 10**3, "M": 10**6}
        table("live blocks, `fleet-like`",
              [measured(folder, live, max(10**7, CALLS_PER_LIVE_BLOCK * int(live[:-1]) *
                                          units[live[-1]]), live) for live in LIVE])


if __name__ == "__main__":
    main()
