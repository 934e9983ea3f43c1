
// The page of two reports: the verdict and its reasons, the gates, the changes in each run, and the
// blocks and sites that account for them.
"use strict";

(function () {
  const {element, section, prose, exact, grouped} = heaptape;

  function side(name, one) {
    return element("div", {text: name + ": " + one.path + " (tape " + one.tape + ", " + grouped(one.events) + " events)"});
  }

  function list(id, texts) {
    return texts.length === 0 ? null : element("ul", {class: "where", id}, ...texts.map((text) => element("li", {}, ...prose(text))));
  }

  // Begins with the change, unless something failed.
  function head(data) {
    const isFailed = data.verdict.startsWith("FAIL");
    const isFirst = isFailed || !data.headline;
    const verdict = element("p", {class: isFailed ? "verdict failed" : isFirst ? "verdict" : null, id: "verdict", text: data.verdict});
    return [
      element("h1", {text: "heaptape diff"}),
      element("div", {class: "facts"}, side("base", data.base), side("new", data.now)),
      data.warning ? element("p", {class: "failed", text: "WARNING: " + data.warning}) : null,
      isFirst ? verdict : null,
      data.headline ? element("p", {id: "headline", class: isFirst ? null : "verdict", text: data.headline}) : null,
      list("parts", data.parts),
      isFirst ? null : verdict,
      list("reasons", data.reasons.filter((text) => !data.parts.some((part) => part.includes(text)))),
      ...data.notes.map((note) => element("p", {class: "note", text: note})),
    ].filter(Boolean);
  }

  // The first row is the heading. `mark` adds to a cell; `head` replaces the text of a row's first
  // cell.
  function table(rows, label, mark, head) {
    const heading = element("tr", {}, ...rows[0].map((text) => element("th", {scope: "col", text})));
    const body = element("tbody");
    rows.slice(1).forEach((row, number) => {
      const line = element("tr", {}, element("th", {scope: "row", text: head ? "" : row[0]}, head ? head(number, row[0]) : null));
      row.slice(1).forEach((text, column) => line.append(element("td", {text, ...(mark ? mark(number, column) : {})})));
      body.append(line);
    });
    return element("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": label},
                   element("table", {}, element("thead", {}, heading), body));
  }

  function run(one) {
    const mark = (offset) => (number, column) => {
      const row = one.exact[number + offset];
      const value = [row.base, row.now][column];
      if (column > 1 || value === null) return {};
      return {title: exact(value, row.unit), "data-value": String(value), "data-side": ["base", "new"][column]};
    };
    const explain = (number, metric) => heaptape.metricTerm(metric);
    const [heading, ...rows] = one.table;
    const rest = rows.slice(one.shownRows);
    return element("div", {class: "run", "data-label": one.label}, element("h3", {text: one.label}),
                   ...one.notes.map((note) => element("p", {class: "note", text: note})),
                   table([heading, ...rows.slice(0, one.shownRows)], one.label, mark(0), explain),
                   rest.length === 0 ? null : element("details", {}, element("summary", {text: "All other metrics"}),
                                                      table([heading, ...rest], one.label + ", other metrics", mark(one.shownRows), explain)));
  }

  function gates(data) {
    if (data.gates.length === 0) return null;
    const rows = (states) => states.flatMap((state) => data.gates.filter((gate) => gate[0] === state))
      .map(([state, expression, label, detail]) => [expression, state, heaptape.named(label).text, detail]);
    const all = (states, mark) => table([["gate", "result", "run", "values"], ...rows(states)], "Gates: " + states.join(", "), mark);
    const count = (state) => data.gates.filter((gate) => gate[0] === state).length;
    const failed = count("FAIL");
    return section("gates", "Gates",
                   failed === 0 ? null : all(["FAIL"], (number, column) => column === 0 ? {class: "failed"} : {}),
                   failed === data.gates.length ? null : element("details", {}, element("summary", {text: `${grouped(count("PASS"))} gate checks passed, ${grouped(count("SKIP"))} skipped`}),
                                                                 all(["PASS", "SKIP"])));
  }

  function runs(data) {
    return section("changes", "What changed", element("p", {class: "note", text: "Hover over a figure, or go to it with the arrows, for all its digits."}),
                   element("div", {class: "beside"}, ...data.runs.map(run)));
  }

  function cohorts(data) {
    const all = [...data.cohorts, ...data.pins];
    if (all.length === 0) return null;
    return section("blocks", "Blocks that account for the change", element("div", {class: "beside"}, ...all.map((changes) =>
      element("div", {}, element("h3", {text: changes.words}), table(changes.table, changes.words)))));
  }

  // `flame` finds the sites; null if there is none.
  function sites(data, flame) {
    if (data.sites.length === 0) return null;
    const estimated = data.stacks && (data.stacks.sampling || data.stacks.baseSampling) ? " (estimated)" : "";
    const head = (changes) => flame && ((number, text) => flame.siteButton(text, changes.functions[number], changes.modules[number]));
    return section("sites", "Sites that account for the change" + estimated, element("div", {class: "beside"}, ...data.sites.map((changes) =>
      element("div", {}, element("h3", {text: changes.words}), table(changes.table, changes.words, null, head(changes))))));
  }

  // The figures of a run by name: [base, now].
  function valuesOf(one) {
    return new Map(one.exact.map((row, i) => [one.table[i + 1][0], [row.base, row.now]]));
  }

  // The accounts of each run in the base and, below it, in the new report, all on one scale.
  function accounts(data) {
    const END = ".account.holeBytes";
    const all = data.runs.map((one) => ({label: one.label, values: valuesOf(one)}));
    const found = new Set(all.flatMap(({values}) => [...values.keys()].filter((name) => name.endsWith(END)).map((name) => name.slice(0, -END.length))));
    const inOrder = ["atPeak", "atPlateau", "atExit", "end"].filter((state) => found.has(state));
    const states = [...new Set([...inOrder, ...found])];  // marks follow
    const rowOf = ({label, values}, pair, state, side) => {
      const row = {label: label + [", base", ", new"][side], backend: data.backends[2 * pair + side]};
      for (const [name, both] of values) {
        if (name.startsWith(state + ".") && both[side] !== null) row[name.slice(state.length + 1)] = both[side];
      }
      return row["account.holeBytes"] === undefined ? null : row;
    };
    return states.map((state) => ({state, rows: all.flatMap((one, pair) => [rowOf(one, pair, state, 0), rowOf(one, pair, state, 1)]).filter(Boolean)}));
  }
  function stateWords(state) {
    if (state === "end") return "at the end";
    return state.startsWith("atMark.") ? "mark " + state.slice("atMark.".length) : "at the " + state.slice("at".length).toLowerCase();
  }
  function account(data) {
    const all = accounts(data);
    if (all.length === 0) return null;
    const wanted = ["atPlateau", "atExit", "atPeak"];
    const rank = ({state}) => wanted.includes(state) ? wanted.indexOf(state) : wanted.length;
    const first = [...all].sort((a, b) => rank(a) - rank(b))[0];
    const bars = (state) => heaptape.summary.bars(all.find((one) => one.state === state));
    const place = element("div", {class: "pairs"}, bars(first.state));
    return section("account", "Where the memory is", heaptape.choice("Moment", all.map(({state}) => [state, stateWords(state)]), first.state, (state) => place.replaceChildren(bars(state)), "moment"),
                   heaptape.summary.legend(all), place);
  }

  // A line for each run of both reports, dashed for the base.
  function charts(data, page) {
    const runs = data.runs.flatMap(({label}, pair) => [true, false].map((isBase) => (
      {label: label + (isBase ? ", base" : ", new"), pair, isBase, backend: data.backends[2 * pair + !isBase]})));
    heaptape.charts({runs, moments: [], timeline: data.timeline}, page);
  }

  heaptape.diff = {head, gates, account, runs, charts, cohorts, sites};
})();
