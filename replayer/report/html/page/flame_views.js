// Other trees of the stacks of a flame graph: inverted, and around one function. No elements here.
"use strict";

(function () {
  const {own} = heaptape.flameTree;

  // A node is like those of readTree. `isUp`: its children are its callers, which are drawn above.
  // `sources`: the nodes of the usual tree that its values are sums of.
  class View {
    constructor(tree, isOfOwn) {
      this.tree = tree;
      this.isOfOwn = isOfOwn;  // sums what the sources have beyond their children
      this.nodes = [];
      this.filled = new Set();
    }
    add(like, parent, isUp) {
      const {name, module, file, line, isMerged, frame} = like;
      const made = {index: this.nodes.length, name, module, file, line, isMerged, frame, parent, children: [], isUp,
                    depth: parent ? parent.depth + 1 : 0, now: {}, base: {}, sources: [], byFrame: new Map()};
      this.nodes.push(made);
      return made;
    }
    // The node for the function of `like` among `siblings` below or above `parent`, made if need be.
    child(parent, like, isUp, siblings = parent.children) {
      const key = siblings === parent.callers ? -like.frame : like.frame;
      if (!parent.byFrame.has(key)) {
        parent.byFrame.set(key, this.add(like, parent, isUp));
        siblings.push(parent.byFrame.get(key));
      }
      return parent.byFrame.get(key);
    }
    // Sums a metric up. Call it before its values are used.
    fill(metric) {
      if (this.filled.has(metric)) return;
      this.filled.add(metric);
      for (const side of this.tree.isDiff ? ["now", "base"] : ["now"]) {
        const values = this.tree.nodes.map((one) => this.isOfOwn ? own(one, metric, side) : one[side][metric]);
        for (const one of this.nodes) one[side][metric] = one.sources.reduce((sum, source) => sum + values[source.index], 0);
      }
    }
    // As in readTree: `now` or `base`.
    choose(side) {
      for (const one of this.nodes) one.values = one[side];
    }
  }

  // The functions that called the allocator, with their callers as children.
  function inverted(tree) {
    const view = new View(tree, true);
    view.root = view.add(tree.root, null, true);
    const hasOwn = (one) => tree.metrics.some((metric) => own(one, metric, "now") !== 0 || (tree.isDiff && own(one, metric, "base") !== 0));
    for (const leaf of tree.nodes.filter(hasOwn)) {
      let at = view.root;
      for (let one = leaf; one; one = one.parent) {
        at.sources.push(leaf);
        if (one.parent) at = view.child(at, one, true);
      }
    }
    return view;
  }

  // All stacks through a function as one. The root is the function: `callers` grow up from it, its
  // `children` down. For a recursive function, the outermost call counts.
  function around(tree, frame) {
    const view = new View(tree, false);
    const like = tree.nodes.find((one) => one.frame === frame);
    view.root = Object.assign(view.add(like, null, false), {callers: [], isPicked: true});
    const below = new Map();  // nodes of the tree at or below the function, to those made for them
    for (const one of tree.nodes) {
      const above = below.get(one.parent);
      if (!above && one.frame !== frame) continue;
      let at = above ? view.child(above, one, false) : view.root;
      below.set(one, at);
      at.sources.push(one);
      if (above) continue;
      for (let caller = one.parent; caller.parent; caller = caller.parent) {
        at = view.child(at, caller, true, at.callers || at.children);
        at.sources.push(one);
      }
    }
    return view;
  }

  // The function with most of a value for itself; 0 if none has any.
  function greatest(tree, metric) {
    const sums = new Map();
    for (const one of tree.nodes) if (one.frame !== 0) sums.set(one.frame, (sums.get(one.frame) || 0) + own(one, metric));
    return [...sums].reduce((most, pair) => pair[1] > most[1] ? pair : most, [0, 0])[0];
  }

  heaptape.flameViews = {inverted, around, greatest};
})();
