// Close-ups: the heap around its largest holes at a moment, block by block. closeup_data.h packs them.
"use strict";

(function () {
  const {element, bytes, grouped, colour} = heaptape;

  const ROW_BYTES = 2048;
  const ROWS = 20;
  const LEFT = 106;  // margin for the addresses, in CSS pixels
  const FONT = "11px system-ui, sans-serif";

  // Places in a part are bytes from its beginning, and may be outside it.
  function readPart(packed) {
    const [begin, end, origin] = [packed.begin, packed.end, packed.origin].map((text) => BigInt("0x" + text));
    const read = (columns, itemOf) => {
      let address = origin;
      return columns.step.map((step, i) => {
        address += BigInt(step);
        const size = itemOf(i);
        const from = Number(address - begin);
        return {address, from, to: from + size.bytes, ...size};
      });
    };
    const {blocks, holes} = packed;
    const readBlocks = read(blocks, (i) => ({isHole: false, bytes: Math.max(1, Number(blocks.usable[i])), asked: Number(blocks.asked[i]),
                                             birth: Number(blocks.birth[i]), site: blocks.site[i]}));
    const beside = (number) => number === 0 ? null : readBlocks[number - 1];
    const readHoles = read(holes, (i) => ({isHole: true, bytes: Number(holes.bytes[i]), resident: Number(holes.resident[i]), freed: Number(holes.freed[i]),
                                           before: beside(holes.before[i]), after: beside(holes.after[i])}));
    const part = {begin, bytes: Number(end - begin), items: [...readBlocks, ...readHoles].sort((a, b) => a.from - b.from)};
    part.rows = rowsOf(part);
    for (const item of part.items) item.part = part;
    return part;
  }

  // From low to high addresses. Rows within one hole or block are one, but for the first and the last.
  function rowsOf(part) {
    const rows = [];
    let next = 0;
    for (let from = 0; from < part.bytes;) {
      while (next < part.items.length && part.items[next].to <= from) ++next;
      const item = part.items[next];
      let to = from + ROW_BYTES;
      if (item && item.from <= from - ROW_BYTES && item.to >= from + 3 * ROW_BYTES) {
        to = Math.min(Math.floor(item.to / ROW_BYTES) * ROW_BYTES - ROW_BYTES, part.bytes);
      }
      rows.push({from, to});
      from = to;
    }
    return rows;
  }

  // The holes with most resident bytes first.
  function rankedHoles(parts) {
    return parts.flatMap((part) => part.items.filter((item) => item.isHole)).sort((a, b) => b.resident - a.resident || b.bytes - a.bytes || (a.address < b.address ? -1 : 1));
  }

  heaptape.readCloseups = function (packed) {
    return packed.map(({at, parts}) => {
      const read = parts.map(readPart);
      return {at: Number(at), parts: read, holes: rankedHoles(read)};
    }).filter(({holes}) => holes.length !== 0);
  };

  const hexadecimal = (address) => "0x" + address.toString(16);

  function ofBlock(block, sites) {
    return "block of " + bytes(block.asked) + " at " + hexadecimal(block.address) + ", made by call #" + grouped(block.birth) +
        (block.site === 0 ? "" : ": " + sites[block.site - 1]);
  }
  // One text per line.
  function textsOf(item, sites) {
    if (!item.isHole) return [ofBlock(item, sites)];
    const beside = (block) => block ? ofBlock(block, sites) : "no block that is known";
    const since = item.freed === 0 ? "no call is known to have freed a block in it" : "free since call #" + grouped(item.freed);
    return ["hole of " + bytes(item.bytes) + ", " + hexadecimal(item.address) + " to " + hexadecimal(item.address + BigInt(item.bytes)) + ", " +
                bytes(item.resident) + " of it resident; " + since,
            "before it: " + beside(item.before), "after it: " + beside(item.after)];
  }

  class Closeup {
    // `onItem` is called with the call and the address of what the reader picks.
    constructor(data, onItem) {
      this.data = data;
      this.onItem = onItem;
      this.item = null;
      const button = (text, by) => element("button", {type: "button", text, onclick: () => this.step(by)});
      this.note = element("p", {class: "note"});
      this.canvas = element("canvas", {class: "closeup", tabindex: "0", role: "application",
        "aria-label": "A close-up of the heap. Left and right go to what is beside, Page Up and Page Down to larger and smaller holes.",
        onpointermove: (event) => this.tell(this.under(event) || this.item), onpointerleave: () => this.tell(this.item),
        onclick: (event) => this.pick(this.under(event)), onkeydown: (event) => this.key(event)});
      this.detail = element("div", {class: "map-detail", role: "status"});
      this.tools = element("div", {class: "tools"}, button("Larger hole", -1), button("Smaller hole", 1),
                           heaptape.picture.pngButton("close-up", () => document.title + ": " + this.note.textContent, () => [this.box, this.detail]));
      this.box = element("div", {class: "closeup-frame"}, this.canvas);
      this.parts = element("div", {class: "closeup-parts"}, element("h3", {text: "Close-up"}), this.note, this.tools, this.box, this.detail);
      this.waiting = "";
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      heaptape.onTheme(() => this.draw());
    }

    // Call it behind that of the place, which chooses an item as well.
    keepState() {
      heaptape.state.keep("item", () => this.waiting || (this.isPicked ? this.item.address.toString(16) : ""), (text) => {
        if (text !== "" && !/^[0-9a-f]{1,16}$/.test(text)) return;
        this.waiting = text;
        this.restore();
      });
    }

    restore() {
      if (!this.shown || this.waiting === "") return;
      const address = BigInt("0x" + this.waiting);
      this.waiting = "";
      const found = this.shown.parts.flatMap((part) => part.items).find((item) => item.address === address);
      if (found) this.pick(found);
    }

    // At the moment nearest to a call: the hole with most resident bytes in this range of addresses, or
    // else the nearest one. No range: the first of all.
    follow(film, call, range) {
      const {closeups} = film;
      this.parts.hidden = closeups.length === 0;
      this.shown = this.item = null;
      this.isPicked = false;
      if (closeups.length === 0) return;
      this.label = film.label;
      this.shown = closeups.reduce((best, one) => Math.abs(one.at - call) < Math.abs(best.at - call) ? one : best);
      const {holes} = this.shown;
      const far = (hole) => {
        const below = range.begin - hole.address - BigInt(hole.bytes);
        const above = hole.address - range.end;
        return below > above ? below : above;
      };
      const near = range ? holes.find((hole) => far(hole) < 0n) || holes.reduce((best, one) => far(one) < far(best) ? one : best) : holes[0];
      this.select(near);
      this.restore();
    }

    select(item) {
      this.item = item;
      if (item.isHole) this.hole = item;
      const names = this.data.moments.filter((moment) => Number(moment.at) === this.shown.at).map((moment) => heaptape.summary.momentWords(moment.name));
      this.note.textContent = `${this.label} ${names.join(", ")} (#${grouped(this.shown.at)}), around ${hexadecimal(item.address)}: ` +
          `${grouped(ROW_BYTES)} bytes in a row, addresses to the right and up. Close-ups have the holes with most resident bytes, and what is near them: ${heaptape.counted(this.shown.holes.length, "hole")} in all.`;
      this.draw();
      this.tell(item);
    }
    pick(item) {
      if (!item) return;
      this.isPicked = true;
      this.select(item);
      this.onItem(this.shown.at, item.address);
    }
    // To a larger or smaller hole than the last one.
    step(by) {
      if (!this.shown) return;
      const {holes} = this.shown;
      this.pick(holes[Math.min(Math.max(holes.indexOf(this.hole) + by, 0), holes.length - 1)]);
    }
    // To what is beside.
    move(by) {
      const {items} = this.item.part;
      this.pick(items[items.indexOf(this.item) + by]);
    }
    key(event) {
      const moves = {ArrowLeft: () => this.move(-1), ArrowRight: () => this.move(1), PageUp: () => this.step(-1), PageDown: () => this.step(1)};
      if (!this.shown || !moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    }
    tell(item) {
      if (!item) return;
      this.detail.replaceChildren(...textsOf(item, this.data.films.closeSites).map((text, i) => element("div", {class: i === 0 ? "name" : null, text})));
    }

    // The rows on the canvas, lowest first: those of the item in the middle.
    view() {
      const {rows} = this.item.part;
      const first = rows.findIndex(({to}) => to > this.item.from);
      const after = rows.findIndex(({from}) => from >= this.item.to);
      const count = (after < 0 ? rows.length : after) - first;
      const start = Math.min(first - Math.max(0, Math.floor((ROWS - count) / 2)), rows.length - ROWS);
      return rows.slice(Math.max(0, start), Math.max(0, start) + ROWS);
    }
    // Calls visit(item, row, number, left, right): its part of a row, as shares of the row.
    forEachPart(view, visit) {
      view.forEach((row, number) => {
        for (const item of this.item.part.items) {
          if (item.to <= row.from || item.from >= row.to) continue;
          const share = (place) => Math.min(Math.max((place - row.from) / (row.to - row.from), 0), 1);
          visit(item, row, number, share(item.from), share(item.to));
        }
      });
    }
    draw() {
      if (!this.item) return;
      const context = heaptape.mapPaint.cleared(this.canvas);
      const {clientWidth, clientHeight} = this.canvas;
      const width = Math.max(1, clientWidth - LEFT);
      const height = clientHeight / ROWS;
      const view = this.view();
      const top = (number) => clientHeight - (number + 1) * height;
      const inks = {block: colour("part-live"), resident: colour("part-hole"), absent: colour("map-absent")};
      context.font = FONT;
      context.textBaseline = "middle";
      const beside = this.item.isHole ? [this.item.before, this.item.after] : [];
      this.forEachPart(view, (item, row, number, left, right) => {
        const x = LEFT + left * width;
        const wide = (right - left) * width;
        const gap = wide > 3 ? 1 : 0;  // shows where a block ends
        context.fillStyle = !item.isHole ? inks.block : item.resident > 0 ? inks.resident : inks.absent;
        context.fillRect(x, top(number) + 1, Math.max(wide - gap, 0.5), height - 2);
        if (row.to - row.from > ROW_BYTES) {
          this.write(context, bytes(row.to - row.from) + " of it", LEFT + width / 2, top(number) + height / 2);
        }
      });
      for (const [items, name] of [[beside, "ink"], [[this.item], "mark"]]) {
        context.strokeStyle = colour(name);
        context.lineWidth = 2;
        this.forEachPart(view, (item, row, number, left, right) => {
          if (items.includes(item)) context.strokeRect(LEFT + left * width, top(number) + 1, Math.max((right - left) * width, 2), height - 2);
        });
      }
      context.textAlign = "right";
      context.fillStyle = colour("soft");
      view.forEach((row, number) => context.fillText(hexadecimal(this.item.part.begin + BigInt(row.from)), LEFT - 4, top(number) + height / 2));
    }
    // On a box in the page's color.
    write(context, text, x, y) {
      const width = context.measureText(text).width + 8;
      context.fillStyle = colour("paper");
      context.fillRect(x - width / 2, y - 6, width, 12);
      context.fillStyle = colour("ink");
      context.textAlign = "center";
      context.fillText(text, x, y);
    }

    under(event) {
      if (!this.item) return null;
      const box = this.canvas.getBoundingClientRect();
      const number = ROWS - 1 - Math.floor((event.clientY - box.top) / box.height * ROWS);
      const share = (event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT);
      let found = null;
      this.forEachPart(this.view(), (item, row, at, left, right) => {
        if (at === number && left <= share && share < right) found = item;
      });
      return found;
    }
  }

  heaptape.Closeup = Closeup;
})();
