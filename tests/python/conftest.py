"""What the tests of the Python package share. HEAPTAPE is the path of the built program."""

import json
import os
import pathlib
import platform
import subprocess

import pyarrow
import pytest

import heaptape

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "docs" / "questions"  # recordings of real programs


needs_glibc_2_36 = pytest.mark.skipif(
    platform.libc_ver() != ("glibc", "2.36"),
    reason="model:ptmalloc is glibc 2.36; this is " + " ".join(platform.libc_ver()),
)


@pytest.fixture(scope="session")
def binary():
    return os.environ["HEAPTAPE"]


@pytest.fixture(scope="session")
def tool(binary):
    """Runs heaptape; what it printed."""

    def run(*words):
        return subprocess.run(
            [binary, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    return run


@pytest.fixture(scope="session")
def tool_json(tool):
    return lambda *words: json.loads(tool(*words))


@pytest.fixture(params=sorted(path.stem for path in QUESTIONS.glob("*.tape")))
def real_tape(request):
    return QUESTIONS / f"{request.param}.tape"


@pytest.fixture
def threads_tape():
    return heaptape.Tape(QUESTIONS / "threads.tape")


@pytest.fixture(scope="session")
def large_tape(tool, tmp_path_factory):
    """Of many batches: 300,000 calls."""
    path = tmp_path_factory.mktemp("large") / "random.tape"
    tool("scenario", "random-slots", "--set", "events=300000", "-o", path)
    return path


def rows(table):
    """Of a heaptape.Table, as dictionaries."""
    return pyarrow.table(table).to_pylist()


PROGRAM = """
import subprocess, os, sys
kept = [bytes(1000 + i) for i in range(2000)]
subprocess.run([sys.argv[1], "ctl", str(os.getpid()), "mark", "warm"], check=True)
kept.clear()
"""


@pytest.fixture(scope="session")
def stack_tape(tool, binary, tmp_path_factory):
    """A recording of Python with call stacks, their symbols, and a mark."""
    path = tmp_path_factory.mktemp("stacks") / "python.tape"
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    subprocess.run(
        [
            binary,
            "record",
            "--stacks",
            "dwarf",
            "--follow",
            "none",
            "-o",
            path,
            "--",
            "/usr/bin/python3",
            "-c",
            PROGRAM,
            binary,
        ],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run([binary, "symbolize", path], check=True, capture_output=True)
    return path
