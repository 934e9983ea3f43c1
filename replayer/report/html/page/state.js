// The reader's choices, in the address of the page: a reload keeps them, and a link shows them to
// others. They replace the entry of the history, so that Back leaves the page.
"use strict";

(function () {
  const PAUSE = 250;       // ms after the last input
  const LONGEST = 20_000;  // letters of an address that is read

  const kept = new Map();  // by name: {read, write, first}
  let timer = null;

  // `read` returns the choice as text; `write` makes it, and must ignore what it does not know.
  // Choices that others depend on come first.
  function keep(name, read, write) {
    kept.set(name, {read, write, first: read()});
  }

  // Only what differs from the page as it opened.
  function address() {
    const all = new URLSearchParams();
    for (const [name, {read, first}] of kept) {
      const text = read();
      if (text !== first) all.set(name, text);
    }
    return String(all);
  }
  function save() {
    const now = address();
    const before = location.hash.slice(1);
    if (now === before || (now === "" && !before.includes("="))) return;
    try {
      history.replaceState(null, "", now === "" ? location.href.split("#")[0] : "#" + now);
    } catch (error) {
      console.info("The address keeps no choices: " + error);  // where a viewer embeds the page
    }
  }
  function restore() {
    const text = location.hash.slice(1);
    const all = new URLSearchParams(text.length > LONGEST ? "" : text);
    for (const [name, {read, write, first}] of kept) {
      const wanted = all.has(name) ? all.get(name) : first;
      try {
        if (wanted !== read()) write(wanted);
      } catch (error) {
        console.info("A choice of the address was ignored: " + name);
      }
    }
  }

  // Numbers between commas, and back; null if there are not `count` of them.
  function list(all) {
    return all.map((one) => Number(one.toFixed(6))).join(",");
  }
  function numbers(text, count) {
    const all = text.split(",");
    return all.length === count && all.every((one) => /^-?\d{1,15}(\.\d+)?$/.test(one)) ? all.map(Number) : null;
  }

  // Call it once the page is there.
  function start() {
    restore();
    addEventListener("hashchange", restore);
    for (const event of ["click", "input", "change", "keyup", "pointerup", "dblclick"]) {
      addEventListener(event, () => {
        clearTimeout(timer);
        timer = setTimeout(save, PAUSE);
      });
    }
  }

  heaptape.state = {keep, start, list, numbers};
})();
