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
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"
HEAPTAPE = BUILD / "bin/heaptape"
COLUMNS = ["floor", "stats", "glibc", "recorded", "model:ptmalloc"]
CALLS = {"1M": 10**6, "10M": 10**7, "100M": 10**8, "1G": 10**9}
LIVE = ["10k", "100k", "1M", "10M", "27M"]  # fleet-like only gets there after 30 calls a block
CALLS_PER_LIVE_BLOCK = 4
CLONE_ALLOCATORS = ["glibc", "model:ptmalloc"]


def time_command(words):
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


def replay(tape, report, *options):
    """Seconds, MiB and the report of a replay."""
    took, mib = time_command([HEAPTAPE, "replay", tape, "--touch", "none", "-o", report, *options])
    return took, mib, json.loads(report.read_text())


def most_live(report):
    return report["runs"][0]["peak"]["liveCount"]["value"]


def measure(tape, repetitions):
    """Nanoseconds for each call by column, the MiB that a replay takes, and the most live blocks."""
    wanted = "|".join(COLUMNS)
    words = [BUILD / "bench/replay_bench", f"--benchmark_filter=^given/({wanted})/iter",
             f"--benchmark_repetitions={repetitions}", "--benchmark_format=json"]
    out = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True,
                         env={**os.environ, "HEAPTAPE_BENCH_TAPE": str(tape)}).stdout
    results = {}  # a run that is not repeated has no median
    for result in json.loads(out)["benchmarks"]:
        if result.get("aggregate_name", "median") == "median":
            results[result["run_name"].split("/")[1]] = result["ns_per_event"]
    _, mib, report = replay(tape, tape.with_suffix(".json"), "-a", "glibc")
    return [results[name] for name in COLUMNS], mib, most_live(report)


def table(title, rows):
    """Rows of (label, nanoseconds, MiB, blocks) as a table and a chart."""
    print(f"| {title} | {' | '.join(COLUMNS)} | heaptape, MiB | most live blocks |")
    print("|---:|" + "---:|" * (len(COLUMNS) + 2))
    for label, ns, mib, live in rows:
        values = " | ".join(f"{value:.1f}" for value in ns)
        print(f"| {label} | {values} | {mib:.0f} | {live:,} |")
    print("\n```mermaid\nxychart-beta")
    print(f'    title "ns a call: floor, then {", ".join(COLUMNS[1:])}"')
    print(f"    x-axis \"{title}\" [{', '.join(label for label, *_ in rows)}]")
    print('    y-axis "ns"')
    for i in range(len(COLUMNS)):
        print(f"    line [{', '.join(f'{ns[i]:.1f}' for _, ns, *_ in rows)}]")
    print("```\n", flush=True)


def measure_row(folder, label, events, live):
    tape = folder / "scale.tape"
    write_scenario(tape, "fleet-like", events=events, live=live)
    ns, mib, most = measure(tape, 5 if events <= 10**7 else 3 if events <= 10**8 else 1)
    print(f"{label}: {[round(value, 1) for value in ns]} ns", file=sys.stderr, flush=True)
    return label, ns, mib, most


def write_scenario(tape, name, **values):
    sets = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    subprocess.run([str(HEAPTAPE), "scenario", name, *sets, "-o", str(tape)], check=True,
                   capture_output=True)


def clone(folder):
    """2.34 billion calls that leave millions of blocks, as whole commands."""
    tape = folder / "clone.tape"
    write_scenario(tape, "clone-like", events="2340M")
    print("| allocator | calls | bytes each | time | ns a call | heaptape, MiB | most live blocks |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for allocator in CLONE_ALLOCATORS:
        took, mib, report = replay(tape, folder / "report.json", "-a", allocator, "--samples",
                                     "1000")
        events = report["tape"]["events"]
        print(f"| {allocator} | {events:,} | {tape.stat().st_size / events:.3f} | {took:.0f} s "
              f"| {took / events * 1e9:.1f} | {mib:.0f} | {most_live(report):,} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("most", nargs="?", choices=[*CALLS, "clone"], default="100M", help="calls")
    wanted = parser.parse_args().most
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = pathlib.Path(name)
        if wanted == "clone":
            return clone(folder)
        most = CALLS[wanted]
        table("calls, of `fleet-like` with 20,000 live blocks",
              [measure_row(folder, label, events, "20k") for label, events in CALLS.items()
               if events <= most])
        units = {"k": 10**3, "M": 10**6}
        table("`live` of `fleet-like`",
              [measure_row(folder, live, max(10**7, CALLS_PER_LIVE_BLOCK * int(live[:-1]) *
                                          units[live[-1]]), live) for live in LIVE])


if __name__ == "__main__":
    main()
