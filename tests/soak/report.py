"""The table of a soak, and its findings."""

import statistics
from collections import defaultdict


class Report:
    def __init__(self):
        self.results = defaultdict(list)  # by subject
        self.faults = defaultdict(int)
        self.findings = []  # (command that repeats it, subject, fault, sentence)

    def add(self, result, repeat):
        self.results[result.subject.name].append(result)
        self.faults[result.fault.name] += 1
        for finding in result.findings:
            self.findings.append((repeat, result.subject.name, result.fault.describe(), finding))

    def table(self):
        """As Markdown."""
        rows = ["| subject | runs | calls | tapes | alone s | recorded / alone | unstable | findings |",
                "|---|---:|---:|---:|---:|---:|---:|---:|"]
        for name in sorted(self.results):
            rows.append(row(name, self.results[name]))
        everything = [result for results in self.results.values() for result in results]
        rows.append(row(f"**all {len(self.results)}**", everything))
        return "\n".join(rows)

    def faults_text(self):
        return ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))


def row(name, results):
    plain = [result.plain.seconds for result in results]
    ratios = [result.recorded.seconds / result.plain.seconds for result in results
              if result.fault.name == "none" and not result.findings and result.plain.seconds > 0]
    ratio = f"{statistics.median(ratios):.2f}" if ratios else "-"
    return (f"| {name} | {len(results)} | {sum(r.calls for r in results):,} |"
            f" {sum(r.tapes for r in results):,} | {statistics.median(plain):.2f} | {ratio} |"
            f" {sum(r.unstable for r in results) or ''} |"
            f" {sum(bool(r.findings) for r in results) or ''} |")
