
// The page of two reports: the verdict, the gates, what changed in each run, the sites that account
// for it.
"use strict";

(function () {
  const {element, section, exact, grouped} = heaptape;

  function side(name, one) {
    return element("div", {text: name + ": " + one.path + " (tape " + one.tape + ", " + grouped(one.events) + " events)"});
  }

  function head(data) {
    return [
      element("h1", {text: "heaptape diff"}),
      element("div", {class: "facts"}, side("base", data.base), side("new", data.now)),
      element("p", {class: "verdict", id: "verdict", text: data.verdict}),
      data.warning ? element("p", {class: "failed", text: "WARNING: " + data.warning}) : null,
      ...data.notes.map((note) => element("p", {class: "note", text: note})),
    ].filter(Boolean);
  }

  // The first row is the heading. `mark`: what else a cell gets; `head`: what the first of a row holds
  // in place of its text.
  function table(rows, label, mark, head) {
    const heading = element("tr", {}, ...rows[0].map((text) => element("th", {scope: "col", text})));
    const body = element("tbody");
    rows.slice(1).forEach((row, number) => {
      const line = element("tr", {}, element("th", {scope: "row", text: head ? "" : row[0]}, head ? head(number, row[0]) : null));
      row.slice(1).forEach((text, column) => line.append(element("td", {text, ...(mark ? mark(number, column) : {})})));
      body.append(line);
    });
    return element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label},
                   element("table", {}, element("thead", {}, heading), body));
  }

  function run(one) {
    const mark = (offset) => (number, column) => {
      const row = one.exact[number + offset];
      const value = [row.base, row.now][column];
      if (column > 1 || value === null) return {};
      return {title: exact(value, row.unit), "data-value": String(value), "data-side": ["base", "new"][column]};
    };
    const [heading, ...rows] = one.table;
    const rest = rows.slice(one.shownRows);
    return element("div", {class: "run", "data-label": one.label}, element("h3", {text: one.label}),
                   ...one.notes.map((note) => element("p", {class: "note", text: note})),
                   table([heading, ...rows.slice(0, one.shownRows)], one.label, mark(0)),
                   rest.length === 0 ? null : element("details", {}, element("summary", {text: "All other metrics"}),
                                                      table([heading, ...rest], one.label + ", other metrics", mark(one.shownRows))));
  }

  function gates(data) {
    if (data.gates.length === 0) return null;
    const rows = data.gates.map(([state, expression, label, detail]) => [expression, state, label, detail]);
    return section("gates", "Gates", table([["gate", "result", "run", "values"], ...rows], "Gates"));
  }

  function runs(data) {
    return section("changes", "What changed", element("p", {class: "note", text: "Hover over a figure for all its digits."}),
                   element("div", {class: "beside"}, ...data.runs.map(run)));
  }

  // `flame` finds them; null where there is none.
  function sites(data, flame) {
    if (data.sites.length === 0) return null;
    const estimated = data.stacks && (data.stacks.sampling || data.stacks.baseSampling) ? " (estimated)" : "";
    const head = (changes) => flame && ((number, text) => flame.siteButton(text, changes.functions[number], changes.modules[number]));
    return section("sites", "Sites that account for the change" + estimated, element("div", {class: "beside"}, ...data.sites.map((changes) =>
      element("div", {}, element("h3", {text: changes.words}), table(changes.table, changes.words, null, head(changes))))));
  }

  heaptape.diff = {head, gates, runs, sites};
})();
