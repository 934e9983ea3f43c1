"""Runs suites where lines are counted, and reads which they ran."""

import os
import pathlib
import re
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace

from .line_map import pack
from .suites import Suite, run_suite

SLOWEST_SECONDS = 1200
TRACER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracer")


@dataclass(frozen=True)
class Counted:
    """A checkout, its build of the preset `coverage`, and the LLVM tools of the clang that built it."""

    root: pathlib.Path
    build: pathlib.Path
    llvm_suffix: str

    def tool(self, name: str) -> str:
        return f"{name}-{self.llvm_suffix}"


def count_lines(suite: Suite, counted: Counted) -> dict[str, str]:
    """The lines that the suite runs, by file, in its own process and in those of `heaptape`."""
    with tempfile.TemporaryDirectory(prefix="heaptape-mutate-") as profiles:
        # One file for each program, into which its processes add what they ran.
        environment = {"LLVM_PROFILE_FILE": os.path.join(profiles, "%m.profraw"), "HEAPTAPE_LINES": profiles}
        run_suite(traced(suite), SLOWEST_SECONDS, environment)
        lines = read_python_lines(pathlib.Path(profiles))
        lines.update(read_cpp_lines(suite, counted, pathlib.Path(profiles)))
    return lines


def traced(suite: Suite) -> Suite:
    """For one of the Python package, which it finds by PYTHONPATH: with the tracer in every process."""
    package = suite.environment.get("PYTHONPATH")
    if package is None:
        return suite
    paths = f"{TRACER}:{package}"
    traced_package = os.path.join(package, "heaptape")
    return replace(suite, environment={**suite.environment, "PYTHONPATH": paths, "HEAPTAPE_PACKAGE": traced_package})


def read_cpp_lines(suite: Suite, counted: Counted, profiles: pathlib.Path) -> dict[str, str]:
    raw = [path for path in profiles.glob("*.profraw") if path.stat().st_size > 0]
    if not raw:
        return {}
    merged = profiles / "merged"
    merge = [counted.tool("llvm-profdata"), "merge", "-sparse", "-failure-mode=all", "-o", str(merged), *map(str, raw)]
    if subprocess.run(merge, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return {}
    programs = [suite.command[0]] if suite.program else []
    if len(raw) > len(programs):
        programs.append(str(counted.build / "bin/heaptape"))
    objects = [word for one in programs for word in ("-object", one)][1:]
    export = [counted.tool("llvm-cov"), "export", "-format=lcov", f"-instr-profile={merged}"]
    export += ["-ignore-filename-regex=/(tests|generated)/|^/usr/", *objects]
    text = subprocess.run(export, capture_output=True, text=True, check=True).stdout
    return parse_lcov(text, str(counted.root) + "/")


def parse_lcov(text: str, root: str) -> dict[str, str]:
    lines: dict[str, list[int]] = {}
    for line in text.splitlines():
        if line.startswith("SF:"):
            path = line[3:].removeprefix(root)
            here = lines.setdefault(path, [])
        elif (found := re.match(r"DA:(\d+),(\d+)", line)) and found[2] != "0":
            here.append(int(found[1]))
    return {path: pack(ran) for path, ran in lines.items() if ran}


def read_python_lines(notes: pathlib.Path) -> dict[str, str]:
    """What tracer/sitecustomize.py wrote."""
    lines: dict[str, list[int]] = defaultdict(list)
    for path in notes.glob("*.lines"):
        for note in path.read_text().splitlines():
            name, _, line = note.rpartition(":")
            lines["python/heaptape/" + name].append(int(line))
    return {path: pack(ran) for path, ran in lines.items()}
