"""`./dev mutate`: plants mistakes in the product, and shows which of them no test notices; README.md.

usage: python3 -m tests.mutate DIRECTORY LLVM WERROR ARGUMENT..., in the root of the repository, with the preset
`coverage` built by clang-LLVM; DIRECTORY is where the user is, WERROR the value of HEAPTAPE_WERROR
"""

import contextlib
import math
import multiprocessing
import os
import pathlib
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from itertools import islice

from tests.soak import processes

from . import scope as scopes
from .count_lines import SLOWEST_SECONDS, Counted, count_lines
from .line_map import Coverage, LineMap
from .mistake import Mistake, in_order
from .scope import Scope
from .suites import Suite, list_suites, run_suite
from .tree import Tree, Usual, Verdict

HOME = pathlib.Path("build/mutate")
PAGE = "build/release/replayer/report/html/page_parts.cc"  # which is made of the scripts
VENV = pathlib.Path("build/python/venv").absolute()
# An interrupted search for lines loses what it found in so much time at most.
WRITE_SECONDS = 30
# The usual time of the suites that are run for one mistake at most; all are for a mistake that somebody wrote down.
BUDGET_SECONDS = 120

_tree: Tree | None = None  # that of a worker process


def start_worker(roots: "multiprocessing.Queue[pathlib.Path]") -> None:
    global _tree
    processes.become_subreaper()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tree = Tree(roots.get(), VENV)
    _tree.find_suites()


@contextlib.contextmanager
def interruptible() -> Iterator[Tree]:
    """The tree of this worker process, which Ctrl-C interrupts meanwhile."""
    assert _tree is not None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield _tree
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def try_mistake(mistake: Mistake, text: str, sources: list[str], usual: list[Usual], budget_seconds: float) -> Verdict:
    with interruptible() as tree:
        return tree.try_mistake(mistake, text, sources, usual, budget_seconds)


def run_without_mistake(suite: Suite, counted: Counted) -> Coverage:
    """The result and the time are those of the tree; lines are counted elsewhere."""
    with interruptible() as tree:
        ended = run_suite(tree.suites[suite.name], SLOWEST_SECONDS, {})
        lines = count_lines(suite, counted) if ended.passed else {}
        return Coverage(round(ended.seconds, 3), ended.passed, lines)


def say(text: str) -> None:
    print(text, flush=True)


def read_texts(paths: Iterable[str]) -> dict[str, str]:
    return {path: pathlib.Path(path).read_text() for path in paths}


class Mutate:
    def __init__(self, scope: Scope, llvm: str, options: tuple[str, ...]) -> None:
        self.scope, self.llvm, self.options = scope, llvm, options
        self.texts = read_texts(scopes.product_files())
        tests = scopes.git("ls-files", "--cached", "--others", "--exclude-standard", "--", "tests").splitlines()
        self.tests = read_texts(path for path in tests if path.endswith(("_test.cc", "_test.py")) and os.path.exists(path))
        self.users = scopes.header_users({**self.texts, **{p: t for p, t in self.tests.items() if p.endswith(".cc")}})
        self.trees = [Tree((HOME / str(i)).absolute(), VENV) for i in range(os.cpu_count() or 1)]
        self.map_file = HOME / "lines.json"
        self.map = LineMap.read(self.map_file)

    def run(self) -> int:
        for tree in self.trees:
            self.prepare(tree)
        roots: multiprocessing.Queue[pathlib.Path] = multiprocessing.Queue()
        for tree in self.trees:
            roots.put(tree.root)
        with ProcessPoolExecutor(len(self.trees), initializer=start_worker, initargs=(roots,)) as pool:
            try:
                self.renew_map(pool)
                return self.plant(pool)
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def prepare(self, tree: Tree) -> None:
        say(f"\n==> building {tree.root.relative_to(os.getcwd())}")
        files = scopes.git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        tree.sync(pathlib.Path.cwd(), files)
        tree.add_built_files()
        tree.configure(self.options)
        if not tree.make((), len(self.trees), quiet=False):
            sys.exit("dev: mutate: the product without a mistake does not compile")

    def renew_map(self, pool: ProcessPoolExecutor) -> None:
        build = pathlib.Path("build/coverage").absolute()
        counted = Counted(pathlib.Path.cwd(), build, self.llvm)
        self.trees[0].find_suites()
        usable = self.trees[0].suites
        suites = {name: suite for name, suite in list_suites(build).items() if name in usable}
        suites.update((name, suite) for name, suite in usable.items() if name.startswith("python."))
        scope = {path: self.texts[path] for path in self.scope.lines}
        stale = self.map.stale(suites, scope, self.tests)
        self.map.begin_runs(stale, suites.keys(), {**scope, **self.tests}, self.texts)
        if stale:
            say(f"\n==> finding the lines that {len(stale)} of {len(suites)} suites run")
        waiting = {pool.submit(run_without_mistake, suites[name], counted): name for name in sorted(stale)}
        written = time.monotonic()
        for future in as_completed(waiting):
            self.map.suites[waiting[future]] = future.result()
            if time.monotonic() - written > WRITE_SECONDS:
                self.map.write(self.map_file)
                written = time.monotonic()
        self.map.write(self.map_file)
        failing = sorted(name for name, one in self.map.suites.items() if not one.passed)
        if failing:
            say(f"These suites fail without a mistake and are not used: {', '.join(failing)}")

    def plant(self, pool: ProcessPoolExecutor) -> int:
        order = iter(self.scope.listed)
        which = "those listed"
        if not self.scope.listed:
            order = in_order(scopes.possible_mistakes(self.scope, self.texts, self.users), self.scope.seed)
            which = f"seed {self.scope.seed}"
        begin = time.monotonic()
        say(f"\n==> planting {self.scope.count} mistakes, {which}")
        found: list[tuple[Mistake, Verdict]] = []
        void: Counter[str] = Counter()
        for mistake, verdict in self.try_all(pool, order):
            if verdict.state in ("noticed", "unnoticed"):
                found.append((mistake, verdict))
                say(self.line_on(len(found), mistake, verdict))
            else:
                void[verdict.state] += 1
            if len(found) == self.scope.count:
                break
        pool.shutdown(cancel_futures=True)
        self.report(found, void, time.monotonic() - begin)
        return 0

    def try_all(self, pool: ProcessPoolExecutor, order: Iterator[Mistake]) -> Iterator[tuple[Mistake, Verdict]]:
        """In order, whichever ends first, so that the first N that count are the same each time."""
        running: list[tuple[Mistake, Future[Verdict]]] = []
        while True:
            for mistake in islice(order, 2 * len(self.trees) - len(running)):
                running.append((mistake, pool.submit(try_mistake, mistake, *self.work_on(mistake))))
            if not running:
                return
            mistake, future = running.pop(0)
            yield mistake, future.result()

    def work_on(self, mistake: Mistake) -> tuple[str, list[str], list[Usual], float]:
        path = mistake.path
        users = sorted(user for user in self.users.get(path, ()) if user in self.texts)
        sources = {".h": users, ".js": [PAGE]}.get(pathlib.Path(path).suffix, [path])
        suites = self.map.covering(path, mistake.line)
        usual = [Usual(name, self.map.suites[name].seconds) for name in suites]
        return self.texts[path], sources, usual, math.inf if self.scope.listed else BUDGET_SECONDS

    def line_on(self, number: int, mistake: Mistake, verdict: Verdict) -> str:
        place = f"{number:4} {verdict.state:9} {mistake.path}:{mistake.line}"
        times = f"built in {verdict.build_seconds:.0f} s, tested in {verdict.test_seconds:.0f} s"
        return f"{place}  {verdict.by or 'by no suite'}, {times}"

    def report(self, found: list[tuple[Mistake, Verdict]], void: Mapping[str, int], seconds: float) -> None:
        missed = [(mistake, verdict) for mistake, verdict in found if verdict.state == "unnoticed"]
        if missed:
            say("\nNo test noticed:")
        for mistake, verdict in missed:
            say(f"{mistake.path}:{mistake.line} ({mistake.kind}): {mistake.diff(self.texts[mistake.path])}")
            if verdict.suites_left_out:
                say(f"    {verdict.suites_left_out} slow suites that run this line were left out")
        noticed = len(found) - len(missed)
        share = f", {100 * noticed / len(found):.0f} %" if found else ""
        say(f"\n{noticed} of {len(found)} mistakes noticed{share}, in {seconds / 60:.1f} minutes")
        say(f"Not counted: {void['not compiled']} that do not compile, {void['equivalent']} that compile to the same code")
        if void["not built"]:
            say(f"Nor {void['not built']} in files that are not built here")


def main(below: str, llvm: str, warnings_are_errors: str, words: list[str]) -> int:
    try:
        scope = scopes.parse(words, below)
        return Mutate(scope, llvm, (f"-DHEAPTAPE_WERROR={warnings_are_errors}",)).run()
    except scopes.WrongUse as wrong:
        sys.exit(f"dev: mutate: {wrong}")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
