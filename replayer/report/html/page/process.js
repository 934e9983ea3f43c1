// The recorded process: who had its anonymous memory, at each moment. docs/metrics.md, "The process".
"use strict";

(function () {
  const {element, part, figure, table, bytes, share, Chart, ChartView} = heaptape;

  const MOST_OWNERS = 12;
  const MOST_LINES = 8;  // as many colours as there are

  // [{words, path, sample}]: of the samples whose parts are known, each once.
  function samplesOf(report) {
    const found = [];
    const add = (words, path, sample) => {
      if (!sample || !sample.anonymous) return;
      const same = found.find((one) => one.sample.at === sample.at && one.sample.timeNs === sample.timeNs);
      if (same) {
        same.words.push(words);
      } else {
        found.push({words: [words], path, sample});
      }
    };
    (report.moments || []).forEach(({name, process}, i) => add(heaptape.summary.momentWords(name), `moments.${i}.process`, process));
    add("at its own peak", "tape.largestSample", report.tape.largestSample);
    return found;
  }

  const ownersOf = ({anonymous}) => anonymous.owners || [];

  // Names, those first that have most in any sample.
  function mainOwners(samples) {
    const most = new Map();
    for (const {owner, bytes: size} of samples.flatMap(({sample}) => ownersOf(sample))) {
      most.set(owner, Math.max(most.get(owner) || 0, Number(size)));
    }
    return [...most.keys()].sort((a, b) => most.get(b) - most.get(a)).slice(0, MOST_OWNERS);
  }

  // Memory that no other row has.
  function rest({anonymousBytes, anonymous}, names) {
    const named = ownersOf({anonymous}).filter(({owner}) => names.includes(owner));
    const known = named.reduce((sum, {bytes: size}) => sum + Number(size), Number(anonymous.mallocBytes) + Number(anonymous.stackBytes));
    return bytes(Number(anonymousBytes) - known);
  }

  // The owner with the heaps inside it: "python3.11 (pymalloc)".
  function ownerText(owner, {ownersWithHeaps}) {
    const found = ownersWithHeaps.find((one) => one.owner === owner);
    return found ? found.text : owner;
  }

  // Lines of a stacked chart, bottom first: malloc, owners, and two for the rest.
  function linesOf({anonymousBytes, mallocBytes, stackBytes, owners}, tape) {
    const shown = (owners || []).slice(0, MOST_LINES - 3).map(({owner, bytes: values}) => ({label: ownerText(owner, tape), values}));
    const lines = [{label: "malloc", values: mallocBytes}, ...shown, {label: "stacks of threads", values: stackBytes}];
    const rest = anonymousBytes.map((whole, i) => lines.reduce((left, {values}) => left - Number(values[i]), Number(whole)));
    return [...lines, {label: shown.length === 0 ? "beside malloc" : "other", values: rest}];
  }

  // The memory of the owners over time; null if there are no samples of two times.
  function chartOf(data, heading) {
    const timeline = data.report.process;
    if (!timeline || new Set(timeline.timeNs.map(Number)).size < 2) return null;
    const lines = linesOf(timeline, data.tape).map((line, run) => ({...line, run}));
    const lists = [timeline.at, timeline.timeNs, ...lines.map(({values}) => values)];
    const view = new ChartView({runs: lines.map(({label}) => ({label})), moments: data.moments, timeline: {lists}});
    const runs = lines.map(({run}) => ({at: 0, timeNs: 1, values: run + 2}));
    view.axis = "timeNs";
    view.status = element("span", {class: "note", role: "status"});
    const chart = new Chart(view, {metric: "process", unit: "bytes", title: "Anonymous memory by owner", isStacked: true, runs});
    const place = element("div", {class: "charts"});
    heading.addEventListener("toggle", () => {
      if (view.charts.length !== 0) return;
      view.add(chart, place);
      view.tell();
      heaptape.onTheme(() => view.recolour());
    });
    return element("div", {}, place, element("div", {class: "tools"}, view.status));
  }

  function process(data) {
    const {report} = data;
    const samples = samplesOf(report);
    if (samples.length === 0) return null;
    const names = mainOwners(samples);
    const row = (heading, cellOf) => [heading, ...samples.map(cellOf)];
    const ofOwner = (name) => ({path, sample}) => {
      const at = ownersOf(sample).findIndex(({owner}) => owner === name);
      return at < 0 ? "" : figure(report, `${path}.anonymous.owners.${at}.bytes`, "bytes");
    };
    const rows = [
      row("malloc", ({path}) => figure(report, path + ".anonymous.mallocBytes", "bytes")),
      ...names.map((name) => row(ownerText(name, data.tape), ofOwner(name))),
      row("stacks of threads", ({path}) => figure(report, path + ".anonymous.stackBytes", "bytes")),
      row(names.length === 0 ? "beside malloc" : "other", ({sample}) => rest(sample, names)),
      row("= anonymous", ({path}) => figure(report, path + ".anonymousBytes", "bytes")),
    ];
    const {words, sample} = [...samples].sort((a, b) => Number(b.sample.anonymousBytes) - Number(a.sample.anonymousBytes))[0];
    const fact = `${words[words.length - 1]}, ${share(sample.anonymous.mallocBytes, sample.anonymousBytes)} of ${bytes(sample.anonymousBytes)} anonymous memory is malloc's`;
    const made = part("process", "The process", fact,
                element("p", {class: "note", text: "Who had the anonymous memory of the recorded process when it was sampled nearest to each moment. No allocator changes what is not malloc's."}),
                table("The process", ["", ...samples.map((one) => one.words.join(", "))], rows));
    const chart = chartOf(data, made.firstChild);
    if (chart) made.firstChild.append(chart);
    return made;
  }

  heaptape.process = process;
})();
