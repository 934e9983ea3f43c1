"""What the bench takes for the heap of a live program."""

import os
import unittest

from . import comparison, heap_memory
from .live_run import Figures

GUARDED_STACK = """\
7f0000000000-7f0000001000 ---p 00000000 00:00 0
7f0000001000-7f0000901000 rw-p 00000000 00:00 0
"""


class HeapRanges(unittest.TestCase):
    def of(self, maps):
        return [end - begin for begin, end in heap_memory.heap_ranges(maps)]

    def test_leave_out_a_thread_stack_but_not_what_lies_above_it(self):
        self.assertEqual(self.of(GUARDED_STACK), [1 << 20])

    def test_take_what_follows_a_reservation_of_many_pages(self):
        maps = GUARDED_STACK.replace("7f0000000000", "7effff000000")
        self.assertEqual(self.of(maps), [9 << 20])

    def test_leave_out_files_and_what_cannot_be_written(self):
        self.assertEqual(self.of("1000-2000 rw-p 00000000 08:01 77 /a/file\n"
                                 "3000-4000 r--p 00000000 00:00 0\n"
                                 "5000-6000 rw-p 00000000 00:00 0 [stack]\n"
                                 "7000-9000 rw-p 00000000 00:00 0 [heap]\n"), [0x2000])

    def test_leave_out_the_bss_of_a_program(self):
        with open("/proc/self/maps") as maps:
            lines = maps.read().splitlines()
        path = os.readlink("/proc/self/exe")
        last = [line for line in lines if line.endswith(path)][-1]
        end = int(last.split("-")[1].split()[0], 16)
        bss = heap_memory.bss_bytes(path)
        behind = f"{end:x}-{end + bss + 4096:x} rw-p 00000000 00:00 0"
        self.assertEqual(self.of(last + "\n" + behind), [4096])


class LiveMemory(unittest.TestCase):
    def test_grows_by_what_is_mapped_and_written(self):
        before = heap_memory.read(os.getpid())
        held = bytearray(64 << 20)
        held[0 : 16 << 20] = b"x" * (16 << 20)
        after = heap_memory.read(os.getpid())
        self.assertAlmostEqual(after.committed - before.committed, 64 << 20, delta=2 << 20)
        self.assertGreater(after.resident - before.resident, 15 << 20)

    def test_of_a_process_that_is_gone_is_unknown(self):
        self.assertIsNone(heap_memory.read(0x7FFFFFFF))


class Comparisons(unittest.TestCase):
    def test_are_of_the_middle_of_the_live_runs(self):
        compared = comparison.Comparison("p", "glibc", ("peak", "resident"), [90, 100, 200], 110, [])
        self.assertAlmostEqual(compared.error, 0.1)
        self.assertAlmostEqual(compared.spread, 1.1)

    def test_find_the_cause_of_an_error_in_the_notes(self):
        notes = ["5 % of ... that the program never wrote ...", "nothing decays"]
        def of(kind, replayed):
            return comparison.Comparison("p", "glibc", ("end", kind), [100], replayed, notes)
        self.assertEqual(of("resident", 120).causes, notes[:1])
        self.assertEqual(of("resident", 80).causes, [], "nothing that is not written makes it less")
        self.assertEqual(of("committed", 120).causes, [])
        self.assertIn("glibc end resident: *5 %", comparison.far_lines([of("resident", 120)])[0])
        self.assertIn("no note", comparison.far_lines([of("committed", 120)])[0])
        self.assertEqual(comparison.far_lines([of("resident", 115)]), [])
        self.assertIn("1 have a cause in the notes of their replay, 1 have none",
                      comparison.summary([of("resident", 120), of("committed", 80)]))

    def test_leave_small_figures_out(self):
        live = {library: [Figures()] for library in comparison.LIBRARIES}
        zero = {moment: {"committedBytes": "0", "residentBytes": "0"} for moment in ("peak", "end")}
        report = {candidate: zero for candidate in comparison.CANDIDATES}
        self.assertEqual(comparison.compare("p", live, report), [])


if __name__ == "__main__":
    unittest.main()
