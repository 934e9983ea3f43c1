"use strict";
// Draws the charts of the page as SVG: points, boxes and maps of squares, with axes, a legend and
// texts under the pointer. page.py says what a figure is. Names are set as text, never as markup.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const places = Array.from(document.getElementsByClassName("chart"));
  const runs = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8a8f98", "#7b61c4"];
  const CHAR = 6.6; // the mean width of a character of labels

  function svg(name, attributes, parent, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }
  function hint(mark, text) {
    if (text) svg("title", {}, mark, text);
  }
  const finite = (values) => values.filter((value) => Number.isFinite(value));

  // Values of a trace on an axis, "x" or "y".
  function valuesOf(trace, axis) {
    if (trace.type === "heatmap") {
      const count = axis === "x" ? Math.max(0, ...trace.z.map((row) => row.length)) : trace.z.length;
      return [-0.5, count - 0.5];
    }
    if (trace.type === "box" && axis === "x") return [...trace.lowerfence, ...trace.upperfence];
    if (trace.type === "box") return trace.y.flatMap((y) => [y - 0.5, y + 0.5]);
    return trace[axis] || trace[axis === "x" ? "y" : "x"].map((_, i) => i);
  }

  // A scale from values to shares of the length, 0 to 1.
  function scaleOf(figure, name) {
    const axis = figure.layout[name + "axis"] || {};
    const isLog = axis.type === "log";
    const map = isLog ? Math.log : Number;
    const values = finite(figure.data.flatMap((trace) => valuesOf(trace, name)).map(map));
    let [least, most] = axis.range ? axis.range.map(map) : [Math.min(...values), Math.max(...values)];
    if (!(most > least)) [least, most] = [(least || 0) - 0.1, (least || 0) + 0.1];
    const margin = axis.range || axis.tickvals ? 0 : 0.04 * (most - least);
    [least, most] = [least - margin, most + margin];
    const turned = axis.autorange === "reversed";
    const place = (value) => {
      const share = (map(value) - least) / (most - least);
      return turned ? 1 - share : share;
    };
    const back = (share) => (isLog ? Math.exp : Number)(least + share * (most - least));
    return {axis, place, ticks: axis.tickvals ? named(axis) : ticksOf(axis, back, isLog)};
  }
  function named(axis) {
    return axis.tickvals.map((value, i) => ({value, text: axis.ticktext[i]}));
  }
  function ticksOf(axis, back, isLog) {
    const [least, most] = [back(0), back(1)];
    const format = (value) => {
      if (!(axis.tickformat || "").endsWith("%")) return String(Number(value.toPrecision(3)));
      return (value > 0 ? "+" : "") + Number((100 * value).toPrecision(3)) + "%";
    };
    if (isLog && most / least > 4) {
      const all = [];
      for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power++) {
        for (const digit of most / least > 1000 ? [1] : [1, 2, 5]) all.push(digit * 10 ** power);
      }
      return all.filter((value) => value >= least && value <= most).map((value) => ({value, text: format(value)}));
    }
    const rough = (most - least) / 6;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
    const ticks = [];
    for (let i = Math.ceil(least / step); i * step <= most; i++) ticks.push({value: i * step, text: format(i * step)});
    return ticks;
  }

  function drawAxes(figure, x, y, area, root) {
    const above = x.axis.side === "top";
    for (const tick of x.ticks) {
      const at = area.x(tick.value);
      if (!x.axis.tickvals) svg("line", {x1: at, x2: at, y1: area.top, y2: area.bottom, class: "grid"}, root);
      svg("text", {x: at, y: above ? area.top - 6 : area.bottom + 16, "text-anchor": "middle"}, root, tick.text);
    }
    for (const tick of y.ticks) {
      const at = area.y(tick.value);
      if (!y.axis.tickvals) svg("line", {x1: area.left, x2: area.right, y1: at, y2: at, class: "grid"}, root);
      svg("text", {x: area.left - 6, y: at + 4, "text-anchor": "end"}, root, tick.text);
    }
    const middle = (area.left + area.right) / 2;
    if (x.axis.title) svg("text", {x: middle, y: area.bottom + 36, "text-anchor": "middle"}, root, x.axis.title.text);
    if (y.axis.title) svg("text", {x: 4, y: area.top - 10}, root, y.axis.title.text);
  }

  function star(x, y, size) {
    return Array.from({length: 10}, (_, i) => {
      const radius = i % 2 ? size * 0.25 : size * 0.6;
      const angle = (Math.PI * (i - 2.5)) / 5;
      return `${x + radius * Math.cos(angle)},${y + radius * Math.sin(angle)}`;
    }).join(" ");
  }
  function drawPoint(x, y, marker, colour, root) {
    const size = marker.size || 6;
    const look = {fill: colour, opacity: marker.opacity || 1};
    if (marker.symbol === "star") return svg("polygon", {...look, points: star(x, y, size)}, root);
    if (marker.symbol === "x") {
      const half = size / 2;
      const d = `M${x - half},${y - half}l${size},${size}m0,${-size}l${-size},${size}`;
      return svg("path", {d, stroke: colour, "stroke-width": 3, fill: "none"}, root);
    }
    return svg("circle", {...look, cx: x, cy: y, r: size / 2}, root);
  }
  function drawPoints(trace, area, colour, root) {
    const [xs, ys] = [valuesOf(trace, "x"), valuesOf(trace, "y")];
    xs.forEach((value, i) => {
      const [x, y] = [area.x(value), area.y(ys[i])];
      if (!(x >= area.left - 1 && x <= area.right + 1 && y >= area.top - 1 && y <= area.bottom + 1)) return;
      hint(drawPoint(x, y, trace.marker || {}, colour, root), (trace.text || [])[i]);
    });
  }
  function drawBoxes(trace, area, colour, root) {
    trace.y.forEach((place, i) => {
      const [low, q1, median, q3, high] = ["lowerfence", "q1", "median", "q3", "upperfence"].map((name) => area.x(trace[name][i]));
      const [top, y, bottom] = [-0.3, 0, 0.3].map((offset) => area.y(place + offset));
      const d = `M${low},${y}H${q1}M${q3},${y}H${high}M${q1},${top}H${q3}V${bottom}H${q1}ZM${median},${top}V${bottom}` +
                `M${low},${(top + y) / 2}V${(bottom + y) / 2}M${high},${(top + y) / 2}V${(bottom + y) / 2}`;
      svg("path", {d, class: "box", stroke: colour}, root);
    });
  }
  // A color between those of the scale at 0, 0.5 and 1.
  function mixed(scale, share) {
    const [from, to] = share < 0.5 ? [scale[0], scale[1]] : [scale[1], scale[2]];
    const part = (Math.min(1, Math.max(0, share)) - from[0]) / (to[0] - from[0]);
    const channel = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
    const mix = (i) => Math.round(channel(from[1], i) * (1 - part) + channel(to[1], i) * part);
    return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
  }
  function drawMap(trace, area, root) {
    trace.z.forEach((row, j) => row.forEach((value, i) => {
      const [x, y] = [area.x(i - 0.5), area.y(j - 0.5)];
      const share = (value - trace.zmin) / (trace.zmax - trace.zmin);
      const fill = value === null ? "none" : mixed(trace.colorscale, share);
      const size = {width: Math.max(1, area.x(i + 0.5) - x - 1), height: Math.max(1, area.y(j + 0.5) - y - 1)};
      hint(svg("rect", {x, y, ...size, fill, "pointer-events": "all"}, root), trace.text[j][i]);
    }));
  }

  // Names of traces, or of the colors of a map.
  function legendOf(figure) {
    const map = figure.data.find((trace) => trace.colorbar);
    if (map) {
      const share = (value) => (value - map.zmin) / (map.zmax - map.zmin);
      return map.colorbar.tickvals.map((value, i) => [mixed(map.colorscale, share(value)), map.colorbar.ticktext[i]]);
    }
    if (figure.layout.showlegend === false) return [];
    return figure.data.map((trace, i) => [runs[i % runs.length], trace.name]).filter(([, name]) => name);
  }
  function drawLegend(figure, place) {
    const legend = document.createElement("p");
    legend.className = "legend";
    for (const [colour, name] of legendOf(figure)) {
      const entry = legend.appendChild(document.createElement("span"));
      entry.appendChild(document.createElement("i")).style.background = colour;
      entry.append(name);
    }
    if (legend.childNodes.length) place.appendChild(legend);
  }

  function draw(figure, place) {
    const width = place.clientWidth;
    if (!width) return; // in a folded section
    const height = figure.layout.height || 440;
    const [x, y] = [scaleOf(figure, "x"), scaleOf(figure, "y")];
    const longest = Math.max(4, ...y.ticks.map((tick) => tick.text.length));
    const [left, right] = [Math.min(width / 2, 14 + CHAR * longest), width - 16];
    const [top, bottom] = [30, height - 44];
    const area = {left, right, top, bottom,
                  x: (value) => left + x.place(value) * (right - left),
                  y: (value) => bottom - y.place(value) * (bottom - top)};
    place.replaceChildren();
    drawLegend(figure, place);
    const root = svg("svg", {width, height, role: "img"}, place);
    drawAxes(figure, x, y, area, root);
    figure.data.forEach((trace, i) => {
      const colour = runs[i % runs.length];
      if (trace.type === "heatmap") drawMap(trace, area, root);
      else if (trace.type === "box") drawBoxes(trace, area, colour, root);
      else drawPoints(trace, area, colour, root);
    });
  }
  const drawAll = () => figures.forEach((figure, i) => draw(figure, places[i]));

  drawAll();
  addEventListener("resize", drawAll);
  for (const folded of document.getElementsByTagName("details")) folded.addEventListener("toggle", drawAll);
})();
