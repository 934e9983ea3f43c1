// The heap map's text about a frame, a cell, and the blocks and holes in it.
"use strict";

(function () {
  const {bytes, grouped} = heaptape;

  const PARTS = [["live", "live"], ["freeResident", "free and resident"], ["freeAbsent", "free and given back"]];
  const MOST_ITEMS = 3;

  function name(film, part, words) {
    return part === "freeResident" && !film.knowsAbsent ? "free" : words;
  }

  function ofFrame(film, frame) {
    const sums = film.sums(frame);
    const free = PARTS.filter(([part]) => part !== "live" && (part !== "freeAbsent" || film.knowsAbsent))
        .map(([part, words]) => bytes(sums[part]) + " " + name(film, part, words));
    return film.label + " after call #" + grouped(film.at[frame]) + ": " +
        [bytes(sums.live) + " live in " + bytes(sums.blocks) + " of blocks", ...free].join(", ");
  }

  // A level stands for all parts that are rounded to it; the first also for all smaller ones.
  function shareOf(film, level) {
    const percent = (levels) => Math.round(levels / film.fullCell * 100) + "%";
    if (level === 1) return "under " + percent(1.5);
    return level >= film.fullCell ? "over " + percent(film.fullCell - 0.5) : "about " + percent(level);
  }

  function ofCell(film, sites, {frame, row}) {
    const cell = film.cell(frame, row);
    const parts = PARTS.filter(([part]) => cell[part] > 0)
        .map(([part, words]) => shareOf(film, cell[part]) + " " + name(film, part, words));
    const text = "0x" + film.addressOf(row).toString(16) + ", " + bytes(film.cellBytes) + ": " + (parts.length ? parts.join(", ") : "not in use");
    if (cell.live === 0) return text;
    return text + "; blocks of about " + bytes(Math.round(Math.pow(2, cell.sizeLog2))) + ", made about #" + grouped(Math.round(cell.birth)) +
        (cell.site >= 2 ? ", one of them by " + sites[cell.site - 2] : "");
  }

  function ofItem(film, item) {
    const range = "0x" + item.begin.toString(16) + " to 0x" + (item.begin + item.bytes).toString(16);
    const seen = "; there from #" + grouped(film.at[item.first]) + " to #" + grouped(film.at[item.last]);
    return item.birth === 0 ? "hole of " + bytes(Number(item.bytes)) + ", " + range + seen
                            : "block of " + bytes(item.asked) + ", " + range + ", made by call #" + grouped(item.birth) + seen;
  }

  // One text per line.
  heaptape.mapTexts = function (film, sites, at) {
    const lines = [ofFrame(film, at.frame)];
    if (at.row === null) return lines;
    return [...lines, ofCell(film, sites, at), ...film.itemsAt(at.frame, at.row).slice(0, MOST_ITEMS).map((item) => ofItem(film, item))];
  };

  // Notes merged, omitted and unknown parts.
  heaptape.mapNote = function (film) {
    const offered = film.offered > film.frames ? ", of " + grouped(film.offered) + " samples" : "";
    return "Each point is " + bytes(film.cellBytes) + " of addresses in one of " + grouped(film.frames) + " frames" + offered +
        ". Addresses that were never in use are omitted: a line marks their place." +
        (film.knowsAbsent ? "" : " For this run it is unknown which free pages were resident.");
  };
})();
