// The table of call sites below a flame graph: sorted by a click on a heading, filtered by a text.
"use strict";

(function () {
  const {element, named, exact, share} = heaptape;
  const {nodeOf} = heaptape.flameTree;
  const NAME = "site";  // the column of names, among those of metrics

  // "std::vector::push_back" for "std::vector<int>::push_back(int const&)". Keeps names that it does
  // not understand.
  function shortName(name) {
    if (/operator|\{/.test(name)) return name;
    let depth = 0;
    let kept = "";
    const isWord = () => /\w/.test(kept.slice(-1));
    for (const letter of name) {
      if (letter === "<" && (depth > 0 || isWord())) ++depth;
      else if (letter === ">" && depth > 0) --depth;
      else if (letter === "(" && depth === 0 && isWord()) break;
      else if (depth === 0) kept += letter;
    }
    return depth === 0 && kept !== "" ? kept : name;
  }

  class SiteTable {
    // `sites`: lists of their names and, by metric, values: those with the most of each.
    constructor(flame, sites) {
      this.flame = flame;
      this.sites = sites.texts.map((text, i) => ({
        text, name: sites.functions[i], module: sites.modules[i],
        values: Object.fromEntries(Object.entries(sites.values).map(([metric, values]) => [metric, Number(values[i])])),
      }));
      for (const site of this.sites) site.node = nodeOf(flame.tree, site.name, site.module);
      this.field = element("input", {type: "search", id: "site-filter", placeholder: "part of a name", autocomplete: "off", spellcheck: "false", oninput: () => this.draw()});
      this.count = element("span", {class: "note", role: "status", id: "site-count"});
      this.head = element("thead");
      this.body = element("tbody");
      this.part = element("div", {class: "tops"},
        element("div", {class: "tools"}, element("label", {}, element("span", {text: "Filter sites:"}), this.field), this.count),
        element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Call sites"}, element("table", {}, this.head, this.body)));
    }
    // One pinned metric: that of the graph, or the last that it had.
    metrics() {
      const {tree, metric} = this.flame;
      if (tree.pinned[metric] || !this.pinned) this.pinned = tree.pinned[metric] ? metric : this.flame.firstPinned;
      return tree.metrics.filter((one) => !tree.pinned[one] || one === this.pinned);
    }
    // Sorts by the metric of the graph when that changes.
    follow(metric) {
      this.sort = {by: metric, isDown: true};
    }
    keepState() {
      const {keep} = heaptape.state;
      keep("sort", () => (this.sort.isDown ? "-" : "") + this.sort.by, (text) => {
        const by = text.replace("-", "");
        if (by !== NAME && !this.metrics().includes(by)) return;
        this.sort = {by, isDown: text.startsWith("-")};
        this.draw();
      });
      keep("sites", () => this.field.value, (text) => {
        this.field.value = text;
        this.draw();
      });
    }
    sortBy(by) {
      const isSame = this.sort.by === by;
      this.sort = {by, isDown: isSame ? !this.sort.isDown : by !== NAME};
      this.draw();
      this.head.querySelector(`[data-by="${by}"]`).focus();
    }
    sorted() {
      const {by, isDown} = this.sort;
      const order = by === NAME ? (a, b) => a.text < b.text ? -1 : Number(a.text > b.text) : (a, b) => a.values[by] - b.values[by];
      const wanted = this.field.value.toLowerCase();
      const rows = this.sites.filter((site) => (site.text + " " + site.module).toLowerCase().includes(wanted)).sort(order);
      return isDown ? rows.reverse() : rows;
    }
    draw() {
      const metrics = this.metrics();
      if (this.sort.by !== NAME && !metrics.includes(this.sort.by)) this.follow(this.flame.metric);
      const rows = this.sorted();
      this.shares = this.sort.by === NAME ? this.flame.metric : this.sort.by;
      this.head.replaceChildren(element("tr", {}, this.heading(NAME, "call site" + this.flame.estimated), ...metrics.map((metric) => this.heading(metric, this.flame.about(metric).words)),
                                        element("th", {scope: "col", text: "share", title: "of " + this.flame.about(this.shares).words})));
      this.body.replaceChildren(...rows.map((site) => this.row(site, metrics)));
      this.count.textContent = (rows.length < this.sites.length ? rows.length + " of " : "") + heaptape.counted(this.sites.length, "site") + ": those with the most of each value";
    }
    heading(by, text) {
      const isChosen = this.sort.by === by;
      const label = by === NAME ? text : text.split(":")[0];
      return element("th", {scope: "col", "aria-sort": isChosen ? (this.sort.isDown ? "descending" : "ascending") : "none"},
                     element("button", {type: "button", "data-by": by, text: label, title: text === label ? null : text, onclick: () => this.sortBy(by)}));
    }
    row(site, metrics) {
      const {flame} = this;
      const value = (metric) => element("td", {text: heaptape.value(site.values[metric], flame.about(metric).unit), title: exact(site.values[metric], flame.about(metric).unit),
                                               "data-metric": metric, "data-unit": flame.about(metric).unit, "data-value": site.values[metric]});
      const find = (event) => {
        if (site.node && !event.target.closest("details")) flame.select(site.node);
      };
      return element("tr", {class: site.node ? "findable" : null, onclick: find}, element("td", {class: "function", "data-whole": [site.text, site.module].filter(Boolean).join(" ")}, ...this.name(site)), ...metrics.map(value),
                     element("td", {text: share(site.values[this.shares], flame.tree.root.values[this.shares])}));
    }
    // A button with the short name, if the graph has the function; then the place, behind which is
    // the whole name.
    name(site) {
      const short = named(shortName(site.name));
      const place = site.text.startsWith(site.name) ? site.text.slice(site.name.length).trim() : "";
      const brief = [named(place).text, named(site.module).text].filter(Boolean).join(" ");
      const whole = [site.text, site.module].filter(Boolean).join(" ");
      const isWhole = short.text === site.name && !place.includes("\u2026") && named(place).text === place && named(site.module).text === site.module;
      return [
        site.node ? element("button", {type: "button", text: short.text, title: site.text}) : element("span", {text: short.text, title: site.text}),
        isWhole ? element("span", {class: "note", text: brief}) : element("details", {class: "whole"}, element("summary", {text: brief || "whole name"}), element("div", {text: whole})),
      ];
    }
  }

  heaptape.SiteTable = SiteTable;
  heaptape.shortName = shortName;
})();
