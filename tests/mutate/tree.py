"""A copy of the checkout in which mistakes are planted, built and tested; the checkout itself is never written to."""

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from .mistake import Mistake
from .suites import Suite, list_python_suites, list_suites, run_suite

# Each library of the product is a shared one, so that only the one with the mistake is linked again, and each source of
# the product is compiled by itself. No build step
# runs a program with a mistake in it. A test may call a library that only the product's own libraries name.
OPTIONS = (
    "-DHEAPTAPE_LIBRARIES=SHARED",
    "-DHEAPTAPE_UNITY=tests",
    "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON",
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--copy-dt-needed-entries",
    "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST",
)
PROGRAMS = ("heaptape", "heaptape_preload", "heaptape_worker")
# A suite that takes longer than this beyond five times its usual time hangs.
PATIENCE_SECONDS = 20


@dataclass(frozen=True)
class Verdict:
    state: str  # "noticed", "unnoticed", "not compiled", "equivalent" or "not built" (without it, either)
    by: str = ""  # the suite
    suites_left_out: int = 0
    build_seconds: float = 0
    test_seconds: float = 0


@dataclass(frozen=True)
class Usual:
    """A suite, and its time without mistakes."""

    name: str
    seconds: float


class Tree:
    """`venv`: the environment with the installed Python package."""

    def __init__(self, root: pathlib.Path, venv: pathlib.Path) -> None:
        self.root, self.build, self._venv = root, root / "build/release", venv
        self.suites: dict[str, Suite] = {}

    def sync(self, checkout: pathlib.Path, files: Iterable[str]) -> None:
        """Writes only what differs, so that nothing else is built again."""
        known = self.root / "build/files.txt"
        wanted = {path for path in files if (checkout / path).is_file()}
        for path in set(known.read_text().splitlines() if known.exists() else ()) - wanted:
            (self.root / path).unlink(missing_ok=True)
        for path in wanted:
            source, copy = checkout / path, self.root / path
            if copy.is_file() and not copy.is_symlink() and copy.read_bytes() == source.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text("\n".join(sorted(wanted)))

    def add_built_files(self) -> None:
        """Those of the installed Python package, as its compiled part, which the copy's Python files then use."""
        for file in self._venv.glob("lib/python*/site-packages/heaptape/*.*"):
            if not (self.root / "python/heaptape" / file.name).exists() or file.suffix == ".so":
                shutil.copy(file, self.root / "python/heaptape")

    def configure(self, options: Iterable[str]) -> None:
        command = ("cmake", "--preset", "release", *OPTIONS, *options)
        subprocess.run(command, cwd=self.root, env=self._environment, check=True, stdout=subprocess.DEVNULL)

    @cached_property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "CCACHE_BASEDIR": str(self.root)}

    def find_suites(self) -> None:
        """Asks the test programs, so there must be no mistake in them."""
        package = {"PYTHONPATH": str(self.root / "python"), "HEAPTAPE": str(self.build / "bin/heaptape")}
        self.suites = {**list_suites(self.build), **list_python_suites(self.root, self._venv, package)}

    @cached_property
    def _objects(self) -> dict[str, list[str]]:
        """By source, the objects that it is compiled to."""
        objects: dict[str, list[str]] = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            path = os.path.relpath(entry["file"], self.root)
            words = entry["command"].split()
            objects.setdefault(path, []).append(words[words.index("-o") + 1])
        return objects

    def make(self, targets: Iterable[str], jobs: int = 1, quiet: bool = True) -> bool:
        command = ("ninja", "-C", str(self.build), f"-j{jobs}", *(("--quiet",) if quiet else ()), *targets)
        output = subprocess.DEVNULL if quiet else None
        return subprocess.run(command, env=self._environment, stdout=output, check=False).returncode == 0

    def try_mistake(
        self, mistake: Mistake, text: str, sources: Iterable[str], usual: list[Usual], budget_seconds: float
    ) -> Verdict:
        """Builds with the mistake and runs the suites until one fails.

        `sources`: what has to be compiled for it. `budget_seconds`: the usual time of the suites that are run at most.
        """
        begin = time.monotonic()
        if mistake.path.startswith("python/"):
            return self._try_python(mistake, text, usual, budget_seconds)
        objects = [one for source in sources for one in self._objects.get(source, ())]
        if not objects:
            return Verdict("not built")
        self.make(objects)  # without the last mistake
        before = code_of(self.build / one for one in objects)
        with self._planted(mistake, text):
            if not self.make(objects):
                return Verdict("not compiled", build_seconds=time.monotonic() - begin)
            if code_of(self.build / one for one in objects) == before:
                return Verdict("equivalent", build_seconds=time.monotonic() - begin)
            suites = [self.suites[one.name] for one in usual if one.name in self.suites]
            if suites and not self.make({*PROGRAMS, *(suite.program for suite in suites if suite.program)}):
                return Verdict("not compiled", build_seconds=time.monotonic() - begin)
            build_seconds = time.monotonic() - begin
            return dataclasses.replace(self._run(usual, budget_seconds), build_seconds=build_seconds)

    def _try_python(self, mistake: Mistake, text: str, usual: list[Usual], budget_seconds: float) -> Verdict:
        if mistake.path.endswith(".py"):
            try:
                compile(mistake.plant(text), mistake.path, "exec")
            except SyntaxError:
                return Verdict("not compiled")
        with self._planted(mistake, text):
            return self._run(usual, budget_seconds)

    @contextlib.contextmanager
    def _planted(self, mistake: Mistake, text: str) -> Iterator[None]:
        file = self.root / mistake.path
        file.write_text(mistake.plant(text))
        try:
            yield
        finally:
            file.write_text(text)

    def _run(self, usual: list[Usual], budget_seconds: float) -> Verdict:
        begin, spent = time.monotonic(), 0.0
        for place, one in enumerate(usual):
            spent += one.seconds
            if place > 0 and spent > budget_seconds:
                return Verdict("unnoticed", "", len(usual) - place, test_seconds=time.monotonic() - begin)
            if one.name in self.suites and self._notices(one):
                return Verdict("noticed", one.name, test_seconds=time.monotonic() - begin)
        return Verdict("unnoticed", test_seconds=time.monotonic() - begin)

    def _notices(self, one: Usual) -> bool:
        """A suite has to fail twice: one that fails now and then notices nothing."""
        suite, limit = self.suites[one.name], 5 * one.seconds + PATIENCE_SECONDS
        ended = run_suite(suite, limit, {})
        return not ended.passed and (ended.is_late or not run_suite(suite, limit, {}).passed)


def code_of(objects: Iterable[pathlib.Path]) -> list[str]:
    """A hash of each object's code and data."""
    found = []
    for path in objects:
        with tempfile.NamedTemporaryFile(prefix="heaptape-mutate-") as bare:
            subprocess.run(("objcopy", "--strip-debug", str(path), bare.name), check=True)
            found.append(hashlib.sha1(pathlib.Path(bare.name).read_bytes()).hexdigest())
    return found
