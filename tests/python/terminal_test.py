"""Tables of the program in a terminal: they fit, and say what they leave out."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest
from conftest import QUESTIONS

REPLAY = ("replay", QUESTIONS / "threads.tape", "-a", "glibc", "-a", "jemalloc", "-a", "model:slabs")
SENTENCES = ("replayed:", "note:", "events:", "counters:", "live peak", "plateau:", "pinned", "    ", "/")


@pytest.fixture
def in_terminal(binary):
    """Runs heaptape in a terminal of that many columns; what it printed."""

    def run(columns, *words):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [binary, *map(str, words), "--color", "never"]
        with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL) as child:
            os.close(slave)
            told = b""
            try:
                while some := os.read(master, 1 << 16):
                    told += some
            except OSError:  # the child has ended
                pass
            os.close(master)
        assert child.returncode == 0
        return told.decode().replace("\r\n", "\n")

    return run


@pytest.fixture(params=["replay", "sites"])
def words(request, stack_tape):
    """A command that prints wide tables."""
    return REPLAY if request.param == "replay" else ("stats", stack_tape, "--by", "site")


def widest(text):
    """The columns of its tables: the terminal wraps sentences."""
    return max(len(line) for line in text.splitlines() if not line.startswith(SENTENCES))


def headings(text):
    return [line.split() for line in text.splitlines() if line.startswith(("allocator ", "site "))]


def test_tables_fit_into_the_terminal(in_terminal, words):
    text = in_terminal(100, *words)
    assert widest(text) <= 100
    assert "more: --wide shows all" in text


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_resident_bytes_at_both_moments_stay_longest(in_terminal, columns):
    text = in_terminal(columns, "replay", REPLAY[1], "-a", "glibc", "-a", f"{'x' * 50}=jemalloc")
    assert headings(text)[0][:3] == ["allocator", "resident", "resident"]
    assert len(text.split("\nallocator ")[1].partition("\n")[0]) <= columns


def test_wide_tables_have_all_columns_as_in_a_pipe(in_terminal, words, tool):
    text = in_terminal(100, *words, "--wide")
    assert widest(text) > 100
    assert headings(text) == headings(tool(*words)) != []
    assert "--wide" not in text


def test_wide_terminals_have_all_columns(in_terminal):
    assert "--wide" not in in_terminal(250, *REPLAY)
