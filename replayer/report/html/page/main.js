
// Builds the page from its data.
"use strict";

(function () {
  const {element} = heaptape;

  // A failing part reports its error, and the rest is shown.
  function report(error) {
    document.documentElement.dataset.errors = String(Number(document.documentElement.dataset.errors || 0) + 1);
    document.getElementById("main").append(
        element("p", {class: "failed", text: "A part of this page failed: " + error}));
    console.error(error);
  }

  function add(make) {
    try {
      const main = document.getElementById("main");
      const made = make(main);
      if (made) main.append(made);
    } catch (error) {
      report(error);
    }
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  const head = {diff: heaptape.diff.head, explain: heaptape.explain.head, replay: heaptape.summary.head}[data.kind](data);
  document.getElementById("static").remove();
  document.getElementById("head").append(...head);
  if (data.kind === "diff") {
    add(() => heaptape.diff.gates(data));
    add(() => heaptape.diff.account(data));
    add(() => heaptape.diff.runs(data));
    add((main) => heaptape.diff.charts(data, main));
    let flame = null;
    add((main) => { flame = heaptape.flame(data, main); });
    add(() => heaptape.diff.cohorts(data));
    add(() => heaptape.diff.sites(data, flame));
  } else if (data.kind === "explain") {
    for (const part of heaptape.explain.parts) add(() => part(data));
  } else {
    add(() => heaptape.summary.account(data));
    add(() => heaptape.summary.runs(data));
    let charts = null;
    let map = null;
    add((main) => { charts = heaptape.charts(data, main); });
    add((main) => { map = heaptape.heapMap(data, main); });
    if (charts && map) heaptape.shareCursor(charts, map);
    let flame = null;
    add((main) => { flame = heaptape.flame(data, main); });
    if (charts) add(() => heaptape.shareMoment(data, charts, map, flame));
    for (const part of [heaptape.process, heaptape.program.sizes, heaptape.program.lifetimes, heaptape.program.buffers, heaptape.heaps.holes, heaptape.heaps.growths,
                        heaptape.latency, heaptape.trust.curves, heaptape.trust.counters, heaptape.trust.fidelity]) add(() => part(data));
    add(() => heaptape.summary.lines(data));
  }
  add(() => heaptape.termsSection());
  document.getElementById("foot").append("Made by heaptape " + data.heaptape + ". docs/metrics.md defines every figure.");
  heaptape.copying.addButtons(data);
  heaptape.state.start();
  document.documentElement.dataset.ready = "yes";
})();
