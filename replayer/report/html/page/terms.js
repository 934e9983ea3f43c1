// Explains terms and shows hints, for a pointer, a finger and the keyboard alike.
"use strict";

(function () {
  const {element} = heaptape;

  // The name of a term and its text are those of docs/metrics.md, "Terms"; a test compares them. The pattern finds the term
  // in other text.
  const TERMS = [
    ["distance to ideal", /distance to ideal/, "Peak committed bytes divided by peak live bytes. 1.00 would be an allocator without any waste; at 2.00, its memory was at its largest twice what the program had in use at its own peak."],
    ["live bytes", /live(?: bytes)?(?! processes)/, "The bytes that the program has requested and not yet freed."],
    ["usable size", /usable(?: size)?/, "The bytes of a block that the program may use: at least the size that it requested."],
    ["slack", /slack/, "Usable bytes that the program did not request."],
    ["committed", /committed/, "Writable memory that the allocator holds."],
    ["resident", /resident/, "The part of committed memory that occupies physical pages or swap."],
    ["hole", /holes?/, "Free memory between live blocks."],
    ["top", /top|free at the ends of regions/, "Free memory at the end of a region, after its last block."],
    ["pin", /pin(?:s|ned)?/, "Of the two blocks beside a hole, the one with more free memory on its other side."],
    ["peak", /peak/, "The moment when live bytes are highest; in names like peak.X, the highest value of X in the run (for holes and fragmentation: the value when committed bytes peak)."],
    ["plateau", /plateau/, "The end of the low stretch after the largest fall of live bytes, for example when a server is idle after a load. Memory that is resident there and not live is what the allocator keeps after the load."],
    ["exit and end", /(?:at |at the |before )(?:exit|end)/, "The last call before the program frees what is left, and the last call of all."],
    ["unseen", /unseen/, "Memory from before a late recording, which no recorded call has handed out."],
    ["metadata", /metadata|the allocator's own/, "Bytes that the allocator needs for itself, such as block headers."],
    ["cached", /cached|caches/, "Free blocks that the allocator keeps ready for the next request of their kind."],
    ["returned", /returned|given back/, "Free committed memory that is not resident: given back to the system, or never written."],
    ["untouched", /untouched|never touched/, "Bytes of live blocks that are not resident, because the program did not write there."],
    ["unexplained", /unexplained/, "The rest of an account: 0, except for the recorded run, whose regions are those of the last process sample."],
    ["purgeable", /purgeable|purge/, "Resident pages with nothing in use on them, which a purge could give back."],
    ["recorded", /recorded(?: run)?/, "The run as it was recorded, not a replay. Its resident sizes are samples of the real process, malloc's part of it where that is known; those of a replay are measured at the moment itself, in a process of its own that writes to every page of a block. So the two differ, even on the same allocator."],
  ];
  const ANY = new RegExp("\\b(?:" + TERMS.map(([, pattern]) => "(" + pattern.source + ")").join("|") + ")(?![\\w:])", "gi");

  function idOf(name) {
    return "term-" + name.replaceAll(" ", "-");
  }

  // The names of the terms in a text, each once, in order.
  function termsIn(text) {
    const found = [...text.matchAll(ANY)].map((match) => TERMS[match.slice(1).findIndex(Boolean)][0]);
    return [...new Set(found)];
  }

  // A button with the text, which explains these terms; text alone if there are none. `note`: a last line.
  function term(text, names, note) {
    if (names.length === 0) return element("span", {text, title: note});
    return element("button", {type: "button", class: "term", text, "data-terms": names.join(","), "data-note": note,
                              "aria-describedby": names.map(idOf).join(" ")});
  }

  // Pieces of a text in which each term explains itself; `known` has the names of those that do so already.
  function terms(text, known = new Set()) {
    const made = [];
    let from = 0;
    for (const match of text.matchAll(ANY)) {
      const name = TERMS[match.slice(1).findIndex(Boolean)][0];
      if (known.has(name)) continue;
      known.add(name);
      const after = match.index + match[0].length;
      const [mark] = text.slice(after).match(/^[.,;:)]*/);  // browsers would break the line between a button and it
      const explained = term(match[0], [name]);
      made.push(document.createTextNode(text.slice(from, match.index)), mark === "" ? explained : element("span", {class: "unbroken"}, explained, mark));
      from = after + mark.length;
    }
    return [...made, document.createTextNode(text.slice(from))];
  }

  // "atPeak.residentBytes", a name in reports: explains its moment and what it measures.
  function metricTerm(metric) {
    const words = metric.replace(/(?<=[a-z])[A-Z]/g, (letter) => " " + letter.toLowerCase()).replaceAll(".", " ").replace(/^end /, "at end ");
    return term(metric, termsIn(words));
  }

  // For paper, and for readers of all terms at once.
  function section() {
    return heaptape.part("terms", "Terms", "what the words with dots below them mean",
                         element("dl", {class: "terms"}, ...TERMS.flatMap(([name, , text]) => [element("dt", {text: name}), element("dd", {id: idOf(name), text})])));
  }

  // One tip for all. A screen reader has the descriptions of the elements instead.
  const tip = element("div", {id: "tip", "aria-hidden": "true", hidden: ""});
  let about = null;  // the element that it stands by; null while it is hidden
  let waits = 0;

  function linesOf(hinted) {
    const names = hinted.dataset.terms ? hinted.dataset.terms.split(",") : [];
    const texts = names.map((name) => element("p", {}, element("strong", {text: name + ": "}), element("span", {text: TERMS.find((one) => one[0] === name)[2]})));
    const more = hinted.classList.contains("bar") ? hinted.getAttribute("aria-label") : hinted.dataset.note || hinted.title;
    return more ? [...texts, element("p", {text: more})] : texts;
  }
  // Below what it is about or, where there is no room, above.
  function place() {
    const box = about.getBoundingClientRect();
    const {width, height} = tip.getBoundingClientRect();
    const below = box.bottom + 4;
    const top = below + height <= innerHeight || box.top < height + 4 ? below : box.top - height - 4;
    tip.style.top = Math.max(0, Math.min(top, innerHeight - height)) + "px";
    tip.style.left = Math.max(4, Math.min(box.left, document.documentElement.clientWidth - width - 4)) + "px";
  }
  function show(hinted, near = hinted) {
    clearTimeout(waits);
    about = near;
    tip.replaceChildren(...linesOf(hinted));
    tip.hidden = false;
    place();
  }
  function hide() {
    clearTimeout(waits);
    about = null;
    tip.hidden = true;
  }
  // The hint in a focused element; a pointer gets titles from the browser.
  function hintedIn(focused) {
    const all = ".term, .bar, [title]";
    return focused.matches(all) ? focused : focused.matches("td, th") ? focused.querySelector(all) : null;
  }

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const hinted = event.target.closest(".term, #tip");
    if (hinted === tip) {
      clearTimeout(waits);
    } else if (hinted) {
      show(hinted);
    } else if (about && !about.contains(document.activeElement)) {
      clearTimeout(waits);
      waits = setTimeout(hide, 200);  // time to reach the tip
    }
  });
  document.addEventListener("focusin", (event) => {
    const hinted = hintedIn(event.target);
    if (hinted && (event.target.matches(":focus-visible") || hinted.matches(".term"))) show(hinted, event.target);
    else hide();
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("click", (event) => {
    const hinted = event.target.closest(event.pointerType === "touch" ? ".term, .bar, [title]" : ".term");
    if (hinted) show(hinted);
    else if (!tip.contains(event.target)) hide();
  });
  document.addEventListener("scroll", () => { if (about) place(); }, {capture: true, passive: true});
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    else moveCell(event);
  });

  // In a table, arrows go from cell to cell.
  const MOVES = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
  function moveCell(event) {
    const box = event.target.closest(".scroll");
    const move = MOVES[event.key];
    if (!box || !move || event.ctrlKey || event.altKey || event.metaKey) return;
    const rows = [...box.querySelectorAll("tr")];
    const cell = event.target.closest("td, th");
    const row = cell ? rows.indexOf(cell.parentElement) + move[0] : rows.findIndex((one) => one.closest("tbody"));
    const next = rows[row] && rows[row].cells[Math.min(cell ? cell.cellIndex + move[1] : 0, rows[row].cells.length - 1)];
    if (!next) return;
    event.preventDefault();
    const target = next.querySelector("button") || next;
    if (target === next) next.tabIndex = -1;
    target.focus();
  }

  document.body.append(tip);
  Object.assign(heaptape, {term, terms, termsIn, metricTerm, termsSection: section});
})();
