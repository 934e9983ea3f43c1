"""docs/process-memory.md: its commands print what it says, words exactly, numbers to a third or to 1 MiB.

usage: page_test.py HEAPTAPE
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/process-memory.md"
UNITS = {"%": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
NUMBER = r"([0-9][0-9.,]*)( (?:B|KiB|MiB|GiB)\b|%)"
CUT = "…"
NEAR = 1 / 3
NEAR_BYTES = 1 << 20
heaptape = None


def console_blocks(text):
    """[[(command, the lines shown below it)]], by block."""
    blocks = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        commands = []
        for line in block.splitlines():
            if commands and commands[-1][0].endswith("\\"):
                command, shown = commands.pop()
                commands.append((f"{command}\n{line}", shown))
            elif line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
        blocks.append(commands)
    return blocks


def is_near(shown, printed):
    """Of two (number, unit)."""
    if (shown[1] == "%") != (printed[1] == "%"):
        return False
    a, b = (float(number.replace(",", "")) * UNITS[unit.strip()] for number, unit in (shown, printed))
    return abs(a - b) <= max(a * NEAR, 0 if shown[1] == "%" else NEAR_BYTES)


def is_shown_by(shown, printed):
    """Words, with any number in the place of each."""
    words = re.sub(NUMBER, "\0", shown)
    pattern = re.escape(words).replace(re.escape("\0"), NUMBER).replace(re.escape(CUT), ".*")
    match = re.fullmatch(pattern, printed)
    if not match:
        return False
    groups = match.groups()
    return all(map(is_near, re.findall(NUMBER, shown), zip(groups[::2], groups[1::2])))


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="heaptape-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_command(self, command):
        path = f"{Path(heaptape).parent}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, env={**os.environ, "PATH": path},
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_says_what_its_commands_print(self):
        blocks = console_blocks(PAGE.read_text())
        self.assertEqual(len(blocks), 4)
        for commands in blocks:
            # Where the recorder did not run for a while, its samples are of other moments.
            for _ in range(4):
                if not (difference := self.first_difference(commands)):
                    break
            self.assertEqual(difference, "")

    def first_difference(self, commands):
        for tape in Path(self.folder).glob("*.tape*"):
            tape.unlink()  # of the try before
        for command, shown in commands:
            printed = iter(self.run_command(command))
            for line in shown:
                seen = []
                for one in printed:
                    seen.append(one)
                    if is_shown_by(line, one):
                        break
                else:
                    return "\n".join([f"{command} does not print, or not here:", line, "but:", *seen])
        return ""


class Match(unittest.TestCase):
    def test_is_exact_for_words_and_lenient_for_numbers(self):
        self.assertTrue(is_shown_by("a 30.0 MiB (50.0%) b …", "a 24.1 MiB (60.2%) b c 1 d"))
        self.assertFalse(is_shown_by("a 30.0 MiB b", "a 30.0 MiB c"))
        self.assertFalse(is_shown_by("a 30.0 MiB", "a 19.9 MiB"))
        self.assertFalse(is_shown_by("a 30.0%", "a 41.0%"))
        self.assertFalse(is_shown_by("a 30.0%", "a 30 B"))
        self.assertTrue(is_shown_by("a 300.0 KiB", "a 1.20 MiB"))
        self.assertFalse(is_shown_by("a 300.0 KiB", "a 1.40 MiB"))


if __name__ == "__main__":
    heaptape = os.path.abspath(sys.argv.pop(1))
    unittest.main()
