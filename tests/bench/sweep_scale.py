"""Sweeps of many small tapes under kills, and what a cell costs beyond its replay.

usage: sweep_scale.py HEAPTAPE [TAPES | many], in an environment with heaptape[sweep]

A sweep whose workers and whose driver are killed is resumed, and one on two nodes loses one of them.
Every figure is compared with those of bare replays. `many`: what the driver of 10,000 tapes on 20
candidates has to do beside them, with results that are made up.
"""

import contextlib
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))

from processes import descendants, is_alive, replaying, until

import heaptape
from heaptape.run_figures import figures
from heaptape.sweep import resume
from heaptape.sweep.cache import Cache, Stored
from heaptape.sweep.candidates import Program
from heaptape.sweep.cells import Candidate, SweptTape
from heaptape.sweep.plan import Plan
from heaptape.sweep.results import read_terms, write_results
from heaptape.sweep.slim import slim
from heaptape.sweep.swept import Cells, places_of

SPECS = ("glibc", "jemalloc", "mimalloc", "tcmalloc", "model:ptmalloc", "model:ideal")
QUESTION = pathlib.Path(__file__).parents[2] / "docs" / "questions" / "growth.tape"
WORKERS_KILLED = 12
SEED = 14


def scenarios(count):
    """Name and parameters of each tape; the n-th of a kind differs from all others of it."""
    kinds = (
        lambda n: (
            "random-slots",
            {"events": 20000 + 2000 * n, "max": 200 + 40 * n, "seed": n + 1},
        ),
        lambda n: ("fleet-like", {"events": 30000, "threads": 1 + n % 6, "seed": n + 1}),
        lambda n: ("clone-like", {"events": 30000 + 1000 * n, "seed": n + 1}),
        lambda n: ("ring-mix", {"count": 3 + n, "from": 65536, "step": 4096, "rounds": 20}),
        lambda n: ("mmap-threshold", {"from": 100000 + 1000 * n, "to": 2000000, "step": 100000}),
        lambda n: ("manifest-patching", {"manifests": 30, "length": 200000, "seed": n + 1}),
        lambda n: ("fill", {"count": 10000 + 500 * n, "size": 16 + 24 * n, "free": "on"}),
        lambda n: ("resize", {"from": 100000, "to": 200000 + 1000 * n, "step": 90}),
    )
    return [kinds[i % len(kinds)](i // len(kinds)) for i in range(count)]


def make_tapes(program, folder, count):
    for i, (name, parameters) in enumerate(scenarios(count)):
        path = folder / f"scenario={name}" / f"{i:03}.tape"
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = [
            word for item in parameters.items() for word in ("--set", "{}={}".format(*item))
        ]
        command = [program, "scenario", name, *settings, "-o", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.rglob("*.tape"))


def figures_of(run):
    """But for the one that the kernel has a word in."""
    found = figures(run)
    found["mean.residentBytes"] = found["mean.residentBytes"] and round(found["mean.residentBytes"])
    found.pop("counters.pageFaults", None)
    return found


def bare_replays(program, tapes):
    """The figures of all cells, and the seconds that their replays took, one after another."""
    cells, seconds = {}, 0.0
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        for tape in tapes:
            for spec in SPECS:
                command = [program, "replay", tape, "-a", spec, "-o", report, "--jobs", "2"]
                before = time.monotonic()
                subprocess.run(command, check=True, capture_output=True)
                seconds += time.monotonic() - before
                run = heaptape.Report(report).json["runs"][0]
                cells[str(tape), spec] = figures_of(run)
    return cells, seconds


def command(*words):
    program = "import sys; from heaptape.sweep.command import main; sys.exit(main())"
    return [sys.executable, "-c", program, *map(str, words)]


def words_of(folder, output):
    return [folder, *(word for spec in SPECS for word in ("-a", spec)), "-o", output]


@contextlib.contextmanager
def start_sweep(*words):
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen(command(*words), stdout=nowhere)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def seconds_of(*words):
    before = time.monotonic()
    subprocess.run(command(*words), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - before


def count_finished(output):
    return len(list(output.rglob("*.space.gz")))


def kill_workers(process, output, total, count, until_share):
    """Kills one that replays, again and again; the number of those killed."""
    killed, choice = 0, random.Random(SEED)
    while count_finished(output) < total * until_share and process.poll() is None:
        workers = replaying(process.pid)
        share = count_finished(output) / total / until_share
        if workers and killed < count * share:
            with contextlib.suppress(ProcessLookupError):
                os.kill(choice.choice(workers), signal.SIGKILL)
                killed += 1
        time.sleep(0.02)
    return killed


def compare(output, bare):
    """Cells that differ from bare replays. Nothing may be left to replay."""
    cells = resume(output).cells
    different = [
        cell
        for cell in cells
        if cell.run is None
        or not cell.cached
        or figures_of(cell.run) != bare[cell.tape.uri, cell.candidate.spec]
    ]
    for cell in different[:5]:
        print(f"  {cell.tape.name} on {cell.candidate.label} differs: {cell.error}")
    return f"{len(cells):,} cells, {len(different)} differ from bare replays"


def under_kills(folder, output, bare):
    total = len(bare)
    with start_sweep(*words_of(folder, output)) as process:
        workers = kill_workers(process, output, total, WORKERS_KILLED // 2, 0.5)
        processes = descendants(process.pid)
        process.kill()
        before = time.monotonic()
        until(lambda: not any(map(is_alive, processes)), seconds=120)
        gone = time.monotonic() - before
    kept = count_finished(output)
    print(f"driver killed with SIGKILL: {kept:,} of {total:,} cells kept, no process left")
    print(f"  after {gone:.0f} s (the last are two agents of Ray, which wait for a minute)")
    with start_sweep("--resume", "-o", output) as process:
        workers += kill_workers(process, output, total, WORKERS_KILLED // 2, 1.0)
        status = process.wait()
    print(f"resumed, exit {status}, {workers} workers killed on the way: {compare(output, bare)}")


def on_two_nodes(folder, output, bare):
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    try:
        with start_sweep(*words_of(folder, output), "--address", cluster.address) as process:
            until(lambda: count_finished(output) > len(bare) / 3, seconds=600)
            cluster.remove_node(nodes[0], allow_graceful=False)
            kept = count_finished(output)
            status = process.wait()
    finally:
        cluster.shutdown()
    print(f"two nodes, one killed after {kept:,} cells, exit {status}: {compare(output, bare)}")


def many_cells(tape_count=10_000, candidate_count=20):
    """The cache of one real result under as many keys, read twice and written as results."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        report = heaptape.replay(QUESTION, ["model:ideal"], output=path, options=["--jobs", "2"])
        stored = Stored(slim(report.json["runs"][0], path), 0.1)
    facts = heaptape.Tape(QUESTION).facts
    engine = Program("0", ("0", "0"))
    candidates = [Candidate(f"candidate {i}", f"model:{i}") for i in range(candidate_count)]
    tapes = [SweptTape(f"{i}", f"/{i}", f"{i}", facts, {}) for i in range(tape_count)]
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(tapes=(), specs=())
        cache = Cache(os.path.join(folder, "cache"))
        places = places_of(tapes, candidates, engine, plan)
        print(f"{len(places):,} cells")
        said = Stopwatch()
        for place in places:
            cache.keep(place.key, plan.options, "", stored)
        said("to keep the results")
        cells = Cells(places, lambda key: cache.find(key, plan.options, ()))
        found = sum(cell.run is not None for cell in cells)
        said(f"to find {found:,} of them")
        terms = read_terms([], labels=[one.label for one in candidates])
        write_results(folder, cells, engine=engine.json, terms=terms)
        said("to write the results")
        size = sum(path.stat().st_blocks * 512 for path in pathlib.Path(folder).rglob("*.gz"))
        print(f"{size / 1e9:.2f} GB of cache")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB of memory at most")


class Stopwatch:
    def __init__(self):
        self.before = time.monotonic()

    def __call__(self, text):
        now = time.monotonic()
        print(f"{now - self.before:6.1f} s {text}", flush=True)
        self.before = time.monotonic()


def beyond(whole, part, cells):
    return f"{(whole - part) / cells * 1e3:.1f} ms"


def main():
    program, count = sys.argv[1], (sys.argv[2:] or ["208"])[0]
    os.environ["HEAPTAPE"] = program
    if count == "many":
        return many_cells()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tapes = make_tapes(program, root / "tapes", int(count))
        size = sum(tape.stat().st_size for tape in tapes) / len(tapes) / 1000
        events = sum(heaptape.Tape(tape).facts["events"] for tape in tapes) / len(tapes)
        print(f"{len(tapes)} tapes of {size:.0f} kB and {events:,.0f} events on average")
        bare, bare_seconds = bare_replays(program, tapes)
        cells = len(bare)
        print(f"bare replays, one after another: {bare_seconds:.1f} s, ", end="")
        print(f"{bare_seconds / cells * 1e3:.1f} ms a cell")
        one = seconds_of(*words_of(root / "tapes", root / "one"), "--jobs", 1)
        replays = sum(cell.seconds for cell in resume(root / "one").cells)
        print(f"sweep with --jobs 1: {one:.1f} s; for each cell {beyond(one, bare_seconds, cells)}")
        print(f"  beyond bare replays, {beyond(one, replays, cells)} beyond the replays in it")
        print(f"  {compare(root / 'one', bare)}")
        again = seconds_of(*words_of(root / "tapes", root / "one"))
        print(f"second sweep, all cached: {again:.1f} s, {again / cells * 1e3:.2f} ms a cell")
        under_kills(root / "tapes", root / "kills", bare)
        on_two_nodes(root / "tapes", root / "nodes", bare)


if __name__ == "__main__":
    main()
