
// The tree of a flame graph: totals for each function with all its callees. No elements here.
"use strict";

(function () {
  const MERGED = "(merged)";

  // A node: {name, module, file, line, frame, isMerged, parent, children, depth, values: {metric: number}}.
  // `frame`: the number of its function; 0 for the root and merged calls.
  // For two tapes, `now` and `base` are such values, and `values` are those of the displayed side.
  // `pinned`: by metric, its run and moments.
  function readTree(data) {
    const metrics = Object.keys(data.values);
    const nodes = [];
    const path = [];  // the node at each depth
    data.frames.forEach((frame, i) => {
      const depth = data.depths[i];
      const isMerged = i > 0 && frame === 0;
      const at = frame - 1;
      const node = {
        index: i,
        name: i === 0 ? "all" : isMerged ? MERGED : data.names[at],
        module: i === 0 || isMerged ? "" : data.modules[data.moduleOf[at]],
        file: i === 0 || isMerged ? "" : data.files[data.fileOf[at]],
        line: i === 0 || isMerged ? 0 : data.lines[at],
        frame,
        isMerged,
        parent: i === 0 ? null : path[depth - 1],
        children: [],
        depth,
        now: {},
        base: {},
      };
      for (const metric of metrics) {
        node.now[metric] = Number(data.values[metric][i]);
        if (data.base) node.base[metric] = Number(data.base[metric][i]);
      }
      node.values = node.now;
      if (node.parent) node.parent.children.push(node);
      path[depth] = node;
      nodes.push(node);
    });
    const root = nodes[0];
    const choose = (side) => nodes.forEach((node) => { node.values = node[side]; });
    const pinned = Object.fromEntries((data.pinned || []).map((name, i) => ["pinned" + i, name]));
    return {root, nodes, pinned, choose, fill() {}, isDiff: data.base !== undefined,
            metrics: metrics.filter((metric) => root.now[metric] > 0 || root.base[metric] > 0)};
  }

  // From -1 if all of it is gone, to 1 if all of it is new.
  function change(node, metric) {
    const most = Math.max(node.now[metric], node.base[metric]);
    return most === 0 ? 0 : (node.now[metric] - node.base[metric]) / most;
  }

  // The part of a node that is in none of its children. `side`: "now" or "base" of two tapes.
  function own(node, metric, side = "values") {
    return node.children.reduce((left, child) => left - child[side][metric], node[side][metric]);
  }

  // Not a function, but all of them.
  function isAll(node) {
    return node.parent === null && !node.isPicked;
  }

  function sorted(children, metric) {
    return [...children].sort((a, b) => a.isMerged - b.isMerged || b.values[metric] - a.values[metric]);
  }

  // Boxes if `top` fills the width: [{node, from, width, row}], fractions of the width. The callers
  // of `top` are above it. In a tree that grows up from its root, rows count downwards to it. Omits
  // boxes narrower than `least`. The first row is 0.
  function layOut(top, metric, least) {
    const boxes = boxesOf(top, metric, least);
    const first = boxes.reduce((lowest, box) => Math.min(lowest, box.row), 0);
    for (const box of boxes) box.row -= first;
    return boxes;
  }
  function boxesOf(top, metric, least) {
    const boxes = [];
    const rowOf = (node) => node.isUp ? -node.depth : node.depth;
    for (let node = top.parent; node; node = node.parent) boxes.push({node, from: 0, width: 1, row: rowOf(node), isAbove: true});
    const whole = top.values[metric];
    if (whole === 0) return boxes;
    const left = [{node: top, from: 0}];
    while (left.length !== 0) {
      const {node, from} = left.pop();
      boxes.push({node, from, width: node.values[metric] / whole, row: rowOf(node), isAbove: false});
      for (const children of [node.children, node.callers || []]) {
        let at = from;
        for (const child of sorted(children, metric)) {
          const width = child.values[metric] / whole;
          if (width >= least) left.push({node: child, from: at});
          at += width;
        }
      }
    }
    return boxes;
  }

  // Totals for matching functions, counting each call once: {found: Set of nodes, sum}. `tree` has all
  // stacks, once each.
  function search(tree, pattern, metric) {
    const found = new Set();
    let sum = 0;
    const inside = new Set();  // nodes with a match above
    for (const node of tree.nodes) {
      const isInside = node.parent !== null && (inside.has(node.parent) || found.has(node.parent));
      if (isInside) inside.add(node);
      if (isAll(node) || node.isMerged || !pattern.test(node.name + " " + node.module)) continue;
      found.add(node);
      if (!isInside) sum += node.values[metric];
    }
    return {found, sum};
  }

  // The total of merged nodes.
  function merged(tree, metric) {
    return tree.nodes.reduce((sum, node) => node.isMerged ? sum + node.values[metric] : sum, 0);
  }

  // The site's function in the tree, which cuts very long names; undefined if all its calls are
  // merged.
  function nodeOf(tree, name, module) {
    const isName = (node) => node.name === name || (node.name.endsWith("...") && name.startsWith(node.name.slice(0, -"...".length)));
    return tree.nodes.find((node) => node.parent !== null && !node.isMerged && node.module === module && isName(node));
  }

  heaptape.flameTree = {readTree, change, own, isAll, merged, layOut, search, nodeOf};
})();
