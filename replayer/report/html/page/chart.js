
// The chart of one metric. dygraphs draws; it never gets the names of runs, because it treats
// labels as markup.
"use strict";

(function () {
  const {element, colour} = heaptape;
  const {WORDS, BAND, lookOf, linesOf, rowsOf, yTicks, xTicks, dashSwatch} = heaptape.chartLines;

  // The row closest to a place.
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

  // `view`: the charts that share a zoom and a cursor.
  class Chart {
    constructor(view, series) {
      this.view = view;
      this.series = series;
      this.lines = linesOf(series);
      this.plot = element("div", {class: "plot", tabindex: "0", role: "img", onkeydown: (event) => view.key(event),
                                  "aria-label": this.title() + (this.series.isStacked ? "" : " of each run") + "; arrows move the cursor, + and - zoom"});
      this.values = element("div", {class: "values"});
      this.figure = element("figure", {class: "chart", "data-metric": series.metric},
                            element("figcaption", {}, element("span", {class: "title"}, ...heaptape.terms(this.title())),
                                    heaptape.picture.pngButton(this.title(), () => view.about(), () => [this.figure, view.keysBox])),
                            this.values, this.plot);
    }
    title() {
      return this.series.title || WORDS[this.series.metric] || this.series.metric;
    }
    // Call it once the figure is on the page.
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
        stackedGraph: Boolean(this.series.isStacked),
        fillAlpha: 0.6,
        visibility: this.lines.map((one) => this.view.shows(one)),
        legend: "never",
        includeZero: true,
        connectSeparatedPoints: true,
        animatedZooms: false,
        highlightCircleSize: 3,
        xRangePad: 4,
        yRangePad: BAND,
        interactionModel: this.interaction(),
        axes: {
          x: {ticker: xTicks(this.view.axis, width), axisLabelWidth: 70, axisLabelFormatter: (v) => String(v)},
          y: {ticker: yTicks(this.series.unit), axisLabelWidth: 62, axisLabelFormatter: (v) => String(v)},
        },
        highlightCallback: (event, x) => this.view.moveCursor(x),
        clickCallback: (event, x) => this.view.pick(x),
        unhighlightCallback: () => this.view.moveCursor(null),
        drawCallback: (graph, isFirst) => { if (!isFirst) this.view.zoomed(this); },
        underlayCallback: (context, area, graph) => this.drawMoments(context, area, graph),
      };
    }
    // Omits touch: a finger scrolls the page.
    interaction() {
      const {mousedown, mousemove, mouseup, dblclick, willDestroyContextMyself} = Dygraph.defaultInteractionModel;
      return {mousedown, mousemove, mouseup, willDestroyContextMyself, dblclick: () => this.view.zoomTo(null)};
    }
    lookOf(one) {
      return lookOf(this.view.runs[one.run], one.run);
    }
    look() {
      const lookAt = (one) => one.ofAll ? {colour: "ink", dash: null, width: 1.6} : this.lookOf(one);
      return {
        colors: this.lines.map((one) => colour(lookAt(one).colour)),
        series: Object.fromEntries(this.lines.map((one) => ["line " + one.run, {strokePattern: lookAt(one).dash, strokeWidth: lookAt(one).width}])),
        gridLineColor: colour("line"),
        axisLineColor: colour("soft"),
      };
    }
    drawMoments(context, area, graph) {
      context.save();
      context.fillStyle = colour("soft");
      context.font = "10px system-ui, sans-serif";
      let freeFrom = area.x;
      for (const moment of this.view.moments()) {
        const x = graph.toDomXCoord(moment.x);
        if (x < area.x || x > area.x + area.w) continue;
        const isMarked = moment.x === this.view.marked;
        context.strokeStyle = colour(isMarked ? "accent" : "soft");
        context.setLineDash(isMarked ? [] : [2, 3]);
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
    // The values at the cursor, or the names of the lines without one.
    show(x) {
      const row = x === null ? null : this.rows[nearest(this.rows, x)];
      const values = this.lines.map((one, column) => {
        if (!this.view.shows(one)) return null;
        const name = one.ofAll ? "all runs" : this.view.runs[one.run].label;
        const value = row && row[column + 1] !== null ? heaptape.value(row[column + 1], this.series.unit) : "";
        if (!one.ofAll && !value) return null;
        return element("span", {class: "value"}, one.ofAll ? null : dashSwatch(this.lookOf(one)), element("span", heaptape.named(name)), element("span", {text: value}));
      }).filter(Boolean);
      this.values.replaceChildren(...(this.series.isStacked ? values.reverse() : values));
      if (x === null) this.graph.clearSelection();
      else this.graph.setSelection(nearest(this.rows, x));
    }
  }

  heaptape.Chart = Chart;
})();
