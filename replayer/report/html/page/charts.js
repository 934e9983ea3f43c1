
// The timelines: a chart for each metric, a line for each run, one zoom and one cursor for all.
// dygraphs draws; names of runs never get to it, for it makes markup of its labels.
"use strict";

(function () {
  const {element, section, colour} = heaptape;

  const WORDS = {
    residentBytes: "Resident memory",
    committedBytes: "Committed memory",
    residentHoleBytes: "Holes, resident",
    liveBytes: "Live: what the program asked for",
    usableBytes: "Usable: live and slack",
    liveCount: "Live blocks",
    cumulativeBytesUpper: "Asked for so far",
    cumulativeBytesLower: "Asked for so far, without old sizes of reallocs",
    "holes.count": "Holes",
    "holes.bytes": "Holes, resident or not",
    "holes.largest": "The largest hole",
    "holes.over64KiB": "Holes over 64 KiB",
    "holes.over1MiB": "Holes over 1 MiB",
    "holes.over8MiB": "Holes over 8 MiB",
    "holes.topBytes": "Free at the ends of regions",
  };
  const FIRST = ["residentBytes", "residentHoleBytes", "committedBytes", "liveBytes"];
  const DASHES = [null, [6, 3], [2, 2], [9, 3, 2, 3], [12, 4]];
  const COLOURS = 8;

  function runColour(run) {
    return colour("run-" + run % COLOURS);
  }
  function runDash(run) {
    return DASHES[run % DASHES.length];
  }

  // Of the series: which of its lines are drawn. One for all runs where they are equal.
  function linesOf(series) {
    const there = series.runs.map((line, run) => ({line, run})).filter((one) => one.line);
    const first = there[0];
    const same = there.length > 1 && there.every((one) => one.line.values === first.line.values && one.line.at === first.line.at);
    return same ? [{...first, ofAll: true}] : there;
  }

  // Rows for dygraphs: a place and the value of each line there, null where it has none.
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
  function ticks(low, high, most, unit, text) {
    const step = stepFor(Math.max(high - low, 1e-9), most, unit);
    const list = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) list.push({v, label: text(v)});
    return list;
  }
  function yTicks(unit) {
    const text = (v) => unit === "bytes" ? heaptape.shortBytes(v) : heaptape.short(v);
    return (low, high) => ticks(low, high, 4, unit, text);
  }
  function xText(axis, x) {
    return axis === "timeNs" ? Number(x.toPrecision(6)) + " s" : "#" + heaptape.grouped(Math.round(x));
  }
  function xTicks(axis, width) {
    const text = (v) => axis === "timeNs" ? Number(v.toPrecision(6)) + " s" : "#" + heaptape.short(v);
    return (low, high) => ticks(low, high, Math.max(2, Math.floor(width() / 90)), axis === "timeNs" ? "ratio" : "count", text);
  }

  // The row nearest to a place.
  function nearest(rows, x) {
    let low = 0;
    let high = rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle][0] < x) low = middle + 1;
      else high = middle;
    }
    return low > 0 && x - rows[low - 1][0] < rows[low][0] - x ? low - 1 : low;
  }

  function dashSwatch(run) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "dash");
    svg.setAttribute("viewBox", "0 0 24 10");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of Object.entries({x1: 0, x2: 24, y1: 5, y2: 5, "stroke-width": 3})) line.setAttribute(name, value);
    line.style.stroke = "var(--run-" + run % COLOURS + ")";
    if (runDash(run)) line.setAttribute("stroke-dasharray", runDash(run).join(" "));
    svg.append(line);
    return svg;
  }

  // One metric.
  class Chart {
    constructor(view, series) {
      this.view = view;
      this.series = series;
      this.lines = linesOf(series);
      this.plot = element("div", {class: "plot", tabindex: "0", role: "img", onkeydown: (event) => view.key(event),
                                  "aria-label": this.title() + " of each run; arrows move the cursor, + and - zoom"});
      this.values = element("div", {class: "values"});
      this.figure = element("figure", {class: "chart", "data-metric": series.metric},
                            element("figcaption", {}, element("span", {class: "title", text: this.title()})),
                            this.values, this.plot);
    }
    title() {
      if (this.series.isProcess) return "Resident memory of the recorded process";
      return WORDS[this.series.metric] || this.series.metric;
    }
    // Once the figure is on the page.
    draw() {
      this.rows = rowsOf(this.lines, this.view.lists, this.view.axis);
      if (this.graph) this.graph.destroy();
      this.graph = new Dygraph(this.plot, this.rows, this.options());
      this.show(null);
    }
    options() {
      const width = () => this.plot.clientWidth;
      return {
        labels: ["x", ...this.lines.map((one) => "line " + one.run)],
        ...this.look(),
        visibility: this.lines.map((one) => this.view.shows(one)),
        legend: "never",
        includeZero: true,
        connectSeparatedPoints: true,
        animatedZooms: false,
        highlightCircleSize: 3,
        xRangePad: 4,
        yRangePad: 6,
        interactionModel: this.interaction(),
        axes: {
          x: {ticker: xTicks(this.view.axis, width), axisLabelWidth: 70, axisLabelFormatter: (v) => String(v)},
          y: {ticker: yTicks(this.series.unit), axisLabelWidth: 62, axisLabelFormatter: (v) => String(v)},
        },
        highlightCallback: (event, x) => this.view.moveCursor(x),
        unhighlightCallback: () => this.view.moveCursor(null),
        drawCallback: (graph, isFirst) => { if (!isFirst) this.view.zoomed(this); },
        underlayCallback: (context, area, graph) => this.drawMoments(context, area, graph),
      };
    }
    // Without touch: a finger scrolls the page.
    interaction() {
      const {mousedown, mousemove, mouseup, dblclick, willDestroyContextMyself} = Dygraph.defaultInteractionModel;
      return {mousedown, mousemove, mouseup, willDestroyContextMyself, dblclick: () => this.view.zoomTo(null)};
    }
    look() {
      return {
        colors: this.lines.map((one) => one.ofAll ? colour("ink") : runColour(one.run)),
        series: Object.fromEntries(this.lines.map((one) => ["line " + one.run, {strokePattern: one.ofAll ? null : runDash(one.run), strokeWidth: 1.6}])),
        gridLineColor: colour("line"),
        axisLineColor: colour("soft"),
      };
    }
    drawMoments(context, area, graph) {
      context.save();
      context.strokeStyle = colour("soft");
      context.fillStyle = colour("soft");
      context.font = "10px system-ui, sans-serif";
      context.setLineDash([2, 3]);
      let freeFrom = area.x;
      for (const moment of this.view.moments()) {
        const x = graph.toDomXCoord(moment.x);
        if (x < area.x || x > area.x + area.w) continue;
        context.beginPath();
        context.moveTo(x, area.y);
        context.lineTo(x, area.y + area.h);
        context.stroke();
        const width = context.measureText(moment.text).width + 6;
        const left = x + width > area.x + area.w ? x - width + 3 : x + 3;
        if (left < freeFrom) continue;
        context.fillText(moment.text, left, area.y + 9);
        freeFrom = left + width;
      }
      context.restore();
    }
    // The values at the cursor; without one, the names of what is drawn.
    show(x) {
      const row = x === null ? null : this.rows[nearest(this.rows, x)];
      this.values.replaceChildren(...this.lines.map((one, column) => {
        if (!this.view.shows(one)) return null;
        const name = one.ofAll ? "all runs" : this.view.runs[one.run].label;
        const value = row && row[column + 1] !== null ? " " + heaptape.value(row[column + 1], this.series.unit) : "";
        if (!one.ofAll && !value) return null;
        return element("span", {class: "value"}, one.ofAll ? null : dashSwatch(one.run), element("span", {text: name + value}));
      }).filter(Boolean));
      if (x === null) this.graph.clearSelection();
      else this.graph.setSelection(nearest(this.rows, x));
    }
  }

  class View {
    constructor(data) {
      this.data = data;
      this.runs = data.runs;
      this.lists = data.timeline.lists;
      this.axis = "at";
      this.hidden = new Set();
      this.range = null;
      this.cursor = null;
      this.charts = [];
    }
    shows(one) {
      return one.ofAll || !this.hidden.has(one.run);
    }
    moments() {
      const byPlace = new Map();
      for (const moment of this.data.moments) {
        const x = this.axis === "timeNs" ? Number(moment.timeNs) / 1e9 : Number(moment.at);
        const name = moment.name.startsWith("mark:") ? moment.name.slice("mark:".length) : moment.name;
        if (!byPlace.has(x)) byPlace.set(x, []);
        byPlace.get(x).push(name);
      }
      return [...byPlace].map(([x, names]) => ({x, text: names.join(", ")})).sort((a, b) => a.x - b.x);
    }
    add(chart, place) {
      place.append(chart.figure);
      chart.draw();
      this.charts.push(chart);
      if (this.range) chart.graph.updateOptions({dateWindow: this.range});
    }
    whole() {
      const lows = this.charts.map((chart) => chart.rows[0][0]);
      const highs = this.charts.map((chart) => chart.rows[chart.rows.length - 1][0]);
      return [Math.min(...lows), Math.max(...highs)];
    }
    zoomed(chart) {
      if (this.busy) return;
      const range = chart.graph.isZoomed("x") ? chart.graph.xAxisRange() : null;
      if (String(range) !== String(this.range)) this.zoomTo(range);
    }
    zoomTo(range) {
      const [low, high] = this.whole();
      if (range) {
        range = [Math.max(low, range[0]), Math.min(high, range[1])];
        if (range[0] <= low && range[1] >= high) range = null;
      }
      this.range = range;
      this.busy = true;
      for (const chart of this.charts) chart.graph.updateOptions({dateWindow: range, valueRange: null});
      this.busy = false;
      this.tell();
    }
    zoomBy(factor) {
      const [low, high] = this.range || this.whole();
      const middle = this.cursor === null ? (low + high) / 2 : this.cursor;
      this.zoomTo([middle - (middle - low) * factor, middle + (high - middle) * factor]);
    }
    moveCursor(x) {
      this.cursor = x;
      if (this.busy) return;
      this.busy = true;
      for (const chart of this.charts) chart.show(x);
      this.busy = false;
      this.tell();
      if (this.onCursor && this.axis === "at") this.onCursor(x);
    }
    key(event) {
      const [low, high] = this.range || this.whole();
      const step = (high - low) / (event.shiftKey ? 10 : 100);
      const at = this.cursor === null ? low : this.cursor;
      const moves = {
        ArrowLeft: () => this.moveCursor(Math.max(low, at - step)),
        ArrowRight: () => this.moveCursor(Math.min(high, at + step)),
        "+": () => this.zoomBy(0.5),
        "=": () => this.zoomBy(0.5),
        "-": () => this.zoomBy(2),
        Escape: () => this.zoomTo(null),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    }
    toggle(run, button) {
      if (this.hidden.has(run)) this.hidden.delete(run);
      else this.hidden.add(run);
      button.setAttribute("aria-pressed", String(!this.hidden.has(run)));
      this.busy = true;
      for (const chart of this.charts) {
        chart.graph.updateOptions({visibility: chart.lines.map((one) => this.shows(one))});
      }
      this.busy = false;
      this.moveCursor(null);
    }
    restart(axis) {
      this.axis = axis;
      this.range = null;
      this.cursor = null;
      this.busy = true;
      for (const chart of this.charts) chart.draw();
      this.busy = false;
      this.tell();
    }
    recolour() {
      this.busy = true;
      for (const chart of this.charts) chart.graph.updateOptions(chart.look());
      this.busy = false;
    }
    tell() {
      const [low, high] = this.range || this.whole();
      const where = this.cursor === null ? "" : "cursor at " + xText(this.axis, this.cursor) + "; ";
      this.status.textContent = where + (this.range ? "shown: " : "the whole run: ") + xText(this.axis, low) + " to " + xText(this.axis, high);
    }
  }

  // Of noop there is only what the program did.
  function ofMemory(series, runs) {
    const isOfProgram = /^(live|cumulative)/.test(series.metric);
    return {...series, runs: series.runs.map((line, run) => isOfProgram || runs[run].backend !== "noop" ? line : null)};
  }

  // The recorded run's resident memory is that of a whole process: beside replays it would hide them.
  function apart(series, runs) {
    const isRecorded = (run) => runs[run].backend === "recorded";
    const isMixed = series.metric === "residentBytes" && series.runs.some((line, run) => line && !isRecorded(run)) &&
                    series.runs.some((line, run) => line && isRecorded(run));
    if (!isMixed) return [series];
    const only = (wanted) => series.runs.map((line, run) => isRecorded(run) === wanted ? line : null);
    return [{...series, runs: only(false)}, {...series, runs: only(true), isProcess: true}];
  }

  function keys(view) {
    const row = element("div", {class: "tools", role: "group", "aria-label": "Runs shown"});
    view.runs.forEach((run, number) => {
      if (run.failure) return;
      row.append(element("button", {type: "button", class: "key", "aria-pressed": "true",
                                    onclick: (event) => view.toggle(number, event.currentTarget)},
                         dashSwatch(number), element("span", {text: run.label})));
    });
    return row;
  }

  function zoomTools(view) {
    const button = (text, act) => element("button", {type: "button", text, onclick: act});
    return element("div", {class: "tools"}, button("Zoom in", () => view.zoomBy(0.5)), button("Zoom out", () => view.zoomBy(2)),
                   button("Whole run", () => view.zoomTo(null)), view.status);
  }

  function merged(timeline) {
    if (timeline.stretches === 0) return "";
    return " Of " + heaptape.grouped(timeline.samples) + " samples each line has the first, the last, and the lowest and the highest of " +
           heaptape.grouped(timeline.stretches) + " stretches.";
  }

  // Returns the view of them; undefined where there is nothing to draw.
  heaptape.charts = function (data, page) {
    const drawn = data.timeline.series.map((series) => ofMemory(series, data.runs)).filter((series) => series.runs.some(Boolean)).flatMap((series) => apart(series, data.runs));
    if (drawn.length === 0) return;
    Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
    const view = new View(data);
    view.status = element("span", {class: "note", role: "status"});
    const first = element("div", {class: "charts"});
    const others = element("div", {class: "charts"});
    const more = element("details", {}, element("summary", {text: "All other metrics"}), others);
    const hasTimes = data.timeline.series.some((series) => series.runs.some((line) => line && view.lists[line.timeNs].some((time) => Number(time) !== 0)));
    const axis = hasTimes ? heaptape.choice("Across", [["at", "over calls"], ["timeNs", "over seconds"]], "at", (one) => view.restart(one)) : null;
    page.append(section("timeline", "Over the run",
                        element("p", {class: "note", text: "Drag over a chart to zoom all, double-click for the whole run. Dotted lines are the moments of the tape." + merged(data.timeline)}),
                        axis, keys(view), zoomTools(view), first, more));
    const sorted = [...drawn].sort((a, b) => (FIRST.indexOf(a.metric) + 1 || 99) - (FIRST.indexOf(b.metric) + 1 || 99));
    const isFirst = (one) => FIRST.includes(one.metric) && !one.isProcess;
    for (const series of sorted.filter(isFirst)) view.add(new Chart(view, series), first);
    const rest = sorted.filter((one) => !isFirst(one));
    if (rest.length === 0) more.remove();
    more.addEventListener("toggle", () => {
      while (rest.length !== 0) view.add(new Chart(view, rest.shift()), others);
    });
    heaptape.onTheme(() => view.recolour());
    if (view.charts.length !== 0) view.tell();
    return view;
  };

  // Whole numbers for an axis.
  heaptape.countTicks = (low, high, most) => ticks(low, high, most, "count", String).map((tick) => tick.v);
})();
