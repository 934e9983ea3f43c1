"""Lists the tests that ctest skipped, with the reason of each.

usage: skipped_tests.py JUNIT_FILE, as `ctest --output-junit` writes it
"""

import re
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict

# What gtest prints: "file:line: Skipped", the reason, and an empty line or the end of the test.
REASON = re.compile(r"^\S+:\d+: Skipped\n(.*?)\n(?=\s*\n|\[  SKIPPED \])", re.M | re.S)


def tests_by_reason(junit_file):
    """{reason: [test, ...]}"""
    tests = defaultdict(list)
    for case in xml.parse(junit_file).iter("testcase"):
        if case.find("skipped") is None:
            continue
        said = REASON.search(case.findtext("system-out") or "")
        reason = " ".join(said.group(1).split()) if said else ""
        tests[reason or "no reason is given"].append(case.get("name"))
    return tests


def main():
    by_reason = tests_by_reason(sys.argv[1])
    count = sum(map(len, by_reason.values()))
    print(f"{count} test{'' if count == 1 else 's'} skipped")
    for reason, tests in sorted(by_reason.items()):
        print(f"  {reason}: {', '.join(sorted(tests))}")


if __name__ == "__main__":
    main()
