"""What the bench takes for the memory of a process, and when it complains."""

import os
import unittest
from types import SimpleNamespace

from . import smaps
from .__main__ import Row, complaints, verdict_of

FIELDS = """Rss: {rss} kB
Anonymous: {anonymous} kB
Swap: {swap} kB
Shared_Hugetlb: {huge} kB
Private_Hugetlb: 0 kB
"""


def mapping(head, rss=0, anonymous=0, swap=0, huge=0):
    return head + "\n" + FIELDS.format(rss=rss, anonymous=anonymous, swap=swap, huge=huge) + "VmFlags: rd wr\n"


class Smaps(unittest.TestCase):
    TEXT = (mapping("1000-3000 rw-p 00000000 08:01 77                         /a/b c", rss=8, anonymous=4)
            + mapping("5000-9000 rw-p 00000000 00:00 0 ", rss=12, anonymous=12, swap=4)
            + mapping("a000-b000 rw-s 00000000 00:01 9                          /memfd:x (deleted)", rss=4)
            + mapping("c000-d000 rw-s 00000000 00:2a 9                          /dev/shm/y", rss=4)
            + mapping("e000-f000 rw-p 00000000 00:0f 9                          /anon_hugepage (deleted)", huge=2048))

    def of(self, *stack_pointers):
        mounts = "30 20 0:42 / /dev/shm rw shared:2 - tmpfs tmpfs rw\n31 20 8:1 / / rw - ext4 /dev/vda rw\n"
        return smaps.sum_up(smaps.parse(self.TEXT), stack_pointers, smaps.tmpfs_devices(mounts))

    def test_is_divided_by_what_it_is_of(self):
        kib = {name: value >> 10 for name, value in vars(self.of()).items()}
        self.assertEqual(kib, {"anonymous": 20, "stacks": 0, "files": 4, "shared": 8, "huge": 2048})

    def test_has_the_stacks_of_threads(self):
        self.assertEqual(self.of(0x8fff, 0x5000, 0x2000).stacks, 16 << 10)
        self.assertEqual(self.of(0x9000, 0x4fff).stacks, 0)

    def test_of_this_process_is_what_the_kernel_sums_up(self):
        with open("/proc/self/smaps_rollup") as file:
            rollup = dict(line.split()[:2] for line in file.read().splitlines()[1:])
        self.assertAlmostEqual(smaps.read(os.getpid()).anonymous, int(rollup["Anonymous:"]) << 10, delta=1 << 20)


class Complaints(unittest.TestCase):
    def of(self, ours=1000, beside=100, verdict=("holes",), expected=""):
        parts = {"besideMallocBytes": beside, "stackBytes": 0}
        row = Row("end", SimpleNamespace(anonymous=1000), {"anonymousBytes": ours, "anonymous": parts})
        peak = {"anonymousBytes": 1000, "anonymous": parts}
        return list(complaints(SimpleNamespace(beside=expected), [row], peak, list(verdict)))

    def test_are_about_sums_and_verdicts(self):
        beside = ("at the peak, it is beside malloc", "do that")
        self.assertEqual(self.of(), [])
        self.assertEqual(self.of(ours=1009), [])
        self.assertEqual(self.of(ours=989), ["end: -1.10 % away from smaps"])
        self.assertEqual(self.of(beside=200, verdict=beside, expected="that"), [])
        self.assertEqual(len(self.of(beside=200, verdict=beside, expected="this")), 1)
        self.assertEqual(len(self.of(beside=200, expected="that")), 3)
        self.assertEqual(len(self.of(verdict=beside)), 2)

    def test_are_about_memory_without_an_owner(self):
        def of(owned, beside=100 << 20):
            parts = {"besideMallocBytes": beside, "stackBytes": beside // 10, "mallocBytes": 0,
                     "owners": [{"owner": "a", "bytes": owned // 2}, {"owner": "b", "bytes": owned // 2}]}
            row = Row("end", SimpleNamespace(anonymous=beside), {"anonymousBytes": beside, "anonymous": parts})
            peak = {"anonymousBytes": beside, "anonymous": parts}
            return list(complaints(SimpleNamespace(beside="that"), [row], peak, ["it is beside malloc", "that"]))

        self.assertEqual(of(86 << 20), [])
        self.assertEqual(of(84 << 20), ["end: 94.0 % of what is beside malloc has an owner"])
        self.assertEqual(of(0, beside=1 << 19), [])

    def test_read_the_verdict_of_the_report(self):
        findings = [{"evidence": "it is so", "action": "do that"}, {"evidence": "and so", "action": ""}]
        self.assertEqual(verdict_of({"verdict": {"findings": findings}}), ["it is so", "do that", "and so"])
        self.assertEqual(verdict_of({"verdict": {}}), [])
