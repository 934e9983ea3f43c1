
// The text of a flame graph about its values, code places, changes and omissions.
"use strict";

(function () {
  // `after`: the text after a figure with its unit.
  const VALUES = {
    peakBytes: {words: "bytes at the peak", after: "at the peak", unit: "bytes"},
    liveBytes: {words: "bytes alive at the end", after: "alive at the end", unit: "bytes"},
    askedBytes: {words: "bytes requested", after: "requested", unit: "bytes"},
    calls: {words: "calls", after: "calls", unit: "count"},
    mappedBytes: {words: "bytes mapped beside malloc", after: "mapped beside malloc", unit: "bytes"},
    temporaries: {words: "temporaries: freed by the next call", after: "temporaries: freed by the next call", unit: "count"},
  };
  const PINNED = "pinned ";  // begins the choice of all runs' pins at one moment

  function place(node) {
    const file = node.file ? node.file + (node.line ? ":" + node.line : "") : "";
    return [file, node.module].filter(Boolean).join(", ");
  }

  // "+1.20 MiB", "-3", "0".
  function changeText(base, now, unit) {
    if (base === now) return "0";
    return (now > base ? "+" : "-") + heaptape.value(Math.abs(now - base), unit);
  }

  // "at the peak", "at the plateau, exit and end".
  function atMoments(pinned) {
    return "at the " + pinned.moments.join(", ").replace(/, ([^,]*)$/, " and $1");
  }

  function isEstimated(data) {
    return Boolean(data.sampling || data.baseSampling);
  }

  // How many calls the estimates are based on.
  function samplingText(data) {
    const how = (sampling) => sampling.everyBytes ? "chosen at random: one byte in " + heaptape.bytes(sampling.everyBytes) : "which are those for certain sizes";
    const of = (sampling) => "estimated from the stacks of " + heaptape.counted(sampling.calls, "call") + ", " + how(sampling);
    if (data.base === undefined) return "All figures of call stacks are " + of(data.sampling) + ".";
    const side = (name, sampling) => "Figures of the " + name + " are " + (sampling ? of(sampling) : "exact") + ".";
    return side("base", data.baseSampling) + " " + side("new tape", data.sampling);
  }

  function note(data) {
    const what = data.base === undefined ? "Colors are modules."
        : "Orange boxes grew on the new tape, blue ones shrank, gray ones are unchanged. Choose widths by the base to see what is gone.";
    return "Each box is a function, below its callers. Click, or Enter, to zoom; arrows move; Escape goes back. " + what + mergedNote(data);
  }

  // Describes a view, below the buttons. For the usual one, note() does.
  function viewNote(view, root) {
    if (view === "graph") return [];
    if (view === "inverted") return ["The functions that called the allocator stand at the bottom, those that called them above."];
    return ["All stacks through ", heaptape.element("bdi", heaptape.named(root.name)), ", as one: its callers above, what it called below. Click, or Enter, takes another function; Escape goes back."];
  }

  function mergedNote(data) {
    if (data.mergedNodes === 0) return "";
    const percent = Number((data.leastShare * 100).toPrecision(2));
    const of = data.base === undefined ? "" : " of a tape";
    return " Calls below " + percent + "%" + of + " by every value are merged: " + heaptape.counted(data.mergedNodes, "place") + ".";
  }

  heaptape.flameText = {VALUES, PINNED, place, changeText, atMoments, isEstimated, samplingText, note, viewNote};
})();
