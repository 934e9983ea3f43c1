
// The program's requests, whatever the allocator: sizes, lifetimes, growing buffers.
// docs/metrics.md, "Sizes and lifetimes".
"use strict";

(function () {
  const {element, part, figure, table, bars, bandText, call, share, grouped, counted} = heaptape;

  const MEASURES = {
    peakBytes: {words: "bytes live at the peak", unit: "bytes", colour: "part-live"},
    askedBytes: {words: "bytes requested", unit: "bytes", colour: "part-top"},
    calls: {words: "calls", unit: "count", colour: "part-other"},
  };

  function sizeBars(report, measure) {
    const {sizes} = report.program;
    const {unit, colour} = MEASURES[measure];
    const values = sizes.map((band) => Number(band[measure]));
    const sum = values.reduce((all, value) => all + value, 0);
    const rows = sizes.map((band, i) => ({
      name: bandText(band.log2Size),
      value: values[i],
      figure: figure(report, `program.sizes.${i}.${measure}`, unit),
      after: values[i] === 0 ? "" : share(values[i], sum) + (measure === "peakBytes" ? ", " + counted(band.peakCount, "block") : ""),
    }));
    return bars(rows, Math.max(...values), colour);
  }

  function sizes({report}) {
    if (!report.program || !report.program.sizes || report.program.sizes.length === 0) return null;
    const all = report.program.sizes;
    const sum = all.reduce((total, band) => total + Number(band.peakBytes), 0);
    const first = sum === 0 ? "askedBytes" : "peakBytes";
    const most = [...all].sort((a, b) => Number(b[first]) - Number(a[first]))[0];
    const whole = all.reduce((total, band) => total + Number(band[first]), 0);
    const fact = `${share(most[first], whole)} of the ${MEASURES[first].words} are in blocks of ${bandText(most.log2Size)}`;
    const place = element("div", {}, sizeBars(report, first));
    return part("sizes", "Sizes", fact,
                element("p", {class: "note", text: "Requests of the program by size: from the first size to below the second. Excludes allocator overhead."}),
                heaptape.choice("Measure", Object.entries(MEASURES).map(([name, {words}]) => [name, words]), first,
                                (measure) => place.replaceChildren(sizeBars(report, measure))), place);
  }

  function lifetimeBars(report) {
    const {cdf = []} = report.program.lifetimes.calls;
    const rows = cdf.map((point, i) => ({
      name: (Number(point.upTo) > 1 ? "up to " : "") + counted(point.upTo, "call"),
      value: point.share,
      figure: figure(report, `program.lifetimes.calls.cdf.${i}.share`, "share"),
      after: "of all blocks",
    }));
    return bars(rows, 1, "part-live");
  }

  function lifetimes({report}) {
    if (!report.program || Number(report.program.lifetimes.blocks) === 0) return null;
    const {lifetimes: all} = report.program;
    const path = "program.lifetimes.";
    const median = all.calls.hasMedian ? figure(report, path + "calls.median", "count") : {text: "never freed"};
    const rows = [
      ["blocks that were allocated", figure(report, path + "blocks", "count")],
      ["freed by the very next call", figure(report, path + "shareAtZero", "share")],
      ["lived less than 0.01% of the run's calls", figure(report, path + "shareUnderTenThousandth", "share")],
      ["lived less than 10% of the run's calls", figure(report, path + "shareUnderTenth", "share")],
      ["median lifetime, in calls", median],
      ["never freed", figure(report, path + "survivors", "count")],
      ["bytes never freed", figure(report, path + "survivorBytes", "bytes")],
    ];
    const half = all.calls.hasMedian ? "half live at most " + counted(all.calls.median, "call") : "half are never freed";
    const fact = `${share(all.shareAtZero, 1)} of ${grouped(all.blocks)} blocks are freed by the very next call; ${half}`;
    return part("lifetimes", "Lifetimes", fact,
                element("p", {class: "note", text: "A lifetime is the number of calls between the allocation of a block and its free. Each bar is the share of blocks that lived no longer."}),
                lifetimeBars(report), table("Lifetimes", ["", ""], rows));
  }

  function chainRows(report) {
    const {growthChains} = report.program;
    return (growthChains.costliest || []).map((chain, i) => {
      const path = `program.growthChains.costliest.${i}.`;
      return [call(chain.birth), "t" + chain.thread, figure(report, path + "fromBytes", "bytes"), figure(report, path + "toBytes", "bytes"),
              figure(report, path + "length", "count"), figure(report, path + "copiedBytes", "bytes")];
    });
  }

  // How many resizes moved: in the recording, and in each run.
  function resizeRows(data) {
    const {report} = data;
    const row = (name, path) => [name, ...["inPlace", "moved"].map((metric) => figure(report, path + metric, "count")), figure(report, path + "movedBytes", "bytes")];
    const rows = [row("as recorded", "program.resizes.")];
    report.runs.forEach((run, i) => {
      if (run.resizes && data.runs[i].backend !== "recorded") rows.push(row(data.runs[i].label, `runs.${i}.resizes.`));
    });
    return rows;
  }

  function buffers(data) {
    const {report} = data;
    if (!report.program || !report.program.resizes) return null;
    const {resizes, growthChains} = report.program;
    if (Number(resizes.inPlace) + Number(resizes.moved) === 0) return null;
    const fact = `${grouped(growthChains.growths)} growths of ${grouped(growthChains.count)} buffers; as recorded their resizes copied ${heaptape.bytes(growthChains.copiedBytes)}`;
    const rows = chainRows(report);
    return part("buffers", "Buffers that grow", fact,
                table("Resizes", ["resizes", "in place", "moved", "copied"], resizeRows(data)),
                rows.length === 0 ? null : element("h3", {text: "The blocks whose growth copied most"}),
                rows.length === 0 ? null : table("Growth chains", ["born", "thread", "from", "to", "growths", "copied"], rows));
  }

  heaptape.program = {sizes, lifetimes, buffers};
})();
