
// Building blocks below the first screen: folded sections, figures of the report, tables and bars.
"use strict";

(function () {
  const {element} = heaptape;

  // A folded section. `fact`: readable without opening it.
  function part(id, heading, fact, ...children) {
    const title = element("h2", {id: id + "-heading", text: heading});
    return element("section", {id, class: "folded", "aria-labelledby": id + "-heading"},
                   element("details", {}, element("summary", {}, title, fact ? element("span", {class: "fact", text: fact}) : null), ...children));
  }

  // The properties of an element that shows a number of the report: `path` is "runs.0.end.liveBytes".
  function figure(report, path, unit) {
    const number = path.split(".").reduce((found, name) => found === undefined || found === null ? null : found[name], report);
    const isThere = number !== undefined && number !== null;
    return {text: heaptape.value(isThere ? number : null, unit), title: isThere ? heaptape.exact(number, unit) : null,
            "data-path": path, "data-unit": unit, "data-value": isThere ? String(number) : null};
  }

  // A cell is text, an element, or the properties of one. A row's first cell is its heading.
  function cell(tag, content, properties) {
    if (content instanceof Element) return element(tag, properties, content);
    return element(tag, {...properties, ...(typeof content === "string" ? {text: content} : content)});
  }
  function table(label, headings, rows) {
    const head = element("tr", {}, ...headings.map((content) => content === "" ? cell("td", "")
      : typeof content === "string" ? element("th", {scope: "col"}, ...heaptape.terms(content)) : cell("th", content, {scope: "col"})));
    const body = element("tbody", {}, ...rows.map((row) =>
      element("tr", {}, ...row.map((content, i) => i === 0 ? cell("th", content, {scope: "row"}) : cell("td", content)))));
    return element("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": label},
                   element("table", {}, element("thead", {}, head), body));
  }

  // A line for each of `rows`: its name, a bar of length `value` / `most`, and a figure, followed
  // by the text `after`, if any.
  function bars(rows, most, colour) {
    const grid = element("div", {class: "bars"});
    for (const row of rows) {
      const width = most > 0 ? Number(row.value) / most * 100 : 0;
      grid.append(element("div", {class: "name", text: row.name}),
                  element("div", {class: "track", "aria-hidden": "true"},
                          width > 0 ? element("div", {class: "fill", style: {width: width + "%", background: "var(--" + colour + ")"}}) : null),
                  element("div", {class: "amount"}, element("span", row.figure), row.after ? element("span", {class: "note", text: " " + row.after}) : null));
    }
    return grid;
  }

  // "64 B to 128 B": from one power of two to below the next.
  function bandText(log2) {
    return heaptape.shortBytes(log2 === 0 ? 0 : 2 ** log2) + " to " + heaptape.shortBytes(2 ** (log2 + 1));
  }

  // "#1,234" for the number of a call.
  function call(number) {
    return "#" + heaptape.grouped(number);
  }

  // Paper cannot be unfolded.
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details:not([open])")) {
      folded.dataset.wasFolded = "";
      folded.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const opened of document.querySelectorAll("details[data-was-folded]")) {
      delete opened.dataset.wasFolded;
      opened.open = false;
    }
  });

  Object.assign(heaptape, {part, figure, table, bars, bandText, call});
})();
