"""Where a flame graph's boxes are, and what they say, for random trees: computed here once more."""

import json
import random
import re

from . import browser, harness
from .page_numbers import TEXTS
from .replay_pages import ReplayPages


class RandomTree:
    """The data of a graph, and what it means: node 0 is the root, children come after their parents."""

    MODULES = [f"lib{i}.so" for i in range(11)]
    METRICS = ("peakBytes", "calls")

    def __init__(self, choose, has_base=False):
        self.has_base = has_base
        self.parents, self.frames = [None], [0]
        self.names = [f"f{i}" for i in range(20)] + ["f1::g", "(f2)"]
        self.module_of = [choose.randrange(len(self.MODULES)) for _ in self.names]
        self.depths = [0]
        path = [0]  # the last node at each depth
        for node in range(1, 120):
            depth = choose.randint(1, min(len(path), 9))
            self.parents.append(path[depth - 1])
            self.depths.append(depth)
            self.frames.append(choose.randint(1, len(self.names)))
            path[depth:] = [node]
        inner = set(self.parents)
        for node in choose.sample([node for node in range(1, 120) if node not in inner], 10):
            self.frames[node] = 0  # merged
        self.values, self.base = (
            {metric: self.sums(choose, scale) for metric, scale in zip(self.METRICS, (10**6, 40))} for _ in range(2)
        )

    def sums(self, choose, scale):
        values = [choose.choice([0, 1, choose.randrange(scale)]) for _ in self.parents]
        for node in range(len(values) - 1, 0, -1):
            values[self.parents[node]] += values[node]
        return values

    def data(self):
        base = {"base": self.base} if self.has_base else {}
        return {
            "names": self.names,
            "moduleOf": self.module_of,
            "modules": self.MODULES,
            "fileOf": [0] * len(self.names),
            "files": [""],
            "lines": [0] * len(self.names),
            "frames": self.frames,
            "depths": self.depths,
            "values": self.values,
            "leastShare": 0,
            "mergedNodes": 0,
            **base,
        }

    def is_merged(self, node):
        return node > 0 and self.frames[node] == 0

    def name(self, node):
        return "all" if node == 0 else "(merged)" if self.is_merged(node) else self.names[self.frames[node] - 1]

    def module(self, node):
        return "" if node == 0 or self.is_merged(node) else self.MODULES[self.module_of[self.frames[node] - 1]]

    def children(self, node, values):
        return sorted(
            (one for one, parent in enumerate(self.parents) if parent == node),
            key=lambda one: (self.is_merged(one), -values[one]),
        )

    def above(self, node):
        return [] if node == 0 else [self.parents[node], *self.above(self.parents[node])]

    def boxes(self, top, values):
        """[node, from, width] of each, in percent."""
        boxes = [[node, 0, 100] for node in self.above(top)]

        def add(node, at):
            boxes.append([node, at, 100 * values[node] / values[top]])
            for child in self.children(node, values):
                if values[child] / values[top] >= 0.001:
                    add(child, at)
                at += 100 * values[child] / values[top]
        if values[top]:
            add(top, 0)
        return boxes


class Drawn(ReplayPages):
    """Draws random trees."""

    wanted = ("random, noop",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        browser.show(cls.driver, cls.pages["random, noop"].path)
        cls.choose = random.Random(3)

    def of_flame(self, tree, script, *arguments, sites=None):
        sites = sites or {
            "texts": [],
            "functions": [],
            "modules": [],
            "values": {metric: [] for metric in tree.METRICS},
        }
        # As text, because Chromium's driver sorts names.
        return self.driver.execute_script("""const [stacks, sites, ...given] = [...arguments].map((one) =>
            JSON.parse(one));
            const flame = heaptape.flame({stacks, sites}, document.body.appendChild(document.createElement('div')));
            const boxes = () => [...flame.rows.querySelectorAll('.frame')].map((box) => [Number(box.dataset.node),
            parseFloat(box.style.left),
                parseFloat(box.style.width), parseFloat(box.style.top), [...box.classList],
            Number(box.getAttribute('aria-level')), box.tabIndex,
                Number(box.dataset.value), box.textContent]);
            """ + script, *map(json.dumps, [tree.data(), sites, *arguments]))


class Layout(Drawn):
    def test_has_each_box_at_its_place(self):
        for metric in RandomTree.METRICS:
            tree = RandomTree(self.choose)
            values = tree.values[metric]
            tops = [
                0,
                *self.choose.sample([node for node in range(1, 120) if values[node] and not tree.is_merged(node)], 8),
            ]
            found = self.of_flame(tree, """flame.choose(given[1]); return given[0].map((top) =>
                { flame.zoom(flame.tree.nodes[top]); return [boxes(), parseFloat(flame.rows.style.height)]; });""",
                                  tops, metric)
            for top, (boxes, height) in zip(tops, found, strict=True):
                wanted = {node: [at, width] for node, at, width in tree.boxes(top, values)}
                self.assertEqual({box[0] for box in boxes}, set(wanted))
                self.assertAlmostEqual(height, 1.25 * (1 + max(tree.depths[node] for node in wanted)))
                for node, left, width, place, classes, level, tab, value, text in boxes:
                    self.assertAlmostEqual(left, wanted[node][0], delta=1e-3)
                    self.assertAlmostEqual(width, wanted[node][1], delta=1e-3)
                    self.assertAlmostEqual(place, 1.25 * tree.depths[node])
                    is_thin = wanted[node][1] < 1.2
                    self.assertEqual(classes, ["frame"] + ["above"] * (node in tree.above(top)) + ["thin"] * is_thin)
                    self.assertEqual(
                        (level, tab, value, text),
                        (
                            tree.depths[node] + 1,
                            0 if node == top else -1,
                            values[node],
                            "" if is_thin else tree.name(node),
                        ),
                    )

    def test_draws_what_has_a_thousandth_and_names_what_has_twelve(self):
        """What is not drawn leaves its place empty."""
        tree = RandomTree(self.choose)
        tree.parents, tree.frames, tree.depths = [None] + [0] * 5, [0, 1, 2, 3, 4, 0], [0] + [1] * 5
        tree.values = {metric: [10_000, 10, 9, 120, 119, 200] for metric in tree.METRICS}
        boxes = self.of_flame(tree, "return boxes();")
        self.assertEqual(
            {(box[0], box[8]) for box in boxes}, {(0, "all"), (1, ""), (3, tree.name(3)), (4, ""), (5, "(merged)")}
        )
        self.assertEqual({box[0]: round(box[1], 4) for box in boxes}, {0: 0, 3: 0, 4: 1.2, 1: 2.39, 5: 2.58})

    def test_arrows_go_to_the_neighbours_that_are_drawn(self):
        tree = RandomTree(self.choose)
        values = tree.values["peakBytes"]
        found = self.of_flame(tree, """return boxes().map(([node]) => ['Up', 'Down', 'Left', 'Right'].map((key) =>
            flame.neighbour(flame.tree.nodes[node], 'Arrow' + key)?.index ?? null).concat(node));""")
        drawn = {node for node, *_ in tree.boxes(0, values)}
        for *near, node in found:
            row = [one for one in tree.children(tree.parents[node], values) if one in drawn] if node else [node]
            at = row.index(node)
            below = [one for one in tree.children(node, values) if one in drawn]
            self.assertEqual(
                near,
                [
                    tree.parents[node],
                    below[0] if below else None,
                    row[at - 1] if at > 0 else None,
                    row[at + 1] if at + 1 < len(row) else None,
                ],
            )

    def test_keys_zoom_and_go_back(self):
        tree = RandomTree(self.choose)
        tops = self.of_flame(tree, """const press = (node, key) => { flame.key({key, target: {dataset: {node:
            String(node)}}, preventDefault() {}}); return flame.top.index; };
            const [inner, merged] = given;
            return [press(inner, 'Enter'), press(0, 'Escape'), press(inner, ' '), press(inner, 'Home'),
            press(merged, 'Enter'), press(inner, 'x')];""",
                             1, tree.frames.index(0, 1))
        above_merged = tree.parents[tree.frames.index(0, 1)]
        self.assertEqual(tops, [1, 0, 1, 0, above_merged, above_merged])

    def test_counts_a_call_once_where_several_of_its_functions_match(self):
        for pattern in ("^f1", "lib3", "F2|g$", "nothing", "merged|all"):
            tree = RandomTree(self.choose)
            for metric in tree.METRICS:
                found, total, marked = self.of_flame(tree, """const {found, sum}
                    = heaptape.flameTree.search(flame.tree, new RegExp(given[0], 'i'), given[1]);
                    flame.choose(given[1]); flame.searchFor(given[0]);
                    return [[...found].map((node) => node.index), sum, boxes().map((box) => [box[0],
                    box[4].includes('found'), box[4].includes('hidden-by-search')])];""", pattern, metric)
                wanted = [
                    node
                    for node in range(1, 120)
                    if not tree.is_merged(node) and re.search(pattern, f"{tree.name(node)} {tree.module(node)}", re.I)
                ]
                self.assertEqual(found, wanted)
                self.assertEqual(
                    total, sum(tree.values[metric][node] for node in wanted if not set(wanted) & set(tree.above(node)))
                )
                for node, is_found, is_hidden in marked:
                    self.assertEqual((is_found, is_hidden), (node in wanted, node not in wanted))

    def test_tells_the_shares_of_all_of_what_is_shown_and_of_itself(self):
        tree = RandomTree(self.choose)
        values = tree.values["peakBytes"]
        top = max((node for node in range(1, 120) if tree.children(node, values)), key=lambda node: values[node])
        texts, merged = self.of_flame(tree, """const told = [0, given[0]].map((top) =>
            { flame.zoom(flame.tree.nodes[top]);
            return flame.tree.nodes.map((node) => { flame.tell(node);
            return flame.detail.children[flame.detail.querySelector('.name + .note') ? 2 : 1].textContent; }); });
            return [told, flame.mergedText()];""", top)
        for shown, of_top in zip((0, top), texts):
            for node, text in enumerate(of_top):
                own = values[node] - sum(values[one] for one in tree.children(node, values))
                size = TEXTS["bytes"](values[node])
                parts = [
                    size + (f" ({values[node]:,} B)" if values[node] >= 1024 else "") + " at the peak",
                    TEXTS["share"](values[node] / values[0]) + " of all",
                ]
                parts += [TEXTS["share"](values[node] / values[top]) + " of what is shown"] * (shown == top)
                parts += [TEXTS["bytes"](own) + " by itself"] * (0 < own < values[node])
                self.assertEqual(text, "; ".join(parts))
        total = sum(values[node] for node in range(120) if tree.is_merged(node))
        self.assertEqual(
            merged,
            f"Merged in the graph: {TEXTS['bytes'](total)} at the peak, {TEXTS['share'](total / values[0])} of all.",
        )

    def test_has_the_hues_of_modules_by_their_own_size(self):
        tree = RandomTree(self.choose)
        legend, hues, hashes = self.of_flame(
            tree,
            """return [[...flame.box.parentElement.querySelectorAll('.legend li')].map((item) => item.textContent),
            flame.tree.nodes.map((node) => Number(flame.colourOf(node).match(/hsl\\((\\d+)/)[1])),
            ['', 'a', 'lex'].map(heaptape.flameColours.hash)];""",
        )
        values = tree.values["peakBytes"]
        sizes = dict.fromkeys(dict.fromkeys(tree.module(node) for node in range(120) if tree.module(node)), 0)
        for node in range(120):
            if tree.module(node):
                sizes[tree.module(node)] += values[node] - sum(values[one] for one in tree.children(node, values))
        order = sorted(sizes, key=lambda one: -sizes[one])
        self.assertEqual(legend, order[:8])
        all_hues = [41, 202, 164, 327, 90, 265, 20, 225]
        self.assertEqual(
            hues, [all_hues[order.index(tree.module(node)) % 8] if tree.module(node) else 210 for node in range(120)]
        )
        self.assertTrue(all(0 <= one < 1 for one in hashes))
        self.assertEqual(len(set(hashes)), 3)

    def test_finds_functions_whose_names_are_cut(self):
        found = self.of_flame(RandomTree(self.choose), """const {nodeOf} = heaptape.flameTree; const {tree} = flame;
            tree.nodes[1].name = 'very-long...';
            return [nodeOf(tree, 'very-long-name', tree.nodes[1].module)?.index, nodeOf(tree, 'very',
            tree.nodes[1].module)?.index ?? null, nodeOf(tree, 'very-long-name', 'x')?.index ?? null];""")
        self.assertEqual(found, [1, None, None])

    def test_of_two_tapes_has_colours_by_the_change_and_widths_by_the_side(self):
        tree = RandomTree(self.choose, has_base=True)
        shares, colours, sides, legend = self.of_flame(tree, """const {change} = heaptape.flameTree;
            const {changeColour} = heaptape.flameColours;
            const shares = flame.tree.nodes.map((node) => change(node, 'peakBytes'));
            const colours = given[0].map((part) => [changeColour(part, false), changeColour(part, true)]);
            const sides = ['base', 'now'].map((side) => { flame.chooseSide(side); return boxes().map((box) =>
            box.slice(0, 3)); });
            return [shares, colours, sides, [...flame.changeLegend().children].map((item) =>
            [item.textContent, item.firstChild.style.background])];""",
                                                       [1, 0.5, 0.005, 0.0049, 0, -0.0049, -0.005, -1])
        now, base = tree.values["peakBytes"], tree.base["peakBytes"]
        for node, share in enumerate(shares):
            most = max(now[node], base[node])
            self.assertAlmostEqual(share, (now[node] - base[node]) / most if most else 0)
        self.assertEqual(
            [light for light, _ in colours],
            [f"hsl({hue} 85% {lightness:g}%)" for hue, lightness in ((27, 64), (27, 78), (27, 91.86))]
            + ["hsl(210 8% 88%)"] * 3
            + ["hsl(205 85% 91.86%)", "hsl(205 85% 64%)"],
        )
        self.assertEqual([dark for _, dark in colours][:2], ["hsl(27 70% 36%)", "hsl(27 52.5% 29%)"])
        for values, boxes in zip((base, now), sides):
            self.assertEqual([box[0] for box in sorted(boxes)], sorted(box[0] for box in tree.boxes(0, values)))
            for box, wanted in zip(sorted(boxes), sorted(tree.boxes(0, values))):
                self.assertAlmostEqual(box[1], wanted[1], delta=1e-3)
                self.assertAlmostEqual(box[2], wanted[2], delta=1e-3)
        self.assertEqual([words for words, _ in legend], ["new", "more", "the same", "less", "gone"])
        self.assertEqual(len({colour for _, colour in legend}), 5)

    def test_says_what_was_merged_sampled_and_pinned(self):
        notes, samplings, moments, places = self.run_script("""(({note, samplingText, atMoments, place}) => [
            [[0, 0.5], [1, 0.0005], [2000, 0.012345]].map(([mergedNodes, leastShare]) =>
            note({mergedNodes, leastShare})),
            [{sampling: {calls: 1, everyBytes: 2048}}, {base: {},
            baseSampling: {calls: 2000, everyBytes: 1}}].map(samplingText),
            [['peak'], ['peak', 'end'], ['peak', 'exit', 'end']].map((moments) => atMoments({moments})),
            [{file: 'a.cc', line: 3, module: 'm'}, {file: 'a.cc', line: 0, module: ''},
            {file: '', line: 3, module: 'm'}].map(place)])(
            heaptape.flameText)""")
        self.assertEqual(
            [note.partition("Colors are modules.")[2] for note in notes],
            [
                "",
                " Calls below 0.05% by every value are merged: 1 place.",
                " Calls below 1.2% by every value are merged: 2,000 places.",
            ],
        )
        self.assertEqual(
            samplings,
            [
                "All figures of call stacks are estimated from the stacks of 1 call, "
                "chosen at random: one byte in 2.00 KiB.",
                "Figures of the base are estimated from the stacks of 2,000 calls, chosen at random: one byte in 1 B. "
                "Figures of the new tape are exact.",
            ],
        )
        self.assertEqual(moments, ["at the peak", "at the peak and end", "at the peak, exit and end"])
        self.assertEqual(places, ["a.cc:3, m", "a.cc", "m"])

    def test_writes_changes_with_their_signs(self):
        self.assertEqual(self.run_script("""[[5, 5], [0, 2048], [2048, 0], [3, 4]].map(([base, now]) =>
            heaptape.flameText.changeText(base, now, 'bytes'))"""), ["0", "+2.00 KiB", "-2.00 KiB", "+1 B"])


if __name__ == "__main__":
    harness.main("flame_layout_test")
