"""Files for other programs, read by readers that are not ours, and held against the JSON of the same command.

usage: read_back_test.py HEAPTAPE MAKE_PAGE_TAPES MAKE_RANDOM_TAPES
"""

import collections
import csv
import gzip
import html
import importlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import jsonschema

DIRECTORY = pathlib.Path(__file__).parent
HEAPTAPE = MAKE_PAGE_TAPES = MAKE_RANDOM_TAPES = ""
# Labels of runs. The first is an argument, in which blanks separate words; the other comes with a report.
LABEL = "a,\"b\";|`x<&>']]>"
LABEL_OF_REPORT = 'x|y\n`z\\<b>&"\x01 -- *a* _i_ [l](u) ~~ $ # ! @all ]]>\x7f\t'

# What make_page_tapes gives the tape "facts".
FACTS = {
    "version": 1,
    "command": "./program --flag 'a b'",
    "commandLine": ["./program", "--flag", "a b"],
    "executable": "/usr/bin/program",
    "pid": 42,
    "parentPid": 41,
    "allocator": "/lib/liballocator.so",
    "writer": "heaptape test",
    "recordedAt": "2023-11-14T22:13:20Z",
    "events": 6,
    "inheritedBlocks": 0,
    "keyframes": 0,
    "finished": True,
    "allocations": 3,
    "frees": 2,
    "reallocations": 1,
    "failedCalls": 1,
    "threads": 2,
    "threadList": [{"id": 131, "name": "first"}, {"id": 132, "name": "second"}],
    "durationNs": 127_000_000,
    "lateNs": 0,
    "ended": "ended by a signal 9",
    "losses": {"lostEvents": 101, "unrepairedInversions": 102, "lostRanges": 103},
    "lossCauses": {
        "ringFull": 111,
        "recorderStopped": 112,
        "noRing": 113,
        "leftHooks": 114,
        "malformed": 115,
        "unknownFrees": 116,
        "doubleFrees": 117,
    },
    "repairedInversions": 121,
    "unknownFrees": 122,
    "nestedCalls": 123,
    "bootstrapCalls": 124,
    "stalls": 125,
    "stallNs": 126,
    "stacks": {
        "unwinding": "fp",
        "depth": 62,
        "everyBytes": 6_100,
        "sizes": [{"least": 48, "most": 48}, {"least": 1_024, "most": 4_096}],
    },
    "allocatorFamily": "jemalloc",
    "allocatorVersion": "5.3.0",
    "libc": "glibc 2.36",
    "settings": ["MALLOC_CONF=narenas:1"],
    "largestSample": {
        "at": 2,
        "timeNs": 141,
        "anonymousBytes": 999_000,
        "anonymous": {
            "mallocBytes": 143_000,
            "besideMallocBytes": 856_000,
            "stackBytes": 147_000,
            "owners": [{"owner": "libarrow", "bytes": 149_000}, {"owner": "python3.11", "bytes": 139_000}],
        },
        "fileBytes": 144_000,
        "sharedBytes": 145_000,
        "hugeBytes": 148_000,
    },
    "peakBytes": 146_000,
}
# Fields that say something only of larger tapes, of allocators that fail, or where much is unknown.
OF_OTHER_TAPES = {
    "Account.untouchedBytes",
    "Accounting.refused",
    "Explanation.PinGroup.sampled",
    "Explanation.SampledPins.Caller.count",
    "Explanation.SampledPins.Caller.site",
    "Explanation.SampledPins.callers",
    "Explanation.SampledPins.recordStacks",
    "Explanation.SampledPins.sampledOfSize",
    "Explanation.SampledPins.stackCount",
    "Failure.event",
    "Failure.text",
    "Growth.worstExponent",
    "GrowthCurve.grows",
    "GrowthCurve.verdict",
    "Holes.over8MiB",
    "Run.failure",
    "SiteStats.Heap.pinnedUnknown",
    "SiteStats.Heap.slackUnknown",
    "SiteStats.Sampling.sizes",
    "StackTree.mergedNodes",
    "TapeFacts.inheritedBlocks",
    "TapeFacts.inheritedProblem",
    "TapeFacts.keyframes",
    "TapeInfo.inheritedBlocks",
    "TapeStats.GrowthChain.site",
    "TapeStats.Lifetimes.ns",
    "Verdict.Finding.allocator",
    "Verdict.Finding.errorBytes",
}

STACKS = ("stacks", "small", "pinned", "sampled", "hostile")
VALUES = {
    "peak": "peakBytes",
    "end": "liveBytes",
    "bytes": "askedBytes",
    "calls": "calls",
    "temporaries": "temporaries",
    "mapped": "mappedBytes",
}


def number(text):
    return None if text == "" else float(text)


def shown(text):
    """A name as files for others have it: on one line, without what is not to be seen."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", "\ufffd", text)


def complaints(definition, text):
    """The parts of a JSON text that break the published schema, or are not in it at all."""
    schema = json.loads((DIRECTORY / "../../docs/report.schema.json").read_text())
    for one in schema["$defs"].values():
        if "properties" in one:
            one["additionalProperties"] = False
    schema = {"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
    found = jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text))
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


def filled_fields(definition, value):
    """The fields ("State.liveBytes") of the published schema that say something in a JSON value."""
    definitions = json.loads((DIRECTORY / "../../docs/report.schema.json").read_text())["$defs"]
    found = set()

    def visit(schema, value):
        name = ""
        while "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = definitions[name]
        for choice in schema.get("anyOf", ()):
            visit(choice, value)
        if isinstance(value, list):
            for one in value:
                visit(schema.get("items", {}), one)
        elif isinstance(value, dict):
            for key, one in value.items():
                if one not in (0, "", None, [], {}):
                    found.add(f"{name}.{key}")
                visit(schema.get("properties", {}).get(key, {}), one)

    visit({"$ref": f"#/$defs/{definition}"}, value)
    return found


def fields_of(*names):
    """All fields of these definitions, and of those that they name."""
    definitions = json.loads((DIRECTORY / "../../docs/report.schema.json").read_text())["$defs"]
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += re.findall(r'"#/\$defs/([\w.]+)"', json.dumps(definitions[name]))
    return {f"{name}.{field}" for name in found for field in definitions[name].get("properties", {})}


def profile_class(directory):
    """What protoc makes of the schema of pprof."""
    command = ["protoc", f"--proto_path={DIRECTORY / '../support'}", f"--python_out={directory}", "profile.proto"]
    subprocess.run(command, check=True)
    sys.path.insert(0, str(directory))
    return importlib.import_module("profile_pb2").Profile


def markdown_tables(text):
    """The rows of each table, and the cells of each row as they are displayed."""
    tables = []
    before = ""
    for line in text.splitlines():
        if line.startswith("|"):
            cells = split_cells(line)
            if not before.startswith("|"):
                tables.append([])
            if not re.fullmatch(r"\|([:-]+\|)+", line):
                tables[-1].append(
                    [re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", html.unescape(cell.strip())) for cell in cells]
                )
        before = line
    return tables


def split_cells(line):
    cells, at = [""], 0
    while at < len(line):
        if line[at] == "|":
            cells.append("")
        else:
            step = 2 if line[at] == "\\" else 1
            cells[-1] += line[at : at + step]
            at += step - 1
        at += 1
    return cells[1:-1]


class ReadBack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="read-back-")
        cls.addClassCleanup(temporary.cleanup)
        cls.directory = pathlib.Path(temporary.name)
        cls.profile = profile_class(cls.directory)
        subprocess.run([MAKE_PAGE_TAPES, cls.directory], check=True)
        subprocess.run([MAKE_RANDOM_TAPES, cls.directory, "8", "5"], check=True)

    def heaptape(self, command, tape, *options, status=0):
        path = tape if isinstance(tape, pathlib.Path) else self.directory / f"{tape}.tape"
        done = subprocess.run([HEAPTAPE, command, path, *options], capture_output=True)
        self.assertEqual(done.returncode, status, (command, tape, options, done.stderr))
        return done.stdout

    def csv(self, command, tape, *options):
        path = self.directory / "out.csv"
        self.heaptape(command, tape, *options, "--csv", path)
        with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:
            heading, *rows = csv.reader(file, strict=True)
        for row in rows:
            self.assertEqual(len(row), len(heading))
        return [dict(zip(heading, row)) for row in rows]

    def test_the_timeline_has_the_figures_of_the_report(self):
        report = self.directory / "report.json"
        for tape, samples in (("process", "40"), ("0", "7"), ("3", "100"), ("4", "33")):
            runs = [f"{LABEL}=model:ptmalloc", '"q"=noop', "recorded"]
            rows = self.csv(
                "replay", tape, *(word for run in runs for word in ("-a", run)), "--samples", samples, "-o", report
            )
            compared = 0
            for run in json.loads(report.read_text())["runs"]:
                of_run = [row for row in rows if row["run"] == run["label"]]
                timeline = run["timeline"]
                self.assertEqual(len(of_run), len(timeline["at"]), run["label"])
                for column in of_run[0]:
                    first, _, second = column.partition(".")
                    values = timeline.get(first)
                    values = values and second and values.get(second) or values
                    if column != "run" and isinstance(values, list):
                        cells = [number(row[column]) for row in of_run]
                        if any(cell is not None for cell in cells):  # nothing of what the run lacks
                            self.assertEqual(cells, [float(value) for value in values], (tape, run["label"], column))
                            compared += 1
            self.assertGreater(compared, 30)
            self.assertEqual({row["run"] for row in rows}, {LABEL, '"q"', "recorded"})

    def test_sizes_and_lifetimes_add_up_to_those_of_the_json(self):
        for tape in ("process", "3", "4", "stacks"):
            rows = self.csv("stats", tape)
            stats = json.loads(self.heaptape("stats", tape, "--json"))
            sizes = [row for row in rows if row["what"] == "size"]
            calls = sum(size["calls"] for size in stats["sizes"])
            so_far = 0
            for row, size in zip(sizes, stats["sizes"], strict=True):
                so_far += size["calls"]
                self.assertEqual(
                    [int(row[name]) for name in ("from", "to", "count", "bytes")],
                    [size[name] for name in ("from", "to", "calls", "bytes")],
                )
                self.assertAlmostEqual(float(row["cumulativeShare"]), so_far / calls, places=8)
            lifetimes = [row for row in rows if row["what"] == "lifetimeCalls"]
            self.assertEqual(sum(int(row["count"]) for row in lifetimes), stats["lifetimes"]["freed"])
            so_far = 0
            for before, row in zip([None, *lifetimes], lifetimes):
                so_far += int(row["count"])
                self.assertLessEqual(int(row["from"]), int(row["to"]))
                self.assertLess(int(before["to"]) if before else -1, int(row["from"]))
                self.assertAlmostEqual(float(row["cumulativeShare"]), so_far / stats["lifetimes"]["blocks"], places=8)

    def test_sites_are_those_of_the_json(self):
        for tape in STACKS:
            rows = self.csv("stats", tape, "--by", "site")
            stats = json.loads(self.heaptape("stats", tape, "--by", "site", "--json"))
            self.assertEqual(len(rows), len(stats["sites"]))
            for row, site in zip(rows, stats["sites"]):
                for name in ("site", "function", "file", "module"):
                    self.assertEqual(shown(row[name]), shown(site.get(name, "")), name)
                figures = {
                    **site["totals"],
                    "line": site["line"],
                    "offset": site["offset"],
                    "blocks": site["lifetimes"]["blocks"],
                }
                errors = figures.pop("standardErrors", {})
                for name in ("calls", "askedBytes", "peakBytes", "liveBytes"):
                    self.assertEqual(number(row[name + "Error"]), errors.get(name, 0), name)
                figures["medianLifetime"] = site["lifetimes"]["median"] if site["lifetimes"]["hasMedian"] else None
                figures |= {name: site["heap"][name] for name in ("slackBytes", "holeBytes", "residentHoleBytes")}
                self.assertEqual({name: number(text) for name, text in row.items() if name in figures}, figures)
            for name, total in stats["total"].items():
                if name == "standardErrors":
                    continue
                self.assertEqual(sum(site["totals"][name] for site in stats["sites"]), total, name)

    def sites(self, tape):
        """By value: the sum of each function that asked."""
        stats = json.loads(self.heaptape("stats", tape, "--by", "site", "--json", "--top", "1000"))
        sums = {value: collections.Counter() for value in VALUES}
        for site in stats["sites"]:
            for value, total in VALUES.items():
                sums[value][shown(site.get("function") or site["site"])] += site["totals"][total]
        return {value: +sum for value, sum in sums.items()}  # without those of 0

    def folded(self, tape):
        """By value: the sum of each stack, the outermost function first. So are the next two."""
        sums = {}
        for value in VALUES:
            lines = (
                self.heaptape("export", tape, "--format", "folded", "--value", value)
                .decode(errors="surrogateescape")
                .splitlines()
            )
            pairs = [line.rpartition(" ") for line in lines]
            sums[value] = collections.Counter({tuple(stack.split(";")): int(weight) for stack, _, weight in pairs})
            self.assertEqual(len(sums[value]), len(lines))
        return sums

    def speedscope(self, tape, first):
        data = json.loads(self.heaptape("export", tape, "--format", "speedscope", "--value", first))
        self.assertEqual(list(VALUES)[data["activeProfileIndex"]], first)
        frames = [shown(frame["name"]) for frame in data["shared"]["frames"]]
        sums = {value: collections.Counter() for value in VALUES}
        for value, profile in zip(VALUES, data["profiles"], strict=True):
            for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
                sums[value][tuple(frames[number] for number in sample)] += weight
            self.assertEqual(profile["endValue"] - profile["startValue"], sum(profile["weights"]))
            self.assertEqual(profile["unit"], "none" if value in ("calls", "temporaries") else "bytes")
        return sums

    def pprof(self, tape, first):
        names = {
            "peak": "peak_bytes",
            "end": "end_bytes",
            "bytes": "alloc_bytes",
            "calls": "alloc_calls",
            "temporaries": "temporaries",
            "mapped": "mapped_bytes",
        }
        data = self.heaptape("export", tape, "--format", "pprof", "--value", first)
        profile = self.profile.FromString(gzip.decompress(data))
        strings = profile.string_table
        self.assertEqual(strings[0], "")
        self.assertEqual(strings[profile.default_sample_type], names[first])
        types = [strings[one.type] for one in profile.sample_type]
        functions = {one.id: shown(strings[one.name]) for one in profile.function}
        mappings = {one.id: range(one.memory_start, one.memory_limit) for one in profile.mapping}
        lines = {}
        for location in profile.location:
            lines[location.id] = [functions[line.function_id] for line in location.line]
            if location.mapping_id:
                self.assertIn(location.address, mappings[location.mapping_id])
        sums = {value: collections.Counter() for value in VALUES}
        for sample in profile.sample:
            stack = tuple(reversed([name for one in sample.location_id for name in lines[one]]))
            for value, name in names.items():
                sums[value][stack] += sample.value[types.index(name)]
        return {value: +sum for value, sum in sums.items()}

    def test_exports_of_stacks_have_the_same_and_the_sums_of_sites(self):
        for tape in STACKS:
            sites, folded = self.sites(tape), self.folded(tape)
            for first in VALUES:
                with self.subTest(tape=tape, first=first):
                    pprof = self.pprof(tape, first)
                    self.assertEqual(self.speedscope(tape, first), pprof)
                    for value, sums in pprof.items():
                        # A semicolon separates functions there.
                        self.assertEqual(
                            folded[value],
                            collections.Counter(
                                {tuple(name.replace(";", ":") for name in stack): sum for stack, sum in sums.items()}
                            ),
                        )
                        leaves = collections.Counter()
                        for stack, sum in sums.items():
                            leaves[stack[-1]] += sum
                        self.assertEqual(leaves, sites[value], value)

    def test_json_is_as_its_schema_says(self):
        report = self.directory / "report.json"
        at_peak = ("-a", "model:ptmalloc", "--at", "peak", "--json")
        for tape in ("process", "late", "stacks", "sampled", "lossy", "hostile", "imported", "0", "3", "4"):
            models = ("model:ptmalloc", "model:runs", "noop", *(["recorded"] if tape != "imported" else []))
            self.heaptape(
                "replay", tape, *(word for one in models for word in ("-a", one)), "--samples", "9", "-o", report
            )
            outputs = {
                "Report": report.read_text(),
                "TapeStats": self.heaptape("stats", tape, "--json"),
                "TapeFacts": self.heaptape("info", tape, "--json"),
                "Explanation": self.heaptape("explain", tape, *at_peak),
            }
            if tape in STACKS:
                outputs["SiteStats"] = self.heaptape("stats", tape, "--by", "site", "--json")
            holes = self.heaptape("holes", tape, *at_peak)
            self.assertEqual(complaints("Explanation", holes), [], tape)
            for name, text in outputs.items():
                self.assertEqual(complaints(name, text), [], tape)

    def test_facts_are_those_of_the_tape(self):
        facts = json.loads(self.heaptape("info", "facts", "--json"))
        for key in ("path", "fileBytes", "bytesPerEvent", "innerAllocators"):
            self.assertTrue(facts.pop(key), key)
        self.assertEqual(facts, FACTS)

    def test_every_field_of_json_says_something_of_some_tape(self):
        report = self.directory / "report.json"
        found = set()
        for tape in ("process", "late", "stacks", "sampled", "lossy", "small", "pinned", "imported", "facts", "0", "3"):
            runs = ("model:ptmalloc", "model:runs", "noop", "glibc", *(["recorded"] if tape != "imported" else []))
            chosen = [word for one in runs for word in ("-a", one)]
            begin = ["--from", "2"] if tape == "process" else []
            self.heaptape(
                "replay", tape, *chosen, *begin, "--samples", "9", "--repeat", "2", "--latency", "--do", "trim@end", "-o", report
            )
            found |= filled_fields("Report", json.loads(report.read_text()))
            for name, command in (("TapeStats", "stats"), ("TapeFacts", "info")):
                found |= filled_fields(name, json.loads(self.heaptape(command, tape, "--json")))
            for run in ("model:ptmalloc", "glibc", "recorded"):
                for command in ("explain", "holes") if (tape, run) != ("imported", "recorded") else ():
                    text = self.heaptape(command, tape, "-a", run, "--at", "peak", "--json")
                    found |= filled_fields("Explanation", json.loads(text))
            if tape in STACKS:
                text = self.heaptape("stats", tape, "--by", "site", "--json")
                found |= filled_fields("SiteStats", json.loads(text))
        wanted = fields_of("Report", "TapeStats", "TapeFacts", "Explanation", "SiteStats")
        self.assertLessEqual(wanted - found, OF_OTHER_TAPES)

    def diff(self, form, *gates):
        words = [word for gate in gates for word in ("--fail-if", gate)]
        return self.heaptape(
            "diff", self.directory / "base.json", self.directory / "new.json", *words, "--format", form, status=1
        ).decode()

    def two_reports(self):
        base, new = self.directory / "base.json", self.directory / "new.json"
        self.heaptape("replay", "process", "-a", "model:ptmalloc", "-a", "model:slabs", "-o", base)
        report = json.loads(base.read_text())
        report["runs"][0]["label"] = LABEL_OF_REPORT
        base.write_text(json.dumps(report))
        report["runs"][0]["end"]["committedBytes"] *= 2
        report["runs"][1]["end"]["committedBytes"] += 1
        new.write_text(json.dumps(report))
        return "end.committedBytes>+5%", "peak.liveBytes>1", "counters.not-there<1", "end.liveCount<=+0%"

    def test_junit_has_each_gate_of_the_json(self):
        gates = self.two_reports()
        diff = json.loads(self.diff("json", *gates))
        root = xml.etree.ElementTree.fromstring(self.diff("junit", *gates))
        cases = [
            (
                suite.get("name").partition(": ")[2],
                case.get("classname"),
                case.get("name"),
                [child.tag for child in case],
                [child.get("message") for child in case],
            )
            for suite in root
            for case in suite.iter("testcase")
        ]
        tags = {"failed": ["failure"], "skipped": ["skipped"], "passed": []}
        wanted = [
            (
                gate["run"],
                gate["run"],
                gate["expression"],
                tags[gate["state"]],
                [gate["detail"]] * (gate["state"] != "passed"),
            )
            for gate in diff["gates"]
        ]
        cut = lambda rows: sorted(
            (*row[:4], [text.partition("; ")[0] for text in row[4]]) for row in rows
        )  # reasons follow
        self.assertEqual(cut(cases), cut(wanted))
        self.assertIn("failure", str(cases))
        for element in (root, *root.iter("testsuite")):
            self.assertEqual(int(element.get("tests")), len(list(element.iter("testcase"))))
            self.assertEqual(int(element.get("failures")), len(list(element.iter("failure"))))
            self.assertEqual(int(element.get("errors")), len(list(element.iter("error"))))
        for suite in root.iter("testsuite"):
            self.assertEqual(int(suite.get("skipped")), len(list(suite.iter("skipped"))))
        for failure in root.iter("failure"):
            self.assertIn(failure.get("message").partition("; ")[0], failure.text)

    def test_markdown_has_the_figures_of_the_text(self):
        gates = self.two_reports()
        diff = json.loads(self.diff("json", *gates))
        tables = markdown_tables(self.diff("markdown", *gates))
        for table in tables:
            self.assertEqual({len(row) for row in table}, {len(table[0])})
        of_gates = [table for table in tables if table[0] == ["gate", "run", "result", "values"]]
        states = {"failed": "FAIL", "passed": "PASS", "skipped": "SKIP"}
        rows = [[gate["expression"], gate["run"], states[gate["state"]], gate["detail"]] for gate in diff["gates"]]
        self.assertEqual([[row for row in rows if row[2] == "FAIL"], rows], [table[1:] for table in of_gates])
        text = [line.split() for line in self.diff("text", *gates).splitlines()]
        metrics = [table for table in tables if table[0][0] == "metric"]
        self.assertEqual(len(metrics), len(diff["runs"]))
        for table in metrics:
            self.assertGreater(len(table), 10)
            for row in table:
                self.assertIn(" ".join(row).split(), text)
        [changed] = [table for table in tables if table[0][0] == "changed most"]
        self.assertEqual(
            [row[:2] for row in changed[1:3]], [[run["label"], "end.committedBytes"] for run in diff["runs"]]
        )

    def test_markdown_has_the_sites_and_the_blocks_of_the_text(self):
        for tape, calls, gate in (("hostile", 1, "peak.liveBytes>+5%"), ("pinned", 6, "end.holes.bytes>+1%")):
            for name, options in (("base", ["--to", str(calls)]), ("new", [])):
                report = self.directory / f"{name}.json"
                self.heaptape("replay", tape, "-a", "model:ptmalloc", "-o", report, *options)
            text = [line.split() for line in self.diff("text", gate).splitlines()]
            tables = [
                table
                for table in markdown_tables(self.diff("markdown", gate))
                if table[0][0] not in ("gate", "changed most")
            ]
            self.assertGreater(len(tables), 2)
            for row in (row for table in tables for row in table):
                self.assertIn(" ".join(row).split(), text, tape)

    def test_a_scrubbed_tape_has_the_sites_and_the_stacks_of_the_whole(self):
        for tape in ("stacks", "pinned", "sampled"):
            out = self.directory / "scrubbed.tape"
            sites = {}
            for path in (self.directory / f"{tape}.tape", out):
                if path == out:
                    self.heaptape("scrub", tape, "-o", out)
                stats = json.loads(self.heaptape("stats", path, "--by", "site", "--json"))
                sites[path] = [
                    (site["offset"], site["totals"], site["lifetimes"], site["heap"]) for site in stats["sites"]
                ]
            self.assertEqual(*(sorted(map(str, one)) for one in sites.values()))


if __name__ == "__main__":
    HEAPTAPE, MAKE_PAGE_TAPES, MAKE_RANDOM_TAPES = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
