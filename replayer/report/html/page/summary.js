
// The first screen: the tape, the verdict, where the memory is, the runs compared.
"use strict";

(function () {
  const {element, section, named, prose, term, termsIn, bytes, exact, grouped, duration, share} = heaptape;

  // The parts of committed memory: docs/metrics.md, "The account".
  const PARTS = [
    {metric: "liveBytes", name: "live", colour: "part-live"},
    {metric: "slackBytes", name: "slack within blocks", colour: "part-slack"},
    {metric: "account.metadataBytes", name: "the allocator's own", colour: "part-metadata"},
    {metric: "account.cachedBytes", name: "cached for reuse", colour: "part-cached"},
    {metric: "account.holeBytes", name: "holes between blocks", colour: "part-hole"},
    {metric: "account.topBytes", name: "free at the ends of regions", colour: "part-top"},
    {metric: "account.late.unseenBytes", name: "unseen memory from before", colour: "part-unseen"},
    {metric: "account.unexplainedBytes", name: "unexplained", colour: "part-other"},
  ];

  function momentWords(moment) {
    return moment.startsWith("mark:") ? "mark " + moment.slice("mark:".length) : "at the " + moment;
  }

  // Shortens the names of runs as elsewhere.
  function sentence(data, tag, text, properties) {
    const short = data.runs.reduce((words, {label}) => words.split(label).join(named(label).text), text);
    return element(tag, {...properties, ...(short === text ? {} : {title: text, tabindex: "0"})}, ...prose(short));
  }

  // Commands are between backquotes.
  function action(text) {
    return element("div", {class: "action"}, ...text.split("`").map((piece, i) =>
      i % 2 === 0 ? document.createTextNode(piece) : element("code", {text: piece})));
  }

  function findings(data) {
    const list = element("ol", {class: "findings", id: "findings"});
    for (const finding of data.verdict.findings) {
      list.append(element("li", {"data-kind": finding.kind}, sentence(data, "div", finding.evidence, {class: "evidence"}),
                          finding.action ? action(finding.action) : null));
    }
    return list;
  }

  function lacks(tape, what) {
    return tape.lacks.split(", ").includes(what);
  }

  // The whole of a long one is in a tip.
  function commandLine({command}) {
    return command ? element("div", {class: "command code", text: command, title: command, tabindex: "0"}) : null;
  }

  function head(data) {
    const tape = data.tape;
    const facts = [grouped(tape.events) + " events"];
    if (tape.importedFrom) facts.push("imported from " + tape.importedFrom);
    if (tape.threads && !lacks(tape, "threads")) facts.push(grouped(tape.threads) + (tape.threads === 1 ? " thread" : " threads"));
    if (tape.durationNs) facts.push("ran " + duration(tape.durationNs));
    if (tape.recordedAt) facts.push("recorded " + tape.recordedAt.replace("T", " ").replace("Z", " UTC"));
    return [
      element("h1", {text: tape.path}),
      element("div", {class: "facts"}, element("div", {text: facts.join(" · ")}),
              commandLine(tape)),
      heaptape.trust.banner(data),
      sentence(data, "p", data.verdict.headline, {class: "verdict", id: "verdict"}),
      findings(data),
      data.where ? sentence(data, "p", data.where, {class: "where", id: "where"}) : null,
    ].filter(Boolean);
  }

  // In bytes.
  function length(row) {
    return PARTS.reduce((sum, part) => sum + Math.max(0, Number(row[part.metric] || 0)), 0);
  }

  function bar(row, most) {
    const whole = length(row);
    const box = element("div", {class: "bar", role: "img", tabindex: "0"});
    const words = [];
    for (const part of PARTS) {
      const value = Number(row[part.metric] || 0);
      if (value === 0) continue;
      const text = part.name + " " + bytes(row[part.metric]) + " (" + share(value, whole) + ")";
      words.push(text);
      if (value < 0) continue;
      box.append(element("div", {
        class: "part",
        title: text,
        "data-metric": part.metric,
        "data-value": row[part.metric],
        style: {width: (value / most * 100) + "%", background: "var(--" + part.colour + ")"},
      }));
    }
    box.setAttribute("aria-label", row.label + ": " + words.join(", "));
    return box;
  }

  // The text beside the bar. Parts below a hundredth of it are only in the table.
  function sum(row, isLeast) {
    const untouched = Number(row["account.untouchedBytes"] || 0);
    const text = element("div", {class: "sum"});
    text.append(bytes(length(row) - untouched) + (row.backend === "recorded" ? " in its heap" : " resident"));
    if (isLeast) text.append(element("span", {class: "least", text: " \u25c2 less"}));
    const beside = (value, words) => {
      if (Number(value || 0) !== 0) text.append(element("span", {class: "given", text: " + " + bytes(value) + " " + words}));
    };
    if (untouched >= length(row) / 100) beside(untouched, "live, never touched");
    beside(row["account.returnedBytes"], "given back");
    return text;
  }

  // The recorded run says how its figures differ from those of replays.
  function runLabel(tag, {label, backend}, properties) {
    const {text, title} = named(label);
    return backend === "recorded" ? element(tag, properties, term(text, ["recorded"], title)) : element(tag, {...properties, text, title});
  }

  function bars(account, best = []) {
    const most = Math.max(1, ...account.rows.map(length));
    const grid = element("div", {class: "account", "data-state": account.state});
    for (const row of account.rows) {
      grid.append(runLabel("div", row, {class: "label"}), bar(row, most),
                  sum(row, isBest(best, row.label, account.state + ".residentBytes")));
    }
    return grid;
  }

  function legend(accounts) {
    const list = element("ul", {class: "legend"});
    for (const part of PARTS) {
      const there = accounts.some((account) => account.rows.some((row) => Number(row[part.metric] || 0) !== 0));
      if (!there) continue;
      list.append(element("li", {},
                          element("span", {class: "swatch", style: {background: "var(--" + part.colour + ")"}}),
                          term(part.name, termsIn(part.name))));
    }
    return list;
  }

  // Moments at the same call, such as all at the end of a run that frees nothing, are one choice.
  function choices(accounts, moments) {
    const found = [];
    for (const account of accounts) {
      const at = moments.find((moment) => moment.name === account.moment).at;
      const same = found.find((choice) => choice.at === at);
      if (same) {
        same.words += ", " + momentWords(account.moment);
      } else {
        found.push({at, account, words: momentWords(account.moment)});
      }
    }
    return found;
  }

  function account(data) {
    const accounts = data.accounts.filter((one) => one.rows.length !== 0);
    if (accounts.length === 0) return null;
    const all = choices(accounts, data.moments);
    const wanted = [data.verdict.moment, "plateau", "exit", "peak", "end"].filter(Boolean);
    const rank = (choice) => {
      const ranks = wanted.map((name, i) => choice.words.includes("at the " + name) ? i : wanted.length);
      return Math.min(...ranks);
    };
    const first = [...all].sort((a, b) => rank(a) - rank(b))[0];
    const place = element("div", {}, bars(first.account, data.best));
    const tools = heaptape.choice("Moment", all.map((choice, i) => [String(i), choice.words]),
                                  String(all.indexOf(first)), (i) => place.replaceChildren(bars(all[i].account, data.best)), "moment");
    heaptape.onMoment(({at}) => {
      const i = all.findIndex((choice) => Number(choice.at) === at);
      if (i >= 0) tools.querySelector(`[data-value="${i}"]`).click();
    });
    const colours = legend(accounts);
    const png = element("div", {class: "copying"}, heaptape.picture.pngButton("account", () => document.title + ": " + tools.querySelector('[aria-pressed="true"]').textContent, () => [colours, place]));
    return section("account", "Where the memory is", tools, colours, place, png,
                   table(data.accountTable, {caption: "As a table"}));
  }

  // Adjacent columns of one group share a heading.
  function groupRow(columns) {
    const row = element("tr", {}, element("td", {}));
    for (let i = 0; i < columns.length;) {
      let end = i;
      while (end < columns.length && columns[end].group === columns[i].group) ++end;
      row.append(element("th", {class: "group", colspan: String(end - i), scope: "colgroup"}, term(columns[i].group, termsIn("at " + columns[i].group))));
      i = end;
    }
    return row;
  }

  function isBest(best, label, metric) {
    return best.some((one) => one.label === label && metric === one.state + ".residentBytes");
  }

  function bodyRow(row, columns, best) {
    const line = element("tr", {}, runLabel("th", row, {scope: "row"}));
    columns.forEach((column, i) => {
      const mayBe = best.some((one) => column.metric === one.state + ".residentBytes");
      line.append(element("td", {
        class: isBest(best, row.label, column.metric) ? "best" : mayBe ? "may-be-best" : null,
        text: row.cells[i],
        title: exact(row.values[i], column.unit),
        "data-metric": column.metric,
        "data-unit": column.unit,
        "data-value": row.values[i] === null ? null : String(row.values[i]),
      }));
    });
    return line;
  }

  function table(figures, {caption, best = []} = {}) {
    if (figures.rows.length === 0) return null;
    const names = element("tr", {}, element("th", {scope: "col", text: "run"}));
    for (const column of figures.columns) names.append(element("th", {scope: "col"}, term(column.name, termsIn(column.name), column.metric)));
    const body = element("tbody");
    for (const row of figures.rows) body.append(bodyRow(row, figures.columns, best));
    const made = element("table", {}, element("thead", {}, groupRow(figures.columns), names), body);
    const box = element("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": caption || "Runs compared"}, made);
    return caption ? element("details", {}, element("summary", {text: caption}), box) : box;
  }

  function runs(data) {
    const failed = data.runs.filter((run) => run.failure);
    const note = (data.best.length === 0 ? "" : " ◂ marks the allocator that would hold less.") +
                 (data.recordedNote ? ` ${data.recordedNote}. Those of a replay are of its own heap at the moment itself, so they differ.` : "");
    return section("runs", "The runs compared",
                   element("p", {class: "note", text: "Hover over a figure, or go to it with the arrows, for all its digits." + note}),
                   table(data.overview, {best: data.best}),
                   ...failed.map((run) => element("p", {class: "failed", text: run.label + " failed " + run.failure})));
  }

  function lines(data) {
    const list = element("ul", {class: "lines"});
    for (const line of data.lines) list.append(element("li", {text: line}));
    return section("lines", "How it was replayed", list);
  }

  heaptape.summary = {head, commandLine, bars, legend, account, runs, lines, table, momentWords};
})();
