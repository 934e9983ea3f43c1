
// Counts of the runs, and how far to trust their figures: fidelity, losses.
"use strict";

(function () {
  const {element, part, figure, table, call, grouped} = heaptape;

  // Sentences about the gaps of the tape; none for a whole one.
  function lossesOf(data) {
    const {tape} = data;
    const some = (number, one, many) => Number(number || 0) === 0 ? null : grouped(number) + " " + (Number(number) === 1 ? one : many);
    return [
      tape.unseen ? tape.unseen + ", if any, were not seen" : null,
      some(tape.lostEvents, "call was lost while recording", "calls were lost while recording"),
      some(tape.unrepairedInversions, "block was handed out while it was alive, so its free is missing", "blocks were handed out while they were alive, so their frees are missing"),
      some(tape.lostRanges, "stretch of the tape is damaged", "stretches of the tape are damaged"),
      tape.isFinished ? null : "the tape was not finished, so later calls are unknown",
    ].filter(Boolean);
  }

  // A sentence on which calls the figures are of; null if they are of all from the first one on.
  function rangeOf({report}) {
    const {before, recorded} = (report ? report.runs : []).map((run) => run.accounting).find(Boolean) || {};
    if (Number(before || 0) === 0) return null;
    return `The figures are of calls ${call(Number(before) + 1)} to ${call(Number(before) + Number(recorded))} alone: earlier ones were made, and count only in counters and growth.`;
  }

  // For the top of the page; null for a whole recorded tape.
  function banner(data) {
    const losses = lossesOf(data);
    const words = [
      rangeOf(data),
      losses.length === 0 ? null : "This tape is incomplete: " + losses.join("; ") + ". All figures cover only what it has.",
      data.tape.lacks ? "Not in this trace, which was imported from " + data.tape.importedFrom + ": " + data.tape.lacks + "." : null,
    ].filter(Boolean);
    if (words.length === 0) return null;
    return element("p", {class: "banner", id: "banner", role: "note", text: words.join(" ")});
  }

  function counters(data) {
    const {report} = data;
    const there = report.runs.map((run, i) => i).filter((i) => (report.runs[i].counters || []).some((counter) => Number(counter.value) !== 0));
    if (there.length === 0) return null;
    const names = [...new Set(there.flatMap((i) => report.runs[i].counters.map((counter) => counter.name)))];
    const cell = (name, i) => {
      const at = report.runs[i].counters.findIndex((counter) => counter.name === name);
      return at < 0 ? "-" : figure(report, `runs.${i}.counters.${at}.value`, "count");
    };
    const rows = names.filter((name) => there.some((i) => report.runs[i].counters.some((counter) => counter.name === name && Number(counter.value) !== 0)))
                      .map((name) => [name, ...there.map((i) => cell(name, i))]);
    return part("counters", "Counters", `${grouped(rows.length)} of ${there.map((i) => data.runs[i].label).join(", ")}`,
                element("p", {class: "note", text: "Counts by the allocators and models themselves. Counters that are 0 in all runs are omitted."}),
                table("Counters", ["counter", ...there.map((i) => heaptape.named(data.runs[i].label))], rows));
  }

  function curves(data) {
    const {report} = data;
    const there = report.runs.map((run, i) => i).filter((i) => report.runs[i].growth && (report.runs[i].growth.curves || []).length !== 0);
    if (there.length === 0) return null;
    const bad = there.flatMap((i) => report.runs[i].growth.curves.filter((curve) => curve.grows).map((curve) => `${data.runs[i].label}: ${curve.verdict}`));
    const rows = there.flatMap((i) => report.runs[i].growth.curves.map((curve, n) => {
      const path = `runs.${i}.growth.curves.${n}.`;
      const isFitted = curve.fitted;
      return [data.runs[i].label, curve.operation, curve.work, curve.scale, figure(report, path + "operations", "count"), figure(report, path + "workTotal", "count"),
              isFitted ? figure(report, path + "exponent", "ratio") : "-",
              isFitted ? `${heaptape.value(curve.exponentLow, "ratio")} to ${heaptape.value(curve.exponentHigh, "ratio")}` : "-", curve.grows ? "grows" : ""];
    }));
    return part("curves", "Work that grows with the heap", bad.length === 0 ? "no operation costs more on a larger heap" : bad[0],
                ...bad.map((text) => element("p", {text})),
                table("Growth of work", ["run", "operation", "work", "against", "operations", "work in all", "exponent", "95% interval", ""], rows));
  }

  // The recorded run is not compared with itself.
  function hasFidelity(data, i) {
    const {fidelity: found} = data.report.runs[i];
    return Boolean(found) && data.runs[i].backend !== "recorded" && Number(found.comparedBlocks) !== 0;
  }

  function fidelityRow(data, i) {
    const run = data.report.runs[i];
    const path = `runs.${i}.`;
    const accounting = ["replayed", "failedCalls", "unknownFrees", "refused"].map((name) => figure(data.report, path + "accounting." + name, "count"));
    if (!hasFidelity(data, i)) return [data.runs[i].label, "-", "-", "-", ...accounting];
    return [data.runs[i].label, figure(data.report, path + "fidelity.sameOffsetShare", "percent"), figure(data.report, path + "fidelity.comparedBlocks", "count"),
            Number(run.fidelity.firstDifference) === 0 ? "none" : call(run.fidelity.firstDifference), ...accounting];
  }

  function fidelity(data) {
    const {report} = data;
    const there = report.runs.map((run, i) => i).filter((i) => report.runs[i].accounting);
    const losses = lossesOf(data);
    const refused = there.filter((i) => Number(report.runs[i].accounting.refused) !== 0);
    const exact = there.filter((i) => hasFidelity(data, i)).sort((a, b) => report.runs[b].fidelity.sameOffsetShare - report.runs[a].fidelity.sameOffsetShare)[0];
    const fact = [
      losses.length === 0 ? "nothing was lost" : "the tape is incomplete",
      exact === undefined ? null : `${heaptape.value(report.runs[exact].fidelity.sameOffsetShare, "percent")} of the blocks of ${data.runs[exact].label} lie where they were recorded`,
      refused.length === 0 ? null : "calls were refused",
    ].filter(Boolean).join("; ");
    const tape = ["lostEvents", "unrepairedInversions", "lostRanges"].map((name) => figure(report, "tape.losses." + name, "count"));
    const reasons = there.filter((i) => report.runs[i].incomparable).map((i) => element("li", {text: data.runs[i].label + ": " + report.runs[i].incomparable}));
    return part("fidelity", "Fidelity and losses", fact,
                table("Losses", ["on the tape", ""], [["calls lost while recording", tape[0]], ["blocks handed out while alive", tape[1]], ["damaged stretches", tape[2]]]),
                table("Fidelity", ["run", "blocks where they were recorded", "compared", "first difference", "replayed", "failed when recorded", "frees of unknown blocks", "refused"],
                      there.map((i) => fidelityRow(data, i))),
                reasons.length === 0 ? null : element("ul", {class: "lines"}, ...reasons));
  }

  heaptape.trust = {banner, counters, curves, fidelity};
})();
