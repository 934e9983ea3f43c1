// The heap over time: addresses upwards, calls to the right. Handles the pointer, the keyboard and
// the buttons.
"use strict";

(function () {
  const {element, section, grouped} = heaptape;
  const {Frame, drawHeap, drawMarks, legend, paint} = heaptape.mapPaint;

  const COLOURINGS = [["state", "what it is"], ["age", "how old blocks are"], ["size", "how large blocks are"], ["site", "call site"]];
  const LEAST_ROWS = 4;      // in a zoom
  const LEAST_DRAG = 6;      // in CSS pixels; less is a click

  function clamp(value, low, high) {
    return Math.min(Math.max(value, low), high);
  }

  class HeapMap {
    constructor(data) {
      this.data = data;
      this.packed = data.films.runs.filter(Boolean);
      this.films = new Map();
      this.kind = "state";
      this.wanted = Math.max(0, this.packed.findIndex((run) => run.knowsAbsent));  // a run whose resident pages are known, if any
      this.isKept = false;
      this.make();
    }

    make() {
      this.canvas = element("canvas", {class: "map", tabindex: "0", role: "application",
        "aria-label": "The heap over time. Arrows move, plus and minus zoom, Enter keeps what is shown, Escape shows the whole heap.",
        onpointermove: (event) => this.move(event), onpointerdown: (event) => this.press(event),
        onpointerup: (event) => this.release(event), onpointercancel: () => { this.drag = null; },
        onpointerleave: () => this.leave(), ondblclick: () => this.zoomTo(null), onkeydown: (event) => this.key(event)});
      this.marks = element("canvas", {class: "map-marks", "aria-hidden": "true"});
      this.detail = element("div", {class: "map-detail", role: "status"});
      this.slider = element("input", {type: "range", min: "0", max: "0", value: "0", "aria-label": "Frame",
                                      oninput: () => this.choosePlace(Number(this.slider.value), this.at.row)});
      this.legend = element("ul", {class: "legend"});
      this.note = element("p", {class: "note"});
      this.moments = element("div", {class: "tools", role: "group", "aria-label": "Moments"});
      this.closeup = new heaptape.Closeup(this.data, (call, address) => this.goToAddress(call, address));
      const button = (text, act) => element("button", {type: "button", text, onclick: act});
      const runs = this.packed.map((run, i) => [String(i), run.label]);
      const kinds = COLOURINGS.filter(([kind]) => kind !== "site" || this.data.films.sites.length !== 0);
      this.section = section("map", "The heap, address by address",
        element("p", {class: "note", text: "Addresses go up, calls to the right. Hover to see what is there, click to keep it, drag to zoom, double-click for the whole."}),
        runs.length > 1 ? heaptape.choice("Run", runs, String(this.wanted), (i) => this.chooseRun(Number(i)), "heap") : null,
        heaptape.choice("Colors", kinds, "state", (kind) => this.colourBy(kind), "colors"), this.legend,
        this.frameBox = element("div", {class: "map-frame"}, this.canvas, this.marks),
        element("div", {class: "tools map-tools"}, this.slider, button("Zoom in", () => this.zoomBy(0.5)),
                button("Zoom out", () => this.zoomBy(2)), button("Whole heap", () => this.zoomTo(null)), heaptape.picture.pngButton("heap", () => this.pictureTitle(), () => [this.frameBox, this.legend, this.detail])),
        this.moments, this.detail, this.note, this.closeup.parts);
      this.prepare(this.wanted);
      this.keepState();
    }
    // The place that was chosen, not that of the pointer, and the zoom. Those of an address wait until
    // the film is unpacked.
    keepState() {
      this.chosen = "";
      this.waiting = {};
      const {keep, numbers, list} = heaptape.state;
      const kept = (name, read, count) => keep(name, () => this.waiting[name] === undefined ? read() : this.waiting[name], (text) => {
        if (text !== "" && !numbers(text, count)) return;
        this.waiting[name] = text;
        if (!this.film) return;
        this.go(this.restored());
        this.showCloseup();
      });
      kept("place", () => this.chosen, 2);
      kept("box", () => this.zoom ? list(["left", "right", "low", "high"].map((side) => this.zoom[side])) : "", 4);
      this.closeup.keepState();
    }
    // Applies these, and returns the place to be shown.
    restored() {
      const {place, box} = this.waiting;
      this.waiting = {};
      const {numbers} = heaptape.state;
      if (box !== undefined) {
        const [left, right, low, high] = numbers(box, 4) || [];
        this.zoomTo(left < right && low < high ? {left, right, low, high} : null);
      }
      if (!place) return this.at;
      const [frame, row] = numbers(place, 2);
      this.chosen = place;
      return this.within(Math.round(frame), Math.round(row));
    }

    pictureTitle() {
      return document.title + ": " + this.packed[this.wanted].label + ", addresses up, calls to the right";
    }
    // Shows everything known before the film is unpacked, so that the page does not move later.
    prepare(number) {
      const packed = this.packed[number];
      this.note.textContent = heaptape.mapNote({...packed, frames: packed.at.length});
      this.moments.replaceChildren(...this.data.moments.map((moment) => element("button", {
        type: "button", text: heaptape.summary.momentWords(moment.name),
        onclick: () => { if (this.film) this.choosePlace(this.film.frameAt(Number(moment.at)), this.at.row); }})));
      this.showLegend(packed);
    }
    showLegend(film) {
      this.legend.replaceChildren(...legend(this.kind, film, this.data.films.sites).map(([name, text]) => element("li", {},
          element("span", {class: "swatch", style: {background: "var(--" + name + ")"}}), element("span", {}, ...(this.kind === "state" ? heaptape.terms(text) : [text])))));
    }

    async chooseRun(number) {
      const turn = this.turn = {};  // a later choice replaces this one
      this.wanted = number;
      this.order = null;  // cancels the picture of the previous run
      this.canvas.setAttribute("aria-busy", "true");
      this.prepare(number);
      if (!this.films.has(number)) this.films.set(number, await heaptape.readFilm(this.packed[number]));
      if (this.turn !== turn) return;
      const film = this.film = this.films.get(number);
      this.isKept = false;
      this.zoom = null;
      this.slider.max = String(film.frames - 1);
      this.picture = null;
      this.at = this.firstPlace();
      this.chosen = "";
      this.show(this.restored());
      this.showCloseup();
      await this.colourBy(this.kind);
    }

    // At the plateau, or else the peak: in the largest hole, or where most memory is free.
    firstPlace() {
      const {film} = this;
      let moment = ["plateau", "peak", "end"].map((name) => this.data.moments.find((one) => one.name === name)).find(Boolean);
      if (this.firstCall !== undefined) moment = {at: this.firstCall};
      const frame = moment ? film.frameAt(Number(moment.at)) : film.frames - 1;
      const holes = film.items.filter((item) => item.birth === 0 && item.first <= frame && frame <= item.last);
      if (holes.length === 0) return {frame, row: film.freest(frame)};
      const largest = holes.reduce((a, b) => a.bytes < b.bytes ? b : a);
      const row = film.rowOf(largest.begin + largest.bytes / 2n);
      return {frame, row: row === null ? null : Math.floor(row)};
    }

    // Keeps the old picture until the new one is ready.
    async colourBy(kind) {
      this.kind = kind;
      const {film} = this;
      if (!film) return;
      const order = this.order = {};  // a new order replaces this one
      this.canvas.setAttribute("aria-busy", "true");
      const picture = await paint(film, kind, this.data.films.sites, () => this.order === order);
      if (!picture || this.order !== order) return;
      this.picture = picture;
      this.showLegend(film);
      this.draw();
      this.canvas.removeAttribute("aria-busy");
    }

    whole() {
      const {film} = this;
      return {left: film.at[0], right: Math.max(film.at[film.frames - 1], film.at[0] + 1), low: 0, high: film.rows};
    }
    frame() {
      return new Frame(this.canvas, this.zoom || this.whole());
    }
    draw() {
      if (this.picture) drawHeap(this.canvas, this.film, this.picture, this.frame());
      this.mark();
    }
    mark() {
      const moments = this.data.moments.map((moment) => ({at: Number(moment.at), text: moment.name.replace(/^mark:/, "")}));
      drawMarks(this.marks, this.film, this.frame(), {moments, at: this.at, drag: this.drag && this.drag.moved ? this.drag : null});
    }

    place(event) {
      const box = this.canvas.getBoundingClientRect();
      const {x, y, width, height} = this.frame();
      return {x: clamp(event.clientX - box.left, x, x + width), y: clamp(event.clientY - box.top, y, y + height)};
    }
    under({x, y}) {
      const frame = this.frame();
      return {frame: this.film.frameAt(frame.callAt(x)), row: clamp(frame.rowAt(y), 0, this.film.rows - 1)};
    }

    move(event) {
      if (!this.film) return;
      const place = this.place(event);
      if (this.drag) {
        const moved = Math.abs(place.x - this.drag.x) + Math.abs(place.y - this.drag.y) > LEAST_DRAG;
        Object.assign(this.drag, {toX: place.x, toY: place.y, moved});
        if (moved) return this.mark();
      }
      if (!this.isKept) this.go(this.under(place));
    }
    // Ignores a finger, which scrolls the page.
    press(event) {
      if (!this.film || event.pointerType === "touch") return;
      this.drag = {...this.place(event), moved: false};
      this.canvas.setPointerCapture(event.pointerId);
    }
    release(event) {
      if (!this.film) return;
      const {drag} = this;
      const place = this.place(event);
      this.drag = null;
      if (drag && drag.moved) return this.zoomToBox(drag, place);
      this.isKept = !this.isKept;
      this.choose(this.under(place));
    }
    leave() {
      if (!this.drag && !this.isKept && this.onCursor) this.onCursor(null);
    }

    key(event) {
      if (!this.film) return;
      const {frame} = this.at;
      const row = this.at.row === null ? Math.floor(this.film.rows / 2) : this.at.row;
      const step = event.shiftKey ? 10 : 1;
      const moves = {
        ArrowLeft: () => this.choosePlace(frame - step, row),
        ArrowRight: () => this.choosePlace(frame + step, row),
        ArrowUp: () => this.choosePlace(frame, row + step),
        ArrowDown: () => this.choosePlace(frame, row - step),
        "+": () => this.zoomBy(0.5),
        "=": () => this.zoomBy(0.5),
        "-": () => this.zoomBy(2),
        Enter: () => { this.isKept = !this.isKept; this.tell(); },
        Escape: () => { this.isKept = false; this.tell(); this.zoomTo(null); },
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    }

    zoomToBox(from, to) {
      const frame = this.frame();
      const calls = [from.x, to.x].map((x) => frame.callAt(x)).sort((a, b) => a - b);
      const rows = [from.y, to.y].map((y) => frame.rowAt(y)).sort((a, b) => a - b);
      this.zoomTo({left: calls[0], right: calls[1], low: rows[0], high: rows[1] + 1});
    }
    // Null shows all of it. Enlarges a box to show at least a few cells and frames.
    zoomTo(wanted) {
      if (!this.film) return;
      const whole = this.whole();
      const zoom = wanted || whole;
      const middle = (zoom.left + zoom.right) / 2;
      const half = Math.max((zoom.right - zoom.left) / 2, (whole.right - whole.left) / this.film.frames);
      const low = clamp(Math.floor(zoom.low), 0, Math.max(0, whole.high - LEAST_ROWS));
      const high = clamp(Math.ceil(zoom.high), Math.min(low + LEAST_ROWS, whole.high), whole.high);
      this.zoom = {left: Math.max(whole.left, middle - half), right: Math.min(whole.right, middle + half), low, high};
      this.draw();
    }
    // Zooms around the selected place.
    zoomBy(factor) {
      if (!this.film) return;
      const {left, right, low, high} = this.zoom || this.whole();
      const call = clamp(this.film.at[this.at.frame], left, right);
      const row = this.at.row === null ? (low + high) / 2 : clamp(this.at.row + 0.5, low, high);
      this.zoomTo({left: call - (call - left) * factor, right: call + (right - call) * factor,
                   low: row - (row - low) * factor, high: row + (high - row) * factor});
    }

    // For keys and buttons, which move a kept selection.
    choosePlace(frame, row) {
      this.choose(this.within(frame, row));
    }
    // The frame of a call, which waits for the film if need be.
    goTo(call) {
      if (this.film) return this.choosePlace(this.film.frameAt(call), this.at.row);
      this.firstCall = call;
    }
    choose(at) {
      this.chosen = at.row === null ? "" : at.frame + "," + Math.floor(at.row);
      this.go(at);
      this.showCloseup();
    }
    showCloseup() {
      const {film, at} = this;
      const begin = at.row === null ? null : film.addressOf(at.row);
      this.closeup.follow(film, film.at[at.frame], begin === null ? null : {begin, end: begin + BigInt(film.cellBytes)});
    }
    // Follows the close-up.
    goToAddress(call, address) {
      const row = this.film.rowOf(address);
      this.go({frame: this.film.frameAt(call), row: row === null ? null : Math.floor(row)});
    }
    within(frame, row) {
      return {frame: clamp(frame, 0, this.film.frames - 1), row: row === null ? null : clamp(row, 0, this.film.rows - 1)};
    }
    go(at) {
      this.show(at);
      if (this.onCursor) this.onCursor(this.film.at[at.frame]);
    }
    // The cursor of the charts moved.
    follow(call) {
      if (this.film && !this.isKept && call !== null) this.show({frame: this.film.frameAt(call), row: this.at.row});
    }
    show(at) {
      this.at = at;
      this.slider.value = String(at.frame);
      this.slider.setAttribute("aria-valuetext", "call " + grouped(this.film.at[at.frame]));
      this.mark();
      this.tell();
    }
    tell() {
      const lines = heaptape.mapTexts(this.film, this.data.films.sites, this.at);
      if (this.isKept) lines[0] += " (kept: click or press Enter to let go)";
      this.detail.replaceChildren(...lines.map((text, i) => element("div", {class: i === 0 ? "name" : null, text})));
      this.detail.classList.toggle("kept", this.isKept);
    }
  }

  // The charts and the map share one cursor.
  heaptape.shareCursor = function (charts, map) {
    let busy = false;
    const alone = (act) => {
      if (busy) return;
      busy = true;
      act();
      busy = false;
    };
    charts.onCursor = (call) => alone(() => map.follow(call));
    map.onCursor = (call) => alone(() => { if (charts.axis === "at") charts.moveCursor(call); });
  };

  // Adds the map to the page, and draws it when it is about to come into view. Returns it; null if
  // there is none.
  heaptape.heapMap = function (data, page) {
    if (!data.films) return null;
    const map = new HeapMap(data);
    page.append(map.section);
    const fail = (error) => {
      map.detail.textContent = "The heap cannot be shown: " + error;
      console.error(error);
    };
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      Promise.resolve(map.film || map.chooseRun(map.wanted)).then(() => { map.section.dataset.ready = "yes"; }, fail);
    }, {rootMargin: "300px"}).observe(map.section);
    new ResizeObserver(() => { if (map.film) map.draw(); }).observe(map.canvas);
    heaptape.onTheme(() => map.colourBy(map.kind));
    return map;
  };
})();
