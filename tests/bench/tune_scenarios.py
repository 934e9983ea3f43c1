"""What `heaptape tune` finds, and how long it takes to find it.

usage: tune_scenarios.py HEAPTAPE [--samplers] [--arenas], in an environment with the package heaptape[tune]

Without an option: on each tape the setting with the smallest peak, and what it removes of what the default takes beyond
model:ideal. With --arenas: the trade of arena_max, on the real glibc, threads at the same time. With --samplers: how
what is found depends on who proposes the settings (docs/decisions/0030-tune.md); medians of some seeds.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TRIALS = 96
SEEDS = range(1, 6)
REPEATS = 9
ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = {
    "mmap-threshold": ("mmap-threshold", ""),
    "manifest-patching": ("manifest-patching", ""),
    "fewer-manifests": ("manifest-patching", "manifests=60"),
    "fleet-like": ("fleet-like", "threads=8"),
}


def make_tapes(heaptape, folder):
    tapes = {}
    for name, (scenario, setting) in SCENARIOS.items():
        tapes[name] = str(folder / f"{name}.tape")
        options = ["--set", setting] if setting else []
        command = [heaptape, "scenario", scenario, *options, "-o", tapes[name]]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    tapes["threads"] = str(ROOT / "docs" / "questions" / "threads.tape")
    return tapes


def mib(value):
    return f"{value / 2**20:,.2f}"


def find(tapes, folder):
    from heaptape.tune import tune

    print(
        f"{'tape':19}{'allocator':11}{'default MiB':>12}{'ideal':>8}{'found':>8}{'removed':>9}"
        f"{'time':>9}{'trials':>8}{'s':>7}  setting"
    )
    for name in ("mmap-threshold", "manifest-patching", "threads", "fleet-like"):
        tape = tapes[name]
        for allocator in ("glibc", "jemalloc"):
            start = time.monotonic()
            output = folder / f"{name}-{allocator}"
            result = tune([tape], output, allocator=allocator, trials=TRIALS, repeats=0)
            seconds = time.monotonic() - start
            point, of = result["points"]["smallest"], result["tapes"][0]
            peak = of["default"]["peak"]
            share = point["shareRemoved"]["peak"]
            print(
                f"{name:19}{allocator:11}{mib(peak):>12}{mib(of['ideal']['peak']):>8}"
                f"{mib(peak * (1 + point['change']['peak'])):>8}"
                f"{'-' if share is None else f'{share:.1%}':>9}{point['change']['work']:>+9.1%}"
                f"{len(result['trials']):8}{seconds:7.1f}  {point['line']}"
            )


def arenas(tapes):
    """The default and fewer arenas: peak in the order of the tape, time with threads at the same time."""
    from heaptape.tune.replays import one_replay

    print(f"{'tape':12}{'arena_max':>10}{'peak MiB':>10}{'ns/call':>9}{'least':>8}{'most':>8}")
    for name in ("fleet-like", "threads"):
        specs = ["glibc", *(f"glibc GLIBC_TUNABLES=glibc.malloc.arena_max={n}" for n in (4, 2, 1))]
        peaks = one_replay(tapes[name], specs)
        times = one_replay(tapes[name], specs, ["--threads", "free", "--repeat", str(REPEATS)])
        for spec, peak, run in zip(specs, peaks, times, strict=True):
            print(
                f"{name:12}{spec.rpartition('=')[2] if '=' in spec else 'unset':>10}"
                f"{mib(peak['peak.committedBytes']):>10}{run['time.nsPerEvent']:9.1f}"
                f"{run['time.nsPerEventMin']:8.1f}{run['time.nsPerEventMax']:8.1f}"
            )


def volume(best):
    """Of the cube from nothing to twice the default in all objectives, the share that the front dominates."""
    import numpy
    from optuna._hypervolume import compute_hypervolume

    points = [[min(1.0, value / 2) for value in trial.ratios.values()] for trial in best]
    return compute_hypervolume(numpy.array(points), numpy.ones(3))


def samplers(tapes):
    """Of each: the share of the avoidable peak removed, and the volume that the front dominates."""
    from heaptape.tune.front import front
    from heaptape.tune.journal import Journal
    from heaptape.tune.knobs import space
    from heaptape.tune.proposals import SAMPLERS
    from heaptape.tune.replays import Replays, Trials
    from heaptape.tune.search import Search

    cores = os.cpu_count() or 1
    replays = Replays(cores)
    print(
        f"{'tape':19}{'sampler':12}{'removed':>9}{'worst':>9}{'volume':>8}{'worst':>8}{'front':>7}"
    )
    for name in ("mmap-threshold", "fewer-manifests", "threads"):
        tape = tapes[name]
        ideal = replays.figures([tape], ["model:ideal"])[tape, "model:ideal"]
        for sampler in SAMPLERS:
            shares, volumes, sizes = [], [], []
            for seed in SEEDS:
                trials = Trials(space("glibc", "model"), [tape], replays, cores)
                with tempfile.TemporaryDirectory() as folder:
                    journal = Journal(folder, "{}", resume=False)
                    search = Search(trials, journal.study, seed, sampler=sampler)
                    tried = search.run(TRIALS, lambda room: room, lambda tried: None)
                    journal.close()
                best = front(tried)
                default = tried[0].values[0]["peak"]
                least = min(trial.values[0]["peak"] for trial in best)
                shares.append((default - least) / (default - ideal["peak.committedBytes"]))
                volumes.append(volume(best))
                sizes.append(len(best))
            print(
                f"{name:19}{sampler:12}{statistics.median(shares):9.1%}{min(shares):9.1%}"
                f"{statistics.median(volumes):8.4f}{min(volumes):8.4f}{statistics.median(sizes):7.0f}"
            )


def main():
    os.environ["HEAPTAPE"] = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tapes = make_tapes(os.environ["HEAPTAPE"], folder)
        if "--samplers" in sys.argv:
            samplers(tapes)
        elif "--arenas" in sys.argv:
            arenas(tapes)
        else:
            find(tapes, folder)


if __name__ == "__main__":
    main()
