"""The line that `./dev fuzz all` prints for each target."""

import unittest

from tests.fuzz.summary import summary

LOG = """100 INFO: seed corpus: files: 3
100 #2\tREAD   cov: 900 ft: 900
101 #4\tINITED cov: 10 ft: 12 corp: 3/30b exec/s: 0 rss: 40Mb
103 #90\tNEW    cov: 11 ft: 14 corp: 4/40b lim: 6000 exec/s: 45 rss: 40Mb L: 7/9 MS: 1 ChangeByte-
107 #95\tNEW    cov: 13 ft: 15 corp: 5/45b lim: 6000 exec/s: 45 rss: 40Mb L: 7/9 MS: 1 ChangeByte-
109 #99\tREDUCE cov: 13 ft: 15 corp: 5/44b lim: 6000 exec/s: 45 rss: 40Mb L: 6/9 MS: 1 EraseBytes-
161 #12345\tDONE   cov: 13 ft: 16 corp: 5/44b lim: 6000 exec/s: 205 rss: 41Mb
161 Done 12345 runs in 61 second(s)""".splitlines()


class Summary(unittest.TestCase):
    def test_counts_what_is_new_since_the_kept_inputs_were_read(self) -> None:
        self.assertEqual(
            summary("gate", LOG), "gate: 12,345 inputs in 61 s, 13 edges covered, 3 of them new, the last after 6 s"
        )

    def test_says_that_nothing_is_new(self) -> None:
        lines = [line for line in LOG if "NEW" not in line and "REDUCE" not in line]
        lines = [line.replace("cov: 13", "cov: 10") for line in lines]
        self.assertEqual(summary("gate", lines), "gate: 12,345 inputs in 61 s, 10 edges covered, none of them new")

    def test_takes_no_run_that_did_not_end_for_one_that_did(self) -> None:
        with self.assertRaises(SystemExit):
            summary("gate", LOG[:-1])
