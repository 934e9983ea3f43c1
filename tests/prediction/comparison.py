"""Replays against live runs: one figure at a time."""

import json
import statistics
from dataclasses import dataclass

MIB = 1 << 20
LEAST = 2 * MIB  # smaller figures are those of libraries and pages, and not compared
FIGURES = [(moment, kind) for moment in ("peak", "end") for kind in ("committed", "resident")]

LIBRARIES = ["glibc", "jemalloc", "mimalloc", "tcmalloc"]
MODELS = {"model:ptmalloc": "glibc", "model:slabs": "jemalloc"}
CANDIDATES = {**{name: name for name in LIBRARIES}, **MODELS}  # and the library that it stands for


NEAR = 0.15  # an error beyond that must have a cause that the replay itself names
ONLY_MORE = "never wrote"  # says why a replay has more than the program, and never why less
CAUSES = {  # words of its notes, by kind of figure; docs/metrics.md, "What a run says of itself"
    "committed": ("came from another thread", "purges other amounts"),
    "resident": ("came from another thread", "purges other amounts", ONLY_MORE),
}


@dataclass
class Comparison:
    program: str
    candidate: str
    figure: tuple
    live: list  # bytes, of each run
    replayed: int
    notes: list  # of the run of the replay

    @property
    def median(self):
        return statistics.median(self.live)

    @property
    def error(self):
        """Of the replay, as a share of what the live runs took, in the middle."""
        return self.replayed / self.median - 1

    @property
    def is_far(self):
        return abs(self.error) > NEAR

    @property
    def causes(self):
        """The notes that say why this figure may be wrong."""
        kind = self.figure[1]
        words = [word for word in CAUSES[kind] if word != ONLY_MORE or self.error > 0]
        return [note for note in self.notes if any(word in note for word in words)]

    @property
    def spread(self):
        """How far live runs are apart from each other: a replay is one of them at best."""
        return (max(self.live) - min(self.live)) / self.median


def read_report(path):
    with open(path) as file:
        report = json.load(file)
    return {run["label"]: run for run in report["runs"]}


def replayed_figure(run, figure):
    moment, kind = figure
    value = run[moment][f"{kind}Bytes"]
    return int(value["value"] if isinstance(value, dict) else value)


def compare(program, live_runs, report):
    """`live_runs`: lists of Figures by library. `report`: runs by label."""
    comparisons = []
    for candidate, library in CANDIDATES.items():
        for figure in FIGURES:
            moment, kind = figure
            live = [getattr(getattr(figures, moment), kind) for figures in live_runs[library]]
            comparison = Comparison(program, candidate, figure, live,
                                    replayed_figure(report[candidate], figure),
                                    report[candidate].get("notes", []))
            if comparison.median >= LEAST:
                comparisons.append(comparison)
    return comparisons


def fidelity(report):
    """How many blocks of a tape recorded on glibc lie where they were."""
    words = []
    for candidate in ("glibc", "model:ptmalloc"):
        found = report[candidate].get("fidelity")
        if found:
            words.append(f"{candidate} {100 * found['sameOffsetShare']:.4f} % of "
                         f"{int(found['comparedBlocks']):,}")
    return "Blocks at their recorded offset: " + ", ".join(words)


def summary(comparisons):
    errors = sorted(abs(comparison.error) for comparison in comparisons)
    if not errors:
        return "no figure is large enough to be compared"
    return (f"{len(errors)} figures: median error {100 * statistics.median(errors):.1f} %, "
            f"{sum(error <= 0.03 for error in errors)} within 3 %, "
            f"{sum(error <= NEAR for error in errors)} within 15 %, "
            f"largest {100 * errors[-1]:.0f} %; of those beyond 15 % "
            f"{sum(c.is_far and bool(c.causes) for c in comparisons)} have a cause in the notes of "
            f"their replay, {sum(c.is_far and not c.causes for c in comparisons)} have none")


def far_lines(comparisons):
    """What is beyond 15 %, and what the notes of its replay say of it."""
    figures = {}
    for c in comparisons:
        if c.is_far:
            causes = "; ".join(c.causes) or "no note of the replay says why"
            figures.setdefault(causes, []).append(f"{c.candidate} {' '.join(c.figure)}")
    return [f"- Beyond 15 %: {', '.join(names)}: *{causes}*" for causes, names in figures.items()]


def markdown(comparisons, programs, fidelities):
    """A table for each program: live -> replayed, MiB, and the error. `fidelities` by program."""
    lines = []
    for program in programs:
        mine = {(c.candidate, c.figure): c for c in comparisons if c.program == program.name}
        if not mine:
            continue
        lines += [f"**{program.name}**: {program.about}", "",
                  "| replayed on | " + " | ".join(f"{moment} {kind}" for moment, kind in FIGURES) + " |",
                  "|---|" + "---:|" * len(FIGURES)]
        for candidate in CANDIDATES:
            cells = []
            for figure in FIGURES:
                c = mine.get((candidate, figure))
                cells.append("" if c is None else
                             f"{c.median / MIB:.1f} ±{50 * c.spread:.0f} % → {c.replayed / MIB:.1f} "
                             f"({100 * c.error:+.1f} %)")
            lines.append(f"| {candidate} | " + " | ".join(cells) + " |")
        lines += ["", f"- {fidelities[program.name]}", *far_lines(mine.values()), ""]
    return "\n".join(lines)


def page(comparisons, programs, fidelities, how):
    """docs/prediction-table.md. `how`: what was run, where and when."""
    return f"""# The last comparison

{how}. {summary(comparisons)}. [prediction.md](prediction.md) explains the comparison, and why figures may differ.

Live (the median of the runs ± half of what is between them) → replayed (error), in MiB. The text after *Beyond 15 %* is from the notes of
the replay.

{markdown(comparisons, programs, fidelities)}"""
