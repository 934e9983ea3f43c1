
// The flame graph: which code asked for the blocks. docs/howto-html.md, "Flame graphs".
"use strict";

(function () {
  const {element, section, share} = heaptape;
  const {readTree, change, own, isAll, merged, layOut, search, nodeOf} = heaptape.flameTree;
  const {inverted, around, greatest} = heaptape.flameViews;
  const {VALUES, PINNED, place, changeText, atMoments, isEstimated, samplingText, note, viewNote} = heaptape.flameText;
  const {HUES, hash, changeColour} = heaptape.flameColours;

  const ROW = 1.25;     // rem
  const LEAST = 0.001;  // of the width; narrower boxes are not drawn
  const MOST = 1200;    // boxes
  const VIEWS = [["graph", "Flame graph"], ["inverted", "Inverted"], ["callers", "Callers"]];

  class Flame {
    // `sites`: for one tape, those that asked for most.
    constructor(data, sites) {
      this.tree = readTree(data);
      this.view = "graph";
      this.views = {graph: this.tree};            // the tree of each view
      this.zooms = {graph: this.tree.root};       // the node that fills the width, by view
      this.side = "now";
      this.picked = 0;                            // the function last chosen, for its callers
      this.estimated = isEstimated(data) ? " (estimated)" : "";
      this.metric = this.tree.metrics[0];
      this.found = null;
      this.modules = this.modulesBySize();
      const at = (act) => (event) => {
        const box = event.target.closest(".frame");
        if (box) act.call(this, this.shown.nodes[box.dataset.node]);
      };
      this.rows = element("div", {class: "rows", role: "group", onclick: at(this.zoom), onmouseover: at(this.tell), onfocusin: at(this.tell)});
      this.box = element("div", {class: "flame", role: "tree", "aria-label": "Flame graph: callers above what they call",
                                 onkeydown: (event) => this.key(event)}, this.rows);
      this.detail = element("div", {class: "detail", role: "status"});
      this.matched = element("span", {class: "note", role: "status"});
      this.how = element("p", {class: "note", id: "flame-view"});
      this.sites = this.tree.isDiff ? null : new heaptape.SiteTable(this, sites);
      if (this.sites) this.sites.follow(this.metric);
      this.merged = element("p", {class: "note", id: "flame-merged"});
    }
    get shown() {
      return this.views[this.view];
    }
    get top() {
      return this.zooms[this.view];
    }
    set top(node) {
      this.zooms[this.view] = node;
    }
    modulesBySize() {
      const sums = new Map();
      for (const node of this.tree.nodes) {
        sums.set(node.module, (sums.get(node.module) || 0) + Math.max(0, own(node, this.metric)));
      }
      const names = [...sums.keys()].filter(Boolean).sort((a, b) => sums.get(b) - sums.get(a));
      return new Map(names.map((name, i) => [name, i]));
    }
    colourOf(node) {
      const isDark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
      if (this.tree.isDiff) return changeColour(change(node, this.metric), isDark);
      if (isAll(node) || node.isMerged || !this.modules.has(node.module)) return isDark ? "hsl(210 6% 30%)" : "hsl(210 8% 86%)";
      const hue = HUES[this.modules.get(node.module) % HUES.length];
      const shade = hash(node.name);
      return isDark ? `hsl(${hue} 42% ${24 + shade * 11}%)` : `hsl(${hue} ${68 + shade * 20}% ${73 + shade * 12}%)`;
    }
    // An entry like those of VALUES.
    about(metric) {
      const pinned = this.tree.pinned[metric];
      return pinned ? {words: "bytes pinned " + atMoments(pinned), after: "pinned " + atMoments(pinned) + " in " + pinned.label, unit: "bytes"}
                    : VALUES[metric];
    }
    unit() {
      return this.about(this.metric).unit;
    }
    text(value) {
      return heaptape.value(value, this.unit());
    }
    // At most about MOST: the widest. A zoom has the rest.
    boxes() {
      const boxes = layOut(this.top, this.metric, LEAST);
      if (boxes.length <= MOST) return boxes;
      const least = boxes.map((box) => box.width).sort((a, b) => b - a)[MOST];
      return boxes.filter((box) => box.width >= least);
    }
    draw(focused) {
      const boxes = this.boxes();
      const deepest = boxes.reduce((most, box) => Math.max(most, box.row), 0);
      this.rows.style.height = (deepest + 1) * ROW + "rem";
      this.rows.replaceChildren();
      for (const box of boxes) this.rows.append(this.boxOf(box));
      if (boxes.length === 0) this.rows.append(element("p", {class: "nothing", text: "Nothing to show: " + this.text(0) + " " + this.about(this.metric).after + "."}));
      this.merged.textContent = this.mergedText();
      this.how.replaceChildren(...viewNote(this.view, this.shown.root));
      this.tell(focused || this.top);
    }
    // How much of the displayed value has no names.
    mergedText() {
      const sum = merged(this.shown, this.metric);
      const all = this.tree.root.values[this.metric];
      return sum === 0 ? "" : "Merged in the graph: " + this.text(sum) + " " + this.about(this.metric).after + ", " + share(sum, all) + " of all.";
    }
    boxOf({node, from, width, row, isAbove}) {
      const value = node.values[this.metric];
      const classes = ["frame"];
      if (isAbove) classes.push("above");
      if (width < 0.012) classes.push("thin");
      if (this.found) classes.push(this.found.has(node) ? "found" : "hidden-by-search");
      return element("div", {
        class: classes.join(" "),
        role: "treeitem",
        tabindex: node === this.top ? "0" : "-1",
        "data-node": node.index,
        "data-value": value,
        "aria-level": String(node.depth + 1),
        "aria-label": node.name + ", " + this.text(value) + ", " + share(value, this.tree.root.values[this.metric]),
        text: width < 0.012 ? "" : node.name,
        style: {left: from * 100 + "%", width: width * 100 + "%", top: row * ROW + "rem", background: this.colourOf(node)},
      });
    }
    // Among callers, takes the function's own callers instead.
    zoom(node) {
      const to = node.isMerged ? node.parent : node;
      this.picked = to.frame || this.picked;
      if (this.view === "callers") return this.pick(to.frame);
      this.top = to;
      this.draw();
      this.focus(this.top);
    }
    // Shows the callers of a function.
    pick(frame) {
      this.picked = frame;
      this.show("callers");
      this.focus(this.top);
    }
    // A view keeps its zoom. That of callers has the function chosen last, or the one that has most.
    show(view) {
      if (view === "callers") {
        this.picked = this.picked || greatest(this.tree, this.metric);
        if (this.picked === 0) view = "graph";
        else this.views.callers = around(this.tree, this.picked);
      } else if (view === "inverted" && !this.views.inverted) {
        this.views.inverted = inverted(this.tree);
      }
      const isNew = view === "callers" || !this.zooms[view];
      this.view = view;
      this.shown.choose(this.side);
      if (isNew) this.top = this.shown.root;
      heaptape.press(this.toggle, view);
      this.choose(this.metric);
      if (this.top.isUp) this.box.scrollTop = this.box.scrollHeight;
    }
    back() {
      if (this.view === "callers") this.show("graph");
      this.zoom(this.shown.root);
    }
    // From the callers to the graph as it was.
    escape() {
      if (this.view !== "callers") return this.zoom(this.shown.root);
      this.show("graph");
      this.focus(this.top);
    }
    focus(node) {
      const box = this.rows.querySelector(`[data-node="${node.index}"]`);
      if (!box) return false;
      for (const other of this.rows.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
      box.tabIndex = 0;
      box.focus({preventScroll: true});
      const above = box.offsetTop - this.box.clientHeight / 2;
      if (box.offsetTop < this.box.scrollTop || box.offsetTop + 24 > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = above;
      return true;
    }
    tell(node) {
      const value = node.values[this.metric];
      const all = this.tree.root.values[this.metric];
      const exact = this.unit() === "bytes" && value >= 1024 ? " (" + heaptape.exact(value, "bytes") + ")" : "";
      const parts = [];
      if (this.tree.isDiff) {
        const {[this.metric]: base} = node.base;
        const {[this.metric]: now} = node.now;
        parts.push(this.text(base) + " in the base, " + this.text(now) + " in the new: " + changeText(base, now, this.unit()));
      }
      parts.push(this.text(value) + exact + " " + this.about(this.metric).after, share(value, all) + " of all");
      if (this.top !== this.shown.root) parts.push(share(value, this.top.values[this.metric]) + " of what is shown");
      const self = node.isUp ? 0 : own(node, this.metric);
      if (self > 0 && self !== value) parts.push(this.text(self) + " by itself");
      const where = place(node);
      this.detail.replaceChildren(
          element("span", {class: "name", text: node.name}), where ? element("span", {class: "note", text: "  " + where}) : "",
          element("div", {text: parts.join("; ")}),
          node.isMerged ? element("div", {class: "note", text: "Calls too small to be shown one by one."}) : "");
    }
    // The displayed neighbor of a box in the direction of an arrow. Callers are above.
    neighbour(node, key) {
      const shown = (one) => this.rows.querySelector(`[data-node="${one.index}"]`) !== null;
      const inOrder = (nodes) => nodes.filter(shown).sort((a, b) => a.isMerged - b.isMerged || b.values[this.metric] - a.values[this.metric]);
      const above = node.isUp ? inOrder(node.children) : node.callers ? inOrder(node.callers) : [node.parent];
      const below = node.isUp ? [node.parent] : inOrder(node.children);
      if (key === "ArrowUp") return above[0];
      if (key === "ArrowDown") return below[0];
      if (!node.parent) return null;
      const {callers, children} = node.parent;
      const row = inOrder(callers && callers.includes(node) ? callers : children);
      return row[row.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
    }
    key(event) {
      const index = event.target.dataset.node;
      if (index === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      const node = this.shown.nodes[index];
      if (event.key.startsWith("Arrow")) {
        event.preventDefault();
        const next = this.neighbour(node, event.key);
        if (next) this.focus(next);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.zoom(node);
      } else if (event.key === "Escape" || event.key === "Home") {
        event.preventDefault();
        this.escape();
      } else if (event.key === "c" && node.frame) {
        this.pick(node.frame);
      }
    }
    // For two tapes: "now" or "base". A removed function only has a width in the base.
    chooseSide(side) {
      this.side = side;
      for (const view of Object.values(this.views)) view.choose(side);
      this.choose(this.metric);
    }
    choose(metric) {
      if (this.sites && this.metric !== metric) this.sites.follow(metric);
      this.metric = metric;
      this.shown.fill(metric);
      if (this.tree.pinned[metric]) this.run = this.tree.pinned[metric].label;  // stays when the moment changes
      if (this.top.values[metric] === 0) this.top = this.shown.root;
      if (this.sites) this.sites.draw();
      this.find(this.field.value);
    }
    // An empty pattern finds nothing.
    find(text) {
      this.found = null;
      this.field.removeAttribute("aria-invalid");
      this.matched.textContent = "";
      if (text !== "") {
        try {
          const pattern = new RegExp(text, "i");
          const {sum} = search(this.tree, pattern, this.metric);  // has every stack once
          const {found} = search(this.shown, pattern, this.metric);
          this.found = found;
          this.matched.textContent = found.size === 0 ? "no function matches"
              : this.text(sum) + ", " + share(sum, this.tree.root.values[this.metric]) + ", in " + heaptape.counted(found.size, "place");
        } catch (error) {
          this.field.setAttribute("aria-invalid", "true");
          this.matched.textContent = "not a regular expression";
        }
      }
      this.draw();
    }
    searchFor(text) {
      this.field.value = text;
      this.find(text);
    }
    // Finds only the functions of this name and module; among callers, shows theirs.
    select(node) {
      if (this.view === "callers") {
        this.pick(node.frame);
      } else {
        this.picked = node.frame;
        this.searchFor("^" + (node.name + " " + node.module).replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$");
      }
      this.box.scrollIntoView({block: "nearest"});
    }
    // A button for a site in another table.
    siteButton(text, name, module) {
      const node = name ? nodeOf(this.tree, name, module) : null;
      if (!node) return element("span", {text});
      return element("button", {type: "button", text, title: "Find it above", onclick: () => this.select(node)});
    }
    // A pattern that may take very long is not taken from an address.
    keepState() {
      const {keep} = heaptape.state;
      const index = (text, nodes) => nodes.find((node) => String(node.index) === text && !node.isMerged);
      keep("value", () => this.metric, (text) => { if (this.tree.metrics.includes(text)) this.chooseAnd(text); });
      keep("function", () => String(this.picked), (text) => {
        this.picked = this.tree.nodes.some((node) => String(node.frame) === text) ? Number(text) : 0;
        if (this.view === "callers") this.show("callers");
      });
      keep("view", () => this.view, (text) => { if (VIEWS.some(([view]) => view === text)) this.show(text); });
      keep("top", () => String(this.top.index), (text) => {
        const node = index(text, this.shown.nodes);
        if (!node || node.values[this.metric] === 0) return;
        this.top = node;
        this.draw();
      });
      // One repetition, of no group and no choice.
      const isQuick = (text) => ((text) => !/[?{}()|]/.test(text) && text.split(/[*+]/).length <= 2)(text.replace(/\\./g, ""));
      keep("find", () => this.field.value, (text) => { if (isQuick(text)) this.searchFor(text); });
      if (this.sites) this.sites.keepState();
    }
    // "400 B"; for two tapes "100 B → 400 B".
    sumsText(metric) {
      const {now, base} = this.tree.root;
      return [base[metric], now[metric]].filter((sum) => sum !== undefined).map((sum) => heaptape.value(sum, this.about(metric).unit)).join(" → ");
    }
    // Shows the bytes pinned in the same run at a moment; returns why not, if so.
    goTo(moments) {
      const now = this.tree.pinned[this.metric];
      if (!now) return `The flame graph keeps its value, ${this.about(this.metric).words}: only bytes pinned follow the moment.`;
      const isThen = ({label, moments: held}) => label === now.label && held.some((name) => moments.includes(name));
      const found = this.tree.metrics.find((metric) => this.tree.pinned[metric] && isThen(this.tree.pinned[metric]));
      if (!found) return `The flame graph keeps its moment: nothing is known to be pinned in ${now.label} at this one.`;
      this.chooseAnd(found);
      return "";
    }
    // Chooses a metric, and shows it as chosen.
    chooseAnd(metric) {
      if (this.tree.pinned[metric]) this.run = this.tree.pinned[metric].label;
      this.value.value = this.choiceOf(metric);
      this.chooseValue();
    }
    // For pinned bytes, the moment is chosen first, then the run.
    chooseValue() {
      const isPinned = this.value.value.startsWith(PINNED);
      this.runs.parentElement.hidden = !isPinned;
      if (!isPinned) return this.choose(this.value.value);
      const metrics = this.tree.metrics.filter((metric) => this.choiceOf(metric) === this.value.value);
      const labelOf = (metric) => this.tree.pinned[metric].label;
      this.runs.replaceChildren(...metrics.map((metric) => element("option", {value: metric, text: labelOf(metric) + ": " + this.sumsText(metric)})));
      this.choose(this.runs.value = metrics.find((metric) => labelOf(metric) === this.run) || metrics[0]);
    }
    choiceOf(metric) {
      const pinned = this.tree.pinned[metric];
      return pinned ? PINNED + atMoments(pinned) : metric;
    }
    tools() {
      this.value = element("select", {id: "flame-value", onchange: () => this.chooseValue()});
      const choices = new Map(this.tree.metrics.map((metric) => [this.choiceOf(metric), metric]));
      for (const [value, metric] of choices) {
        const sums = this.tree.pinned[metric] ? "" : ": " + this.sumsText(metric);
        this.value.append(element("option", {value, text: this.about(metric).words + sums}));
      }
      this.runs = element("select", {id: "flame-run", onchange: (event) => this.choose(event.target.value)});
      this.field = element("input", {type: "search", id: "flame-search", placeholder: "regular expression", autocomplete: "off", spellcheck: "false",
                                     oninput: (event) => this.find(event.target.value)});
      return element("div", {class: "tools"},
                     element("label", {}, element("span", {text: "Width:"}), this.value),
                     element("label", {hidden: ""}, element("span", {text: "Run:"}), this.runs),
                     element("label", {}, element("span", {text: "Find:"}), this.field), this.matched,
                     element("button", {type: "button", id: "flame-back", text: "Back to all", onclick: () => this.back()}),
                     heaptape.picture.pngButton("flame-graph", () => document.title + ": " + this.text(this.tree.root.values[this.metric]) + " " + this.about(this.metric).after,
                                                () => [this.how.textContent ? this.how : null, this.rows, this.legendBox]));
    }
    legend() {
      if (this.tree.isDiff) return this.changeLegend();
      const list = element("ul", {class: "legend"});
      for (const [name] of [...this.modules].slice(0, HUES.length)) {
        list.append(element("li", {}, element("span", {class: "swatch", style: {background: this.colourOf({name: "", module: name, parent: this.tree.root})}}),
                            element("span", {text: name})));
      }
      return list;
    }
    changeLegend() {
      const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
      const list = element("ul", {class: "legend"});
      for (const [part, words] of [[1, "new"], [0.3, "more"], [0, "the same"], [-0.3, "less"], [-1, "gone"]]) {
        list.append(element("li", {}, element("span", {class: "swatch", style: {background: changeColour(part, isDark)}}), element("span", {text: words})));
      }
      return list;
    }
  }

  // The bytes pinned in the run and at the moment of the verdict; or else the first that there are.
  function pinnedOf(tree, verdict) {
    const all = tree.metrics.filter((metric) => tree.pinned[metric]);
    const isIts = ({label, moments}) => verdict && label === verdict.run && moments.includes(verdict.moment);
    return all.find((metric) => isIts(tree.pinned[metric])) || all[0];
  }

  // Adds the section to the page and returns the Flame; null if there is nothing to draw.
  heaptape.flame = function (data, page) {
    if (!data.stacks) return null;
    const flame = new Flame(data.stacks, data.sites);
    if (!flame.metric) return null;
    flame.toggle = heaptape.choice("View", VIEWS, "graph", (view) => flame.show(view), null);
    const legend = flame.legendBox = element("div", {}, flame.legend());
    page.append(section("flame", (flame.tree.isDiff ? "Call stacks that grew and shrank" : "Call stacks") + flame.estimated,
                        flame.estimated ? element("p", {class: "note", id: "flame-estimated", text: samplingText(data.stacks)}) : null,
                        element("p", {class: "note", text: note(data.stacks)}),
                        flame.tree.isDiff ? heaptape.choice("Widths", [["now", "width by the new tape"], ["base", "width by the base"]], "now", (side) => flame.chooseSide(side), "widths") : null,
                        flame.toggle, flame.tools(), flame.how, flame.detail, flame.box, flame.merged, legend, flame.sites && flame.sites.part));
    flame.firstPinned = pinnedOf(flame.tree, data.verdict);
    const [first] = data.verdict && data.verdict.findings ? data.verdict.findings : [];
    flame.chooseAnd((first && first.kind === "holes" && flame.firstPinned) || flame.metric);
    flame.keepState();
    heaptape.onTheme(() => {
      flame.draw();
      legend.replaceChildren(flame.legend());
    });
    return flame;
  };
})();
