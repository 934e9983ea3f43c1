
// The lines of a chart: their number, points, looks and axes.
"use strict";

(function () {
  const WORDS = {
    residentBytes: "Resident memory",
    committedBytes: "Committed memory",
    residentHoleBytes: "Holes, resident",
    liveBytes: "Live: as requested by the program",
    usableBytes: "Usable: live and slack",
    liveCount: "Live blocks",
    cumulativeBytesUpper: "Requested so far",
    cumulativeBytesLower: "Requested so far, without old sizes of reallocs",
    "holes.count": "Holes",
    "holes.bytes": "Holes, resident or not",
    "holes.largest": "The largest hole",
    "holes.over64KiB": "Holes over 64 KiB",
    "holes.over1MiB": "Holes over 1 MiB",
    "holes.over8MiB": "Holes over 8 MiB",
    "holes.topBytes": "Free at the ends of regions",
  };
  const FIRST = ["residentBytes", "residentHoleBytes", "committedBytes", "liveBytes"];
  const DASHES = [null, [6, 3], [12, 4], [9, 3, 3, 3], [14, 3, 3, 3, 3, 3]];
  const DOTS = [[2, 2], [2, 5], [2, 2, 2, 6]];  // of models
  const COLOURS = 8;

  // The recorded run has a broad line, models have dots. For two reports' runs, `pair` matches the runs, and dashes mark the
  // base.
  function lookOf(run, number) {
    const isModel = /^(?:model|plugin):/.test(run.backend || "");
    const isRecorded = run.backend === "recorded";
    const width = isRecorded ? 3.2 : 1.6;
    if (run.pair !== undefined) return {colour: "run-" + run.pair % COLOURS, dash: run.isBase ? DASHES[1] : null, width};
    const dashes = isRecorded ? [null] : isModel ? DOTS : DASHES;
    return {colour: "run-" + number % COLOURS, dash: dashes[number % dashes.length], width};
  }

  // The lines of a series that are drawn: one for all runs if they are equal. Those of a stack come
  // from its top.
  function linesOf(series) {
    const there = series.runs.map((line, run) => ({line, run})).filter((one) => one.line);
    if (series.isStacked) return there.reverse();
    const first = there[0];
    const same = there.length > 1 && there.every((one) => one.line.values === first.line.values && one.line.at === first.line.at);
    return same ? [{...first, ofAll: true}] : there;
  }

  // Rows for dygraphs: a place and the value of each line there, null if it has none.
  function rowsOf(lines, lists, axis) {
    const rows = new Map();
    lines.forEach((one, column) => {
      const places = lists[one.line[axis]];
      const values = lists[one.line.values];
      places.forEach((place, i) => {
        const x = axis === "timeNs" ? Number(place) / 1e9 : Number(place);
        if (!rows.has(x)) rows.set(x, [x, ...lines.map(() => null)]);
        rows.get(x)[column + 1] = Number(values[i]);
      });
    });
    return [...rows.values()].sort((a, b) => a[0] - b[0]);
  }

  // Steps of 1, 2, 4, 8, ... bytes, or of 1, 2, 5, 10, ...
  function stepFor(range, most, unit) {
    const least = range / most;
    if (unit === "bytes") return Math.pow(2, Math.ceil(Math.log2(Math.max(1, least))));
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least);
    return unit === "count" ? Math.max(1, step) : step;
  }
  // text(v, digits): with more digits where fewer would give two ticks one label.
  function ticks(low, high, most, unit, text) {
    const step = stepFor(Math.max(high - low, 1e-9), most, unit);
    const places = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) places.push(v);
    let labels = [];
    for (let digits = 3; digits <= 15; ++digits) {
      labels = places.map((v) => text(v, digits));
      if (new Set(labels).size === labels.length) break;
    }
    return places.map((v, i) => ({v, label: labels[i]}));
  }
  // Keeps ticks out of the band at the top with the names of moments.
  const BAND = 14;  // pixels
  function yTicks(unit) {
    const text = unit === "bytes" ? heaptape.shortBytes : heaptape.short;
    return (low, high, pixels) => ticks(low, high - (high - low) * (BAND - 2) / pixels, 4, unit, text);
  }
  function xText(axis, x) {
    return axis === "timeNs" ? Number(x.toPrecision(6)) + " s" : "#" + heaptape.grouped(Math.round(x));
  }
  function xTicks(axis, width) {
    const text = (v, digits) => axis === "timeNs" ? Number(v.toPrecision(digits + 3)) + " s" : "#" + heaptape.short(v, digits);
    return (low, high) => ticks(low, high, Math.max(4, Math.floor(width() / 90)), axis === "timeNs" ? "ratio" : "count", text);
  }

  function dashSwatch(look) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "dash");
    svg.setAttribute("viewBox", "0 0 24 10");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of Object.entries({x1: 0, x2: 24, y1: 5, y2: 5, "stroke-width": look.width * 2})) line.setAttribute(name, value);
    line.style.stroke = "var(--" + look.colour + ")";
    if (look.dash) line.setAttribute("stroke-dasharray", look.dash.join(" "));
    svg.append(line);
    return svg;
  }

  // Integers for an axis.
  function countTicks(low, high, most) {
    return ticks(low, high, most, "count", heaptape.short);
  }

  heaptape.chartLines = {countTicks, WORDS, FIRST, BAND, lookOf, linesOf, rowsOf, yTicks, xText, xTicks, dashSwatch};
})();
