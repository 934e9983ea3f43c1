"""The soak finds what a recorder does wrong: runs it on recorders that do, in a few lines of shell."""

import os
import random
import shutil
import tempfile
import unittest

from . import faults, one_run, processes
from .subjects import Subject

# Does what `heaptape` does for a program of one process and five events.
RECORDER = """#!/bin/sh
case $1 in
record)
  tape=$3; while [ "$1" != -- ]; do shift; done; shift
  tapes='{"tape": "run.tape", "events": "5", "lostEvents": "0"}'
  echo x >$tape
  %s
  echo "{\\"processes\\": [$tapes]}" >$tape.manifest.json
  "$@"; status=$?
  %s
  exit $status ;;
verify) %s exit 0 ;;
replay) echo 'events: %s recorded = 5 replayed + 0 failed when recorded + 0 frees of unknown blocks + 0 refused' ;;
esac
"""

SUBJECT = Subject("subject", "", "echo out; echo err >&2; exit 4")
NO_FAULT = faults.Fault("none")


class Soak(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="heaptape-test-")
        processes.become_subreaper()

    def tearDown(self):
        processes.end_leftovers(settle=0)
        shutil.rmtree(self.folder)

    def findings(self, before="", after="", verify="", replayed="5", fault=NO_FAULT):
        heaptape = f"{self.folder}/heaptape"
        with open(heaptape, "w", encoding="utf-8") as file:
            file.write(RECORDER % (before, after, verify, replayed))
        os.chmod(heaptape, 0o755)
        place = one_run.Place(self.folder, self.folder, heaptape, self.folder)
        return one_run.Run(place, SUBJECT, fault, random.Random(1), []).run().findings

    def expect(self, part, **planted):
        findings = self.findings(**planted)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(part, findings[0])

    def test_a_recorder_that_changes_nothing_has_no_findings(self):
        self.assertEqual(self.findings(), [])

    def test_finds_another_status(self):
        self.expect("status 3 instead of 4", after="status=3")

    def test_finds_a_signal(self):
        self.expect("status -9 instead of 4", after="kill -9 $$")

    def test_finds_other_output(self):
        self.expect("stdout differs: 'more'", before="echo more")
        self.expect("stderr differs", before="echo ERROR: ld.so >&2")

    def test_finds_a_process_that_is_left(self):
        self.expect("left running: sleep", before="sleep 60 &")

    def test_finds_a_partial_tape(self):
        self.expect("partial tapes are left", before=": >$tape.partial")

    def test_finds_a_tape_that_is_not_listed(self):
        self.expect("not in the manifest", before="echo x >${tape%.tape}.2.tape")

    def test_finds_a_tape_that_is_not_there(self):
        self.expect("are missing", before="""tapes="$tapes, "'{"tape": "b.tape", "events": "1", "lostEvents": "0"}'""")

    def test_finds_what_verify_finds(self):
        self.expect("damage", verify="echo 'damage     at byte 3'; exit 1;")

    def test_finds_events_that_a_replay_does_not_account_for(self):
        self.expect("accounts for 5 of 5", replayed="6")

    def test_finds_a_loss_that_is_said(self):
        self.expect("3 calls were lost", after="echo 'heaptape: 3 calls were lost' >&2")

    def test_permits_losses_to_a_fault_that_causes_them(self):
        fault = faults.Fault("on-full drop", may_lose=True)
        self.assertEqual(
            self.findings(after="echo 'heaptape: 3 calls were lost' >&2", fault=fault), [])

    def test_makes_the_same_choices_for_a_seed(self):
        first, second = (faults.choose(random.Random("7 run 3"), ()) for _ in range(2))
        self.assertEqual(first, second)


if __name__ == "__main__":
    unittest.main()
