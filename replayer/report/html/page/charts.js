
// The timelines: a chart for each metric, a line for each run, one zoom and one cursor for all.
"use strict";

(function () {
  const {element, section, Chart} = heaptape;
  const {FIRST, xText, lookOf, dashSwatch} = heaptape.chartLines;

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
      this.keys = new Map();  // the button of each run
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
        Enter: () => this.pick(at),
        ...(this.picks ? {PageUp: () => this.picks.step(-1), PageDown: () => this.picks.step(1)} : {}),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    }
    // Shows the nearest moment of the report everywhere: moment.js.
    pick(x) {
      if (this.picks) this.picks.pickNear(x);
    }
    // Marks the place of the moment that is shown everywhere.
    mark(x) {
      this.marked = x;
      this.busy = true;
      for (const chart of this.charts) chart.graph.updateOptions({});
      this.busy = false;
      this.moveCursor(x);
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
      this.marked = null;
      this.busy = true;
      for (const chart of this.charts) chart.draw();
      this.busy = false;
      this.tell();
    }
    // The title of a picture of a chart.
    about() {
      return document.title + ", " + (this.axis === "timeNs" ? "over seconds" : "over calls");
    }
    keepState() {
      heaptape.state.keep("hidden", () => [...this.hidden].sort((a, b) => a - b).join(","), (text) => {
        const wanted = new Set(text.split(",").filter(Boolean).map(Number));
        for (const [run, button] of this.keys) if (wanted.has(run) !== this.hidden.has(run)) this.toggle(run, button);
      });
      heaptape.state.keep("shown", () => this.range ? heaptape.state.list(this.range) : "", (text) => {
        const range = heaptape.state.numbers(text, 2);
        const [low, high] = this.whole();
        if (text === "" || (range && range[0] < range[1] && range[0] < high && range[1] > low)) this.zoomTo(range);
      });
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

  heaptape.ChartView = View;

  // noop has only the program's own metrics.
  function ofMemory(series, runs) {
    const isOfProgram = /^(live|cumulative)/.test(series.metric);
    return {...series, runs: series.runs.map((line, run) => isOfProgram || runs[run].backend !== "noop" ? line : null)};
  }

  // The recorded run's resident memory is that of a whole process: it would dwarf the replays.
  function apart(series, runs) {
    const isRecorded = (run) => runs[run].backend === "recorded";
    const isMixed = series.metric === "residentBytes" && series.runs.some((line, run) => line && !isRecorded(run)) &&
                    series.runs.some((line, run) => line && isRecorded(run));
    if (!isMixed) return [series];
    const only = (wanted) => series.runs.map((line, run) => isRecorded(run) === wanted ? line : null);
    return [{...series, runs: only(false)}, {...series, runs: only(true), isProcess: true, title: "Resident memory of the recorded process"}];
  }

  function keys(view) {
    const row = element("div", {class: "tools keys", role: "group", "aria-label": "Runs shown"});
    view.runs.forEach((run, number) => {
      if (run.failure) return;
      const button = element("button", {type: "button", class: "key", "aria-pressed": "true", onclick: () => view.toggle(number, button)},
                           dashSwatch(lookOf(run, number)), element("span", heaptape.named(run.label)));
      view.keys.set(number, button);
      row.append(button);
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
    return " Each line shows the first and last of " + heaptape.grouped(timeline.samples) + " samples, and the lowest and highest in each of " +
           heaptape.grouped(timeline.stretches) + " stretches.";
  }

  // Returns their view; undefined if there is nothing to draw.
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
    const axis = hasTimes ? heaptape.choice("Across", [["at", "over calls"], ["timeNs", "over seconds"]], "at", (one) => view.restart(one), "axis") : null;
    page.append(section("timeline", "Over the run",
                        element("p", {class: "note", text: "Drag over a chart to zoom all, double-click for the whole run." + (data.moments.length === 0 ? "" : " Dotted lines are the moments of the tape.") + merged(data.timeline)}),
                        axis, view.keysBox = keys(view), zoomTools(view), first, more));
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
    view.keepState();
    return view;
  };
})();
