
// The latency of single calls, by kind of call and by run. docs/metrics.md, "Time".
"use strict";

(function () {
  const {element, part, figure, table, call, duration} = heaptape;

  const COLUMNS = [["p50Ns", "p50"], ["p99Ns", "p99"], ["p999Ns", "p99.9"], ["maxNs", "max"]];
  const BANDS = {to64: "to 64 B", to512: "to 512 B", to4KiB: "to 4 KiB", to128KiB: "to 128 KiB", above128KiB: "above 128 KiB"};

  // Kinds of calls in order of appearance: [{op, sizes, of: [[run, entry]]}].
  function kindsOf(report) {
    const kinds = new Map();
    report.runs.forEach((run, i) => (run.latency || []).forEach((one, entry) => {
      const key = one.op + " " + one.sizes;
      if (!kinds.has(key)) kinds.set(key, {op: one.op, sizes: one.sizes, of: []});
      kinds.get(key).of.push([i, entry]);
    }));
    return [...kinds.values()];
  }

  // Powers of ten around all values, as exponents: [1, 6].
  function scaleOf(report) {
    const all = report.runs.flatMap((run) => (run.latency || []).flatMap((one) => [Number(one.p50Ns), Number(one.maxNs)])).filter((ns) => ns > 0);
    if (all.length === 0) return [0, 1];
    const low = Math.floor(Math.log10(Math.min(...all)));
    return [low, Math.max(low + 1, Math.ceil(Math.log10(Math.max(...all))))];
  }
  function place(ns, [low, high]) {
    return Math.min(100, Math.max(0, (Math.log10(Math.max(1, Number(ns))) - low) / (high - low) * 100));
  }

  // Broad from p50 to p99, narrow to p99.9, with a stroke at the maximum.
  function range(one, scale) {
    const span = (kind, from, to) => {
      const left = place(from, scale);
      return element("div", {class: kind, style: {left: left + "%", width: place(to, scale) - left + "%"}});
    };
    const words = COLUMNS.map(([name, text]) => text + " " + duration(one[name])).join(", ");
    return element("div", {class: "range", role: "img", "aria-label": words, title: words},
                   span("narrow", one.p50Ns, one.p999Ns), span("broad", one.p50Ns, one.p99Ns),
                   element("div", {class: "stroke", style: {left: place(one.maxNs, scale) + "%"}}));
  }

  function axis(scale) {
    const made = element("div", {class: "range-axis", "aria-hidden": "true"});
    const step = Math.ceil((scale[1] - scale[0]) / 4);
    const text = (power) => ["1 ns", "10 ns", "100 ns", "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"][power] || "";
    for (let power = scale[0]; power <= scale[1]; power += step) {
      made.append(element("span", {text: text(power), style: {left: (power - scale[0]) / (scale[1] - scale[0]) * 100 + "%"}}));
    }
    return made;
  }

  function kindTable(data, kind, scale) {
    const {report} = data;
    const name = kind.op + (kind.sizes ? " of blocks " + (BANDS[kind.sizes] || kind.sizes) : "");
    const rows = kind.of.map(([run, entry]) => {
      const one = report.runs[run].latency[entry];
      const path = `runs.${run}.latency.${entry}.`;
      return [data.runs[run].label, range(one, scale), ...COLUMNS.map(([field]) => figure(report, path + field, "ns")), call(one.maxAt), figure(report, path + "samples", "count")];
    });
    rows.push(["", axis(scale), "", "", "", "", "", ""]);
    return element("div", {class: "kind"}, element("h3", {text: name}),
                   table(name, ["run", "p50 to p99.9, and the slowest; each step is tenfold", ...COLUMNS.map(([, text]) => text), "slowest at", "timed"], rows));
  }

  function section(data) {
    const kinds = kindsOf(data.report);
    if (kinds.length === 0) return null;
    const scale = scaleOf(data.report);
    const whole = kinds.filter((kind) => !kind.sizes);
    const banded = kinds.filter((kind) => kind.sizes);
    const first = whole[0] || kinds[0];
    const p99 = ([run, entry]) => Number(data.report.runs[run].latency[entry].p99Ns);
    const [run, entry] = [...first.of].sort((a, b) => p99(a) - p99(b))[0];
    const fact = `${data.runs[run].label} has the lowest p99 of ${first.op}: ${duration(data.report.runs[run].latency[entry].p99Ns)}`;
    return part("latency", "Latency", fact,
                element("p", {class: "note", text: "Only calls that were timed individually, without the time it takes to read the clock."}),
                ...whole.map((kind) => kindTable(data, kind, scale)),
                banded.length === 0 ? null : element("details", {}, element("summary", {text: "By size"}), ...banded.map((kind) => kindTable(data, kind, scale))));
  }

  heaptape.latency = section;
})();
