// Draws the heap over time on two canvases: the heap, and the marks on it.
"use strict";

(function () {
  const {colour} = heaptape;

  const AGES = [[0.01, "newest 1% of the calls so far"], [0.05, "5%"], [0.2, "20%"], [0.5, "half"], [0.8, "80%"], [Infinity, "older"]];
  const SIZES = [[5, "under 32 B"], [7, "under 128 B"], [10, "under 1 KiB"], [14, "under 16 KiB"], [20, "under 1 MiB"], [Infinity, "larger"]];

  const LEFT = 106;   // margin for the axes, in CSS pixels
  const BOTTOM = 20;
  const FONT = "11px system-ui, sans-serif";

  // A coloring: the names of its colors, and a function that picks one for the live part of cell
  // i at a call. The function runs for each cell of a film, so it creates no objects.
  function bands(list, value) {
    const limits = list.map(([below]) => below);
    const of = (i, at) => {
      const number = value(i, at);
      let band = 0;
      while (number >= limits[band]) ++band;
      return band;
    };
    return {names: list.map((_, band) => "band-" + band), of};
  }
  const INKS = {
    state: () => ({names: ["part-live"], of: () => 0}),
    age: (film) => bands(AGES, (i, at) => (at - film.birth(i)) / Math.max(1, at)),
    size: (film) => bands(SIZES, (i) => film.sizeLog2(i)),
    site: (film, sites) => ({names: ["part-metadata", "part-other", ...sites.map((_, site) => "site-" + site)], of: (i) => film.site(i)}),
  };

  // Colors with their labels.
  function legend(kind, film, sites) {
    const words = (list) => list.map(([, text], i) => ["band-" + i, text]);
    const free = ["map-free", "free"];
    if (kind === "age") return [...words(AGES), free];
    if (kind === "size") return [...words(SIZES), free];
    if (kind === "site") return [...sites.map((text, i) => ["site-" + i, text]), ["part-other", "other sites"], ["part-metadata", "not known"], free];
    const absent = film.knowsAbsent ? [["map-absent", "free, given back"]] : [];
    return [["part-live", "live"], ["part-hole", film.knowsAbsent ? "free, resident" : "free"], ...absent];
  }

  function components(name) {
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = colour(name);
    context.fillRect(0, 0, 1, 1);
    return context.getImageData(0, 0, 1, 1).data;
  }

  const CELLS_AT_ONCE = 1 << 17;

  // A pixel for each cell of each frame, highest address on top: the mean color of its parts. In
  // tasks, but at once for paper, which does not wait. Null if no longer wanted.
  async function paint(film, kind, sites, isWanted) {
    const picture = document.createElement("canvas");
    picture.width = film.frames;
    picture.height = film.rows;
    const context = picture.getContext("2d");
    const image = context.createImageData(film.frames, film.rows);
    const {names, of} = INKS[kind](film, sites);
    const inks = names.map(components);
    const paper = components("paper");
    const resident = components(kind === "state" ? "part-hole" : "map-free");
    const absent = components(kind === "state" ? "map-absent" : "map-free");
    const {live, freeResident, freeAbsent} = film.planes;
    const {data} = image;
    const paintFrame = (frame) => {
      for (let row = 0, cell = frame * film.rows; row < film.rows; ++row, ++cell) {
        const ink = live[cell] === 0 ? paper : inks[of(cell, film.at[frame])];
        const sum = Math.max(film.fullCell, live[cell] + freeResident[cell] + freeAbsent[cell]);
        const at = ((film.rows - 1 - row) * film.frames + frame) * 4;
        for (let i = 0; i < 3; ++i) {
          data[at + i] = paper[i] + (live[cell] * (ink[i] - paper[i]) + freeResident[cell] * (resident[i] - paper[i]) +
                                     freeAbsent[cell] * (absent[i] - paper[i])) / sum;
        }
        data[at + 3] = 255;
      }
    };
    const isForPaper = matchMedia("print").matches;
    const framesAtOnce = Math.max(1, Math.floor(CELLS_AT_ONCE / film.rows));
    for (let frame = 0; frame < film.frames; ++frame) {
      if (frame % framesAtOnce === 0 && !isForPaper) await heaptape.breath();
      if (!isWanted()) return null;
      paintFrame(frame);
    }
    if (!isForPaper) await heaptape.breath();
    context.putImageData(image, 0, 0);
    return picture;
  }

  // Maps calls and rows of a view {left, right, low, high} to a canvas.
  class Frame {
    constructor(canvas, view) {
      this.view = view;
      this.x = LEFT;
      this.y = 0;
      this.width = Math.max(1, canvas.clientWidth - LEFT);
      this.height = Math.max(1, canvas.clientHeight - BOTTOM);
    }
    xOf(call) {
      return this.x + (call - this.view.left) / (this.view.right - this.view.left) * this.width;
    }
    yOf(row) {
      return this.y + (this.view.high - row) / (this.view.high - this.view.low) * this.height;
    }
    callAt(x) {
      return this.view.left + (x - this.x) / this.width * (this.view.right - this.view.left);
    }
    rowAt(y) {
      return Math.floor(this.view.high - (y - this.y) / this.height * (this.view.high - this.view.low));
    }
    has(x) {
      return x >= this.x && x <= this.x + this.width + 1;
    }
  }

  // An empty canvas, as sharp as the screen.
  function cleared(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const {clientWidth, clientHeight} = canvas;
    canvas.width = Math.round(clientWidth * ratio);
    canvas.height = Math.round(clientHeight * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  function line(context, x1, y1, x2, y2) {
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
  }

  function drawHeap(canvas, film, picture, frame) {
    const context = cleared(canvas);
    const {low, high} = frame.view;
    context.save();
    context.beginPath();
    context.rect(frame.x, frame.y, frame.width, frame.height);
    context.clip();
    context.imageSmoothingEnabled = high - low > frame.height;
    for (let i = 0; i < film.frames; ++i) {
      const [from, to] = film.bounds(i).map((call) => frame.xOf(call));
      if (to < frame.x || from > frame.x + frame.width) continue;
      context.drawImage(picture, i, film.rows - high, 1, high - low, from, frame.y, Math.max(1, to - from) + 0.5, frame.height);
    }
    drawBreaks(context, film, frame);
    context.restore();
    drawAxes(context, film, frame);
  }

  // Marks gaps in the addresses.
  function drawBreaks(context, film, frame) {
    context.strokeStyle = colour("soft");
    context.lineWidth = 0.5;
    let row = 0;
    let before = Infinity;
    for (const stretch of film.stretches) {
      const y = frame.yOf(row);
      row += stretch.cells;
      if (row === stretch.cells || before - y < 4) continue;
      before = y;
      line(context, frame.x, y, frame.x + frame.width, y);
    }
  }

  function drawAxes(context, film, frame) {
    const {left, right, low, high} = frame.view;
    context.font = FONT;
    context.fillStyle = colour("soft");
    context.strokeStyle = colour("soft");
    context.lineWidth = 1;
    context.strokeRect(frame.x - 0.5, frame.y + 0.5, frame.width, frame.height);
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const {v, label} of heaptape.chartLines.countTicks(left, right, Math.max(4, Math.floor(frame.width / 110)))) {
      const text = "#" + label;
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(frame.xOf(v), frame.x + frame.width - half), frame.y + frame.height + 5);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    const steps = Math.max(2, Math.floor(frame.height / 60));
    for (let i = 0; i <= steps; ++i) {
      const row = Math.min(film.rows - 1, Math.floor(low + (high - low) * i / steps));
      const y = Math.min(Math.max(frame.yOf(row), frame.y + 7), frame.y + frame.height - 7);
      context.fillText("0x" + film.addressOf(row).toString(16), frame.x - 4, y);
    }
  }

  // Moments, [{at, text}], and the cross at `at`, {frame, row}.
  function drawMarks(canvas, film, frame, {moments, at, drag}) {
    const context = cleared(canvas);
    context.font = FONT;
    context.textBaseline = "top";
    context.strokeStyle = colour("ink");
    context.setLineDash([2, 3]);
    let freeFrom = frame.x;
    for (const moment of moments) {
      const x = frame.xOf(moment.at);
      if (!frame.has(x)) continue;
      line(context, x, frame.y, x, frame.y + frame.height);
      freeFrom = drawName(context, frame, moment.text, x, freeFrom);
    }
    context.setLineDash([]);
    context.strokeStyle = colour("mark");
    if (at) drawCross(context, film, frame, at);
    if (drag) context.strokeRect(Math.min(drag.x, drag.toX), Math.min(drag.y, drag.toY), Math.abs(drag.x - drag.toX), Math.abs(drag.y - drag.toY));
  }
  // On a box in the page's color, because the picture may have any. Omitted if there is no room.
  function drawName(context, frame, text, x, freeFrom) {
    const width = context.measureText(text).width + 6;
    const left = x + width > frame.x + frame.width ? x - width : x;
    if (left < freeFrom) return freeFrom;
    context.fillStyle = colour("paper");
    context.fillRect(left, frame.y + 1, width, 14);
    context.fillStyle = colour("ink");
    context.fillText(text, left + 3, frame.y + 3);
    return left + width;
  }
  function drawCross(context, film, frame, at) {
    const x = frame.xOf(film.at[at.frame]);
    if (frame.has(x)) line(context, x, frame.y, x, frame.y + frame.height);
    if (at.row === null) return;
    const y = frame.yOf(at.row + 0.5);
    if (y >= frame.y && y <= frame.y + frame.height) line(context, frame.x, y, frame.x + frame.width, y);
  }

  heaptape.mapPaint = {Frame, cleared, drawHeap, drawMarks, legend, paint};
})();
