"""The suites of a build tree, and running one of them.

A suite is what one process can run: a suite of a gtest program, a test of ctest that is none, or a file of pytest.
"""

import contextlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.soak import processes

# They read sources, install or test tools: no mistake in the product is theirs to notice.
NO_NET = ("CiExamples.", "Style.", "Fuzz.", "Mutate.", "Soak.", "Prediction.", "Install.", "Uninstall.", "Recorder.")


@dataclass(frozen=True)
class Suite:
    name: str  # "report_tests.GateParser", as in every other tree
    command: tuple[str, ...]
    directory: str
    program: str = ""  # the target that is built for it, where there is one
    skip_status: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    passed: bool
    seconds: float
    is_late: bool = False
    output: str = ""


def list_suites(build: pathlib.Path) -> dict[str, Suite]:
    """Those of what has been built there."""
    command = ["ctest", "--test-dir", str(build), "--show-only=json-v1"]
    tests = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["tests"]
    suites = [suite_of(test) for test in tests if "command" in test and not test["name"].startswith(NO_NET)]
    return {suite.name: suite for suite in suites}


def suite_of(test: Mapping[str, object]) -> Suite:
    command, name = test["command"], test["name"]
    assert isinstance(command, list) and isinstance(name, str) and isinstance(test["properties"], list)
    known = {one["name"]: one["value"] for one in test["properties"]}
    directory, skip_status = str(known["WORKING_DIRECTORY"]), int(known.get("SKIP_RETURN_CODE", 0))
    if len(command) < 2 or not command[1].startswith("--gtest_filter="):
        return Suite(name, tuple(command), directory, "", skip_status)
    program = os.path.basename(command[0])
    suite = command[1].removeprefix("--gtest_filter=").split(".")[0]
    return Suite(f"{program}.{suite}", (command[0], f"--gtest_filter={suite}.*"), directory, program)


def list_python_suites(root: pathlib.Path, venv: pathlib.Path, environment: Mapping[str, str]) -> dict[str, Suite]:
    """The files of pytest."""
    python = str(venv / "bin/python")
    if not os.path.exists(python):
        return {}
    options = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
    environment = {**environment, "PYTHONDONTWRITEBYTECODE": "1"}
    suites = [
        Suite(f"python.{path.stem}", (python, *options, str(path.relative_to(root))), str(root), "", 0, environment)
        for path in sorted(root.glob("tests/python/*_test.py"))
    ]
    return {suite.name: suite for suite in suites}


def prepare_child() -> None:
    """If memory runs short, a mistake that takes it all is ended first."""
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/oom_score_adj").write_text("900")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_suite(suite: Suite, limit_seconds: float, environment: Mapping[str, str]) -> Ended:
    """The caller is a subreaper: this ends every process that the suite leaves, and no other."""
    with tempfile.TemporaryDirectory(prefix="heaptape-mutate-", ignore_cleanup_errors=True) as temp:
        os.chmod(temp, 0o711)  # tests run programs of other users
        begin = time.monotonic()
        with open(os.path.join(temp, "output"), "w+b") as output:
            child = subprocess.Popen(
                suite.command,
                cwd=suite.directory,
                env={**os.environ, **environment, **suite.environment, "TMPDIR": temp},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=prepare_child,
            )
            with end_afterwards(child):
                is_late = not processes.wait_for_pid(child.pid, limit_seconds)
                seconds = time.monotonic() - begin
            output.seek(0)
            text = output.read(1_000_000).decode(errors="replace")
        passed = not is_late and child.returncode in (0, suite.skip_status)
        return Ended(passed, seconds, is_late, text)


@contextlib.contextmanager
def end_afterwards(child: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        while left := processes.descendants(os.getpid()):
            processes.end_all(left)
            processes.reap({child.pid})
            time.sleep(0.01)
        child.wait()
        processes.reap()
