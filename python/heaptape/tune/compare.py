"""A tape on all allocators that there are, as they are by default: what another one would do.

The verdict of that replay (docs/metrics.md, "The verdict") also says at which moment there is
something to gain, and how much of the process is not malloc's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ..run_figures import figures
from ..tool import list_allocators, replay
from .knobs import Space
from .replays import (
    PEAK,
    PLATEAU,
    RESIDENT,
    RESIDENT_AT,
    Figures,
    counts,
    failure_of,
    memory_values,
)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A tape on the allocators' defaults. Runs are by label; those that failed are missing."""

    verdict: Mapping[str, Any]
    runs: Mapping[str, Figures]

    @property
    def error_share(self) -> float:
        """The share of resident bytes that predictions may be wrong by at least."""
        return float(self.verdict.get("errorShare") or 0)

    @property
    def moment(self) -> str:
        """At which the program's run holds most beyond live bytes: "peak", "plateau", "exit"."""
        return str(self.verdict.get("moment") or "peak")

    @property
    def objective(self) -> str:
        return PEAK if self.moment == "peak" else PLATEAU

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        return self.verdict.get("findings") or []

    def finding(self, kind: str) -> Mapping[str, Any] | None:
        return next((each for each in self.findings if each["kind"] == kind), None)

    def error_of(self, label: str, resident: float) -> float:
        """Bytes that the prediction may be wrong by, where so many are resident.

        Up to a quarter of what the clock purges is purged by chance.
        """
        run = self.runs.get(label, {})
        purged = (run.get("counters.jemallocPurgedPages") or 0) * 4096
        state = RESIDENT_AT[self.moment].removesuffix(".residentBytes")
        returned = run.get(f"{state}.account.returnedBytes") or 0
        return self.error_share * resident + min(purged, returned) / 4

    def held_bytes(self, run: Mapping[str, Any]) -> int | None:
        """Resident at the moment of the verdict."""
        value = run.get(RESIDENT_AT[self.moment])
        return None if value is None else int(value)


def specs_to_compare(space: Space) -> list[str]:
    """The installed allocators, or models where there are fewer than two."""
    listed = [each for each in list_allocators() if each["available"]]
    native = [each["spec"] for each in listed if each["kind"] == "native"]
    models = {each["family"]: each["spec"] for each in listed if each["kind"] == "model"}
    installed = {each.get("family") for each in listed if each["kind"] == "native"}
    wanted = [space.allocator] if len(native) > 1 else ["glibc", "jemalloc"]
    return [*native, *(models[name] for name in wanted if name in models and name not in installed)]


def compare(tape: str, specs: list[str], jobs: int) -> Comparison:
    options = ["--samples", "1024", "--jobs", str(jobs)]
    report = replay(tape, ["recorded", *specs], options=options).json
    runs = {}
    for run in report["runs"]:
        found = (run.get("failure") or {}).get("text") or figures(run)
        if not failure_of(found) and run["backend"] != "recorded":
            runs[run["label"]] = found
    return Comparison(report.get("verdict") or {}, runs)


def other_values(run: Figures) -> dict[str, float]:
    """The figures of another allocator. Committed bytes say little: some commit far more than they use."""
    values = memory_values(run, RESIDENT)
    return {RESIDENT: values.pop(PEAK), **values, **counts(run)}
