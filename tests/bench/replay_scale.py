#!/usr/bin/env python3
"""How the cost of a replay grows with calls, and with live blocks: tables and charts for
docs/benchmarks.md. `./dev bench scale` runs it; `./dev bench scale 1G` goes up to that many calls,
and needs 4 bytes of disk for each.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"
COLUMNS = ["floor", "stats", "glibc", "recorded", "model:ptmalloc"]
CALLS = {"1M": 10**6, "10M": 10**7, "100M": 10**8, "1G": 10**9}
LIVE = ["10k", "100k", "1M", "10M"]
CALLS_PER_LIVE_BLOCK = 4


def measure(tape, repetitions):
    """Nanoseconds for each call by column, and the most memory that glibc's replay took, in MiB."""
    wanted = "|".join(COLUMNS)
    words = [BUILD / "bench/replay_bench", f"--benchmark_filter=^given/({wanted})/iter",
             f"--benchmark_repetitions={repetitions}", "--benchmark_format=json"]
    out = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True,
                         env={**os.environ, "HEAPTAPE_BENCH_TAPE": str(tape)}).stdout
    results = {}
    for result in json.loads(out)["benchmarks"]:
        if result.get("aggregate_name") == "median":
            results[result["run_name"].split("/")[1]] = result
    return [results[name]["ns_per_event"] for name in COLUMNS], results["glibc"]["peak_mib"]


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
    subprocess.run([str(BUILD / "bin/heaptape"), "scenario", "fleet-like", "--set",
                    f"events={events}", "--set", f"live={live}", "-o", str(tape)],
                   check=True, capture_output=True)
    ns, mib = measure(tape, 5 if events <= 10**7 else 3 if events <= 10**8 else 1)
    return label, ns, mib


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("most", nargs="?", choices=CALLS, default="100M", help="calls")
    most = CALLS[parser.parse_args().most]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = pathlib.Path(name)
        table("calls, of `fleet-like` with 20,000 live blocks",
              [measured(folder, label, events, "20k") for label, events in CALLS.items()
               if events <= most])
        units = {"k": 10**3, "M": 10**6}
        table("live blocks, `fleet-like`",
              [measured(folder, live, max(10**7, CALLS_PER_LIVE_BLOCK * int(live[:-1]) *
                                          units[live[-1]]), live) for live in LIVE])


if __name__ == "__main__":
    main()
