"""Which suites run which lines of the product, kept in a file from one call to the next."""

import hashlib
import json
import pathlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field

# What runs in recorded programs, in the worker and in browsers, without what counts lines: all suites of these programs
# may notice a mistake there.
UNCOUNTED = {
    "recorder/interposer/": ("record_e2e_tests", "ring_tests", "recorder_tests"),
    "recorder/ring/": ("record_e2e_tests", "ring_tests", "recorder_tests"),
    "recorder/program/": ("record_e2e_tests",),
    "recorder/collector/": ("record_e2e_tests.RecordKills",),  # which end it by SIGKILL
    "recorder/unwind/": ("record_e2e_tests",),
    "allocators/native/worker/": ("replay_tests", "native_threads_tests", "replay_e2e_tests"),
    "replayer/symbols/": ("symbols_tests", "stacks_e2e_tests"),  # the process that reads files
    "replayer/report/html/page/": ("Pages",),
    "python/heaptape/page.js": ("python.page_test",),
}


@dataclass
class Coverage:
    """What one suite did when it ran last."""

    seconds: float
    passed: bool
    lines: dict[str, str] = field(default_factory=dict)  # by file: "3-9,12"


def hash_of(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()[:12]


def pack(lines: Iterable[int]) -> str:
    ranges: list[list[int]] = []
    for line in sorted(set(lines)):
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def contains(packed: str, line: int) -> bool:
    for part in packed.split(","):
        first, _, last = part.partition("-")
        if int(first) <= line <= int(last or first):
            return True
    return False


class LineMap:
    """`files`: the hashes of sources and tests for which the suites ran last."""

    def __init__(self, suites: dict[str, Coverage], files: dict[str, str]) -> None:
        self.suites, self.files = suites, files

    @classmethod
    def read(cls, path: pathlib.Path) -> "LineMap":
        if not path.exists():
            return cls({}, {})
        kept = json.loads(path.read_text())
        return cls({name: Coverage(**one) for name, one in kept["suites"].items()}, kept["files"])

    def write(self, path: pathlib.Path) -> None:
        suites = {name: asdict(one) for name, one in sorted(self.suites.items())}
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"files": self.files, "suites": suites}, indent=0))
        new.rename(path)

    def begin_runs(
        self, stale: set[str], suites: Collection[str], texts: Mapping[str, str], product: Mapping[str, str]
    ) -> None:
        """Forgets those that run now, and notes for which `texts`.

        Where all run, that is the whole product: they need not run again when other sources are in scope.
        """
        self.suites = {name: one for name, one in self.suites.items() if name in suites and name not in stale}
        noted = {**texts, **product} if stale == set(suites) else texts
        self.files.update((path, hash_of(text)) for path, text in noted.items())

    def covering(self, path: str, line: int) -> list[str]:
        """The suites that may notice a mistake there, fast ones first.

        Those that run the line; if none is known to, those that run any line of the file. Then those whose programs
        run the directory where no lines are counted.
        """
        usable = {name: one for name, one in self.suites.items() if one.passed}
        found = {name for name, one in usable.items() if path in one.lines and contains(one.lines[path], line)}
        found = found or {name for name, one in usable.items() if path in one.lines}
        for directory, programs in UNCOUNTED.items():
            if path.startswith(directory):
                found |= {name for name in usable if name in programs or name.partition(".")[0] in programs}
        return sorted(found, key=lambda name: (usable[name].seconds, name))

    def stale(self, suites: Iterable[str], sources: Mapping[str, str], tests: Mapping[str, str]) -> set[str]:
        """The suites to run again before mistakes are planted in `sources`; `tests` has the texts of test files.

        New suites, those that failed, those that a changed test file names, and those that run a file in the
        directory of a source that changed.
        """
        changed = {path for path, text in sources.items() if self.files.get(path) != hash_of(text)}
        directories = {path.rpartition("/")[0] for path in changed}
        new_tests = "\n".join(text for path, text in tests.items() if self.files.get(path) != hash_of(text))
        names = set(re.findall(r"\w+", new_tests))
        return {
            suite
            for suite in suites
            if suite not in self.suites
            or not self.suites[suite].passed
            or re.split(r"[./]", suite)[-1] in names
            or any(path.rpartition("/")[0] in directories for path in self.suites[suite].lines)
        }
