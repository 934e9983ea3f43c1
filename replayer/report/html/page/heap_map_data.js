// The heaps over time, packed by film_data.h: cells of addresses, lowest first, and frames.
"use strict";

(function () {
  async function unpacked(text) {
    const letters = atob(text);
    const packed = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; ++i) packed[i] = letters.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  const PLANES = ["live", "freeResident", "freeAbsent", "birth", "size", "site"];
  const SHARE_LEVELS = 31;
  const BIRTH_LEVELS = 255;
  const SIZE_LEVELS = 4;

  class Film {
    constructor(packed, sums, items, closeups) {
      this.label = packed.label;
      this.events = Number(packed.events);
      this.cellBytes = Number(packed.cellBytes);
      this.knowsAbsent = packed.knowsAbsent;
      this.offered = Number(packed.offered);
      this.at = packed.at.map(Number);
      this.stretches = packed.stretches.map(([address, cells]) => ({address: BigInt("0x" + address), cells: Number(cells)}));
      this.rows = this.stretches.reduce((sum, stretch) => sum + stretch.cells, 0);
      this.frames = this.at.length;
      this.fullCell = SHARE_LEVELS;
      this.sumsOfAll = sums;
      this.readItems(items);
      this.closeups = heaptape.readCloseups(closeups);
    }

    // Undoes the XOR of each frame with the previous one, in place. Each plane is a task of its
    // own, so the page stays responsive.
    async readPlanes(bytes) {
      const size = this.rows * this.frames;
      this.planes = {};
      for (const [number, name] of PLANES.entries()) {
        if (bytes.length < size * (number + 1)) return;
        await heaptape.breath();
        const plane = bytes.subarray(size * number, size * (number + 1));
        for (let i = this.rows; i < size; ++i) plane[i] ^= plane[i - this.rows];
        this.planes[name] = plane;
      }
    }

    readItems(items) {
      this.items = items.begin.map((begin, i) => ({
        begin: BigInt("0x" + begin), bytes: BigInt(items.bytes[i]), birth: Number(items.birth[i]),
        asked: items.asked[i], first: Number(items.first[i]), last: Number(items.last[i]),
      }));
    }

    // The address of a cell.
    addressOf(row) {
      for (const stretch of this.stretches) {
        if (row < stretch.cells) return stretch.address + BigInt(row) * BigInt(this.cellBytes);
        row -= stretch.cells;
      }
      return null;
    }

    // The cell of an address, with a fraction; null if there is none.
    rowOf(address) {
      let before = 0;
      for (const stretch of this.stretches) {
        const end = stretch.address + BigInt(stretch.cells) * BigInt(this.cellBytes);
        if (address >= stretch.address && address < end) {
          return before + Number(address - stretch.address) / this.cellBytes;
        }
        before += stretch.cells;
      }
      return null;
    }

    // The birth in cell i, counted frame by frame; calls are as precise as the levels.
    birth(i) {
      return this.planes.birth[i] / BIRTH_LEVELS * this.events;
    }
    sizeLog2(i) {
      return this.planes.size[i] / SIZE_LEVELS;
    }
    site(i) {
      return this.planes.site ? this.planes.site[i] : 0;
    }
    // One cell in one frame; its parts are in levels, of which `fullCell` make a whole.
    cell(frame, row) {
      const i = frame * this.rows + row;
      return {live: this.planes.live[i], freeResident: this.planes.freeResident[i], freeAbsent: this.planes.freeAbsent[i],
              birth: this.birth(i), sizeLog2: this.sizeLog2(i), site: this.site(i)};
    }

    // Exact bytes of all cells in one frame: requested, in whole blocks, free.
    sums(frame) {
      return Object.fromEntries(Object.entries(this.sumsOfAll).map(([name, values]) => [name, Number(values[frame])]));
    }

    // The row with the most free resident memory.
    freest(frame) {
      const free = this.planes.freeResident.subarray(frame * this.rows, (frame + 1) * this.rows);
      return free.reduce((best, share, row) => share > free[best] ? row : best, 0);
    }

    // The named items there, smallest first.
    itemsAt(frame, row) {
      const begin = this.addressOf(row);
      const end = begin + BigInt(this.cellBytes);
      return this.items
          .filter((item) => item.first <= frame && frame <= item.last && item.begin < end && item.begin + item.bytes > begin)
          .sort((a, b) => a.bytes < b.bytes ? -1 : a.bytes > b.bytes ? 1 : 0);
    }

    // The border between a frame and the next: half-way between their calls.
    bounds(frame) {
      const middle = (a, b) => (this.at[a] + this.at[b]) / 2;
      return [frame === 0 ? this.at[0] : middle(frame - 1, frame),
              frame + 1 === this.frames ? this.at[frame] : middle(frame, frame + 1)];
    }

    frameAt(call) {
      let frame = 0;
      while (frame + 1 < this.frames && this.bounds(frame)[1] <= call) ++frame;
      return frame;
    }
  }

  heaptape.readFilm = async function (packed) {
    const [planes, ...texts] = await Promise.all([packed.packed, packed.sums, packed.items, packed.closeups].map(unpacked));
    const film = new Film(packed, ...texts.map((text) => JSON.parse(new TextDecoder().decode(text))));
    await film.readPlanes(new Uint8Array(planes));
    return film;
  };
})();
