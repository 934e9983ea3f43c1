#!/usr/bin/env python3
"""Prints the table of docs/scenarios/manifest-patching.md: manifest_table.py HEAPTAPE [K=V...]"""

import json
import pathlib
import subprocess
import sys
import tempfile

ALLOCATORS = {
    "glibc": "model:ptmalloc",
    "no thread caches": "model:ptmalloc:tcache_count=0",
    "fixed threshold": "model:ptmalloc:mmap_threshold=131072",
    "runs, resident": "model:runs",
}


def replay(heaptape, folder, sets):
    """The report's runs, by label."""
    tape = folder / "manifests.tape"
    report = folder / "report.json"
    words = [heaptape, "scenario", "manifest-patching", "-o", tape]
    for value in sets:
        words += ["--set", value]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    words = [heaptape, "replay", tape, "-o", report]
    for label, spec in enumerate(ALLOCATORS.values()):
        words += ["-a", f"{label}={spec}"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text())["runs"]


def megabytes(text):
    return f"{int(text) / 1e6:.1f}"


def cell(label, run):
    end, peak = run["end"], run["peak"]
    if label.endswith("resident"):
        return megabytes(end["residentBytes"]) + " / " + megabytes(peak["residentBytes"]["value"])
    sizes = megabytes(end["committedBytes"]) + " / " + megabytes(peak["committedBytes"]["value"])
    return f"{sizes} ({peak['holes']['over1MiB']})"


def main():
    heaptape, *sets = sys.argv[1:]
    print("| variant | pins |", " | ".join(ALLOCATORS), "|")
    print("|---|---|" + "---:|" * len(ALLOCATORS))
    with tempfile.TemporaryDirectory() as folder:
        for variant in ("str", "bytearray", "join", "prealloc"):
            for pins in ("on", "off"):
                values = [*sets, f"variant={variant}", f"pins={pins}"]
                runs = replay(heaptape, pathlib.Path(folder), values)
                cells = [cell(label, run) for label, run in zip(ALLOCATORS, runs)]
                print(f"| {variant} | {pins} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
