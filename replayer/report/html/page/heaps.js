
// The heaps of the runs: holes by size, and why they grew. docs/metrics.md, "Holes and pins" and
// "Growths of the heap".
"use strict";

(function () {
  const {element, part, figure, table, bars, bandText, call, bytes, grouped} = heaptape;

  // The states of any run that have holes: [state, words].
  function statesOf(report) {
    const states = [["atPeak", "at the peak"], ["atPlateau", "at the plateau"], ["atExit", "at the exit"], ["end", "at the end"]];
    return states.filter(([state]) => report.runs.some((run) => run[state] && run[state].holes));
  }

  function panel(data, number, state, most) {
    const {holes} = data.report.runs[number][state];
    const path = `runs.${number}.${state}.holes.`;
    const rows = (holes.histogram || []).map((bucket, i) => ({
      name: bandText(bucket.log2Size),
      value: bucket.bytes,
      figure: figure(data.report, `${path}histogram.${i}.bytes`, "bytes"),
      after: "in " + grouped(bucket.count),
    }));
    const sum = element("p", {class: "note"}, element("span", figure(data.report, path + "bytes", "bytes")), element("span", {text: " in "}),
                        element("span", figure(data.report, path + "count", "count")), element("span", {text: " holes; the largest has "}),
                        element("span", figure(data.report, path + "largest", "bytes")));
    return element("div", {class: "panel"}, element("h3", {text: data.runs[number].label}), sum, bars(rows, most, "part-hole"));
  }

  function panels(data, state) {
    const there = data.report.runs.map((run, i) => i).filter((i) => data.report.runs[i][state] && data.report.runs[i][state].holes);
    const all = there.flatMap((i) => (data.report.runs[i][state].holes.histogram || []).map((bucket) => Number(bucket.bytes)));
    return element("div", {class: "panels"}, ...there.map((i) => panel(data, i, state, Math.max(0, ...all))));
  }

  function holes(data) {
    const states = statesOf(data.report);
    if (states.length === 0) return null;
    const first = (states.find(([state]) => state === "atPlateau") || states[0])[0];
    const words = states.find(([state]) => state === first)[1];
    const sums = data.report.runs.map((run, i) => ({label: data.runs[i].label, holes: run[first] && run[first].holes})).filter((one) => one.holes);
    const least = [...sums].sort((a, b) => Number(a.holes.bytes) - Number(b.holes.bytes));
    const text = (one) => `${one.label} has ${bytes(one.holes.bytes)} in ${heaptape.counted(one.holes.count, "hole")}`;
    const fact = `${words}, ${text(least[0])}` + (least.length > 1 ? `; ${text(least[least.length - 1])}` : "");
    const place = element("div", {}, panels(data, first));
    const tools = heaptape.choice("Moment", states, first, (state) => place.replaceChildren(panels(data, state)), "holes");
    heaptape.onMoment(({names}) => {
      const found = states.find(([, words]) => names.some((name) => "at the " + name === words));
      if (found) tools.querySelector(`[data-value="${found[0]}"]`).click();
    });
    return part("holes", "Holes by size", fact,
                element("p", {class: "note", text: "Free memory between blocks, by the size of the hole: from the first size to below the second, resident or not. All runs are on one scale."}),
                tools, place);
  }

  // The same as in `heaptape explain`.
  function growthRow(report, growth, path) {
    const isShort = growth.pin && Number(growth.shortBytes) !== 0;
    return [call(growth.at), figure(report, path + "growthBytes", "bytes"), figure(report, path + "requestBytes", "count"),
            figure(report, path + "largestHoleBytes", "count"), figure(report, path + "shortBytes", "count"),
            isShort ? `${grouped(growth.pin.requestedBytes)} bytes of ${call(growth.pin.birth)}` : "",
            figure(report, path + "freeBytes", "bytes"), Number(growth.givenBackAt) === 0 ? "never" : call(growth.givenBackAt)];
  }
  const GROWTHS = ["at call", "by", "request, bytes", "largest hole, bytes", "short by, bytes", "pinned by", "free in all", "given back"];

  // `growths` are at `path` in the report. Adds the rules by which a model took the memory, and the
  // sites, if known.
  function growthTable(report, growths, path, label) {
    const rows = growths.map((growth, i) => growthRow(report, growth, `${path}${i}.`));
    const rules = growths.filter((growth) => growth.rule || growth.site).map((growth) =>
      element("li", {text: call(growth.at) + ": " + [growth.site && "for " + growth.site, growth.pin && growth.pin.site && Number(growth.shortBytes) !== 0 && "pinned by a block of " + growth.pin.site, growth.rule].filter(Boolean).join("; ")}));
    return element("div", {}, table(label, GROWTHS, rows), rules.length === 0 ? null : element("ul", {class: "lines"}, ...rules));
  }

  function growths(data) {
    const {report} = data;
    const there = report.runs.map((run, i) => i).filter((i) => (report.runs[i].heapGrowths || []).length !== 0);
    if (there.length === 0) return null;
    const largest = there.map((i) => ({i, growth: report.runs[i].heapGrowths[0]})).sort((a, b) => Number(b.growth.growthBytes) - Number(a.growth.growthBytes))[0];
    const fact = `the largest: ${data.runs[largest.i].label} took ${bytes(largest.growth.growthBytes)} at ${call(largest.growth.at)}`;
    return part("heap-growths", "Growths and pins", fact,
                element("p", {class: "note", text: "Calls at which the committed bytes rose above all before. A growth is short where no hole was large enough for the request; the pin is the block without which the largest hole would have been larger." +
                                                  (data.stacks ? " The flame graph has bytes pinned by function." : "")}),
                ...there.flatMap((i) => [element("h3", {text: data.runs[i].label}), growthTable(report, report.runs[i].heapGrowths, `runs.${i}.heapGrowths.`, "Growths of " + data.runs[i].label)]));
  }

  heaptape.heaps = {holes, growths, growthTable};
})();
