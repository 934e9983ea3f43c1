"""`./dev mutate`: which mistakes it plants, which suites it runs, and what it makes of a small project."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from typing import ClassVar

from tests.soak import processes

from . import cpp, javascript, python_code, scope
from .count_lines import parse_lcov, read_python_lines, traced
from .line_map import Coverage, LineMap, contains, hash_of, pack
from .mistake import Mistake, in_order, mistakes_in
from .scope import header_users
from .suites import Suite, suite_of
from .tree import Tree, Usual


def results(text: str, changes: object = cpp.changes) -> dict[str, set[str]]:
    """By kind, the texts that the mistakes make of `text`."""
    assert callable(changes)
    found: dict[str, set[str]] = {}
    for mistake in mistakes_in("a.cc", text, changes):
        found.setdefault(mistake.kind, set()).add(mistake.plant(text).strip())
    return found


class MistakesInCpp(unittest.TestCase):
    def test_a_boundary_moves_by_one(self) -> None:
        self.assertEqual(results("bool a = b < c;\n")["boundary"], {"bool a = b <= c;"})

    def test_a_one_is_forgotten(self) -> None:
        self.assertIn("return end + x;", results("return end + 1 + x;\n")["off by one"])

    def test_conditions_are_negated(self) -> None:
        found = results("  if (a(b) && !c) return;\n")["condition"]
        self.assertEqual(found, {"if (!(a(b) && !c)) return;", "if (a(b) && c) return;"})

    def test_a_condition_that_declares_is_left_alone(self) -> None:
        self.assertNotIn("condition", results("  if (const auto* a = b()) return;\n"))

    def test_statements_are_dropped(self) -> None:
        text = "{\n  count_ = 0;\n  log.clear();\n  ++grown;\n}\n"
        dropped = {text.replace(gone, ";").strip() for gone in ("count_ = 0;", "log.clear();", "++grown;")}
        self.assertEqual(results(text)["dropped"], dropped)

    def test_the_lines_of_a_dropped_statement_stay(self) -> None:
        text = "{\n  call(first,\n       second);\n}\n"
        [mistake] = [one for one in mistakes_in("a.cc", text, cpp.changes) if one.kind == "dropped"]
        self.assertEqual(mistake.plant(text), "{\n  ;\n\n}\n")

    def test_declarations_are_kept(self) -> None:
        text = "{\n  const int a = b;\n  std::string text(a, 'x');\n  return a;\n}\n"
        self.assertNotIn("dropped", results(text))

    def test_arguments_change_places(self) -> None:
        self.assertEqual(results("  copy(from, to);\n")["arguments"], {"copy(to, from);"})

    def test_arguments_in_either_order_stay(self) -> None:
        self.assertNotIn("arguments", results("  return std::min(a, b);\n"))

    def test_comments_strings_and_declarations_have_no_mistakes(self) -> None:
        for text in (
            "// a < b\n",
            "/* a < b\n 1 + 1 */\n",
            'auto a = "b < c";\n',
            'auto a = R"(b < c)";\n',
            "#if A < B\n",
            "static_assert(sizeof(A) < (B + 1));\n",
            "constexpr int kMost = 3;\n",
            "template <int N = 1>\n",
            "enum class A { kB = 1, kC };\n",
            "  HEAPTAPE_CHECK(a < b);\n",
            "std::vector<std::pair<int, A>> a;\n",
            "int* a(char** b, B&& c);\n",
        ):
            with self.subTest(text):
                self.assertEqual(results(text), {})

    def test_text_is_not_subtracted(self) -> None:
        self.assertNotIn("arithmetic", results('  a = b + " c";\n'))


class MistakesInPython(unittest.TestCase):
    def test_conditions_statements_and_constants(self) -> None:
        text = "def a(b=1):\n    if b and c == 2:\n        self.d = b\n    e(b)\n"
        found = results(text, python_code.changes)
        self.assertEqual(sorted(found), ["condition", "constant", "dropped", "equality", "logic"])
        self.assertIn(text.replace("b and c == 2", "not (b and c == 2)").strip(), found["condition"])
        self.assertEqual(found["constant"], {text.replace("== 2", "== 3").strip()})
        self.assertEqual(len(found["dropped"]), 2)

    def test_imports_strings_and_signatures_have_none(self) -> None:
        for text in ('a = "1 + 1"\n', "from a import min, max\n", '"""One\n1 < 2."""\n', "def a(b: int = 1) -> int:\n    return b\n"):
            with self.subTest(text):
                self.assertEqual(results(text, python_code.changes), {})


class MistakesInScriptsOfPages(unittest.TestCase):
    def test_are_those_in_cpp_and_strict_equality(self) -> None:
        text = "    if (a === 1 || b) return;\n    this.draw();\n"
        found = results(text, javascript.changes)
        self.assertEqual(sorted(found), ["condition", "constant", "dropped", "equality", "logic"])
        self.assertEqual(found["equality"], {text.replace("===", "!==").strip()})

    def test_comments_strings_and_patterns_have_none(self) -> None:
        for text in ("// a < b\n", "a = 'b < 1';\n", "a = `1 + 1`;\n", 'f("1 < 2");\n', "a = /^ && [1 - 2] $/g;\n"):
            with self.subTest(text):
                self.assertEqual(set(results(text, javascript.changes)) - {"dropped"}, set())


class Order(unittest.TestCase):
    TEXT = "".join(f"  a = b{i} + 1 < c && d;\n" for i in range(50))

    def order(self, seed: int) -> list[Mistake]:
        return list(in_order(mistakes_in("a.cc", self.TEXT, cpp.changes), seed))

    def test_is_the_same_for_a_seed(self) -> None:
        self.assertEqual(self.order(7), self.order(7))
        self.assertNotEqual(self.order(7), self.order(8))

    def test_has_each_line_once(self) -> None:
        self.assertEqual(sorted(one.line for one in self.order(7)), list(range(1, 51)))


class Lines(unittest.TestCase):
    def test_are_kept_as_ranges(self) -> None:
        packed = pack([5, 3, 4, 9, 4])
        self.assertEqual(packed, "3-5,9")
        self.assertEqual([line for line in range(12) if contains(packed, line)], [3, 4, 5, 9])

    def test_are_read_from_lcov(self) -> None:
        text = "SF:/root/base/a.cc\nFN:3,f\nDA:3,1\nDA:4,0\nDA:5,12\nend_of_record\nSF:/root/base/b.cc\nDA:1,0\nend_of_record\n"
        self.assertEqual(parse_lcov(text, "/root/"), {"base/a.cc": "3,5"})


    def test_of_python_are_noted_in_each_process(self) -> None:
        with tempfile.TemporaryDirectory(prefix="heaptape-test-") as directory:
            root = pathlib.Path(directory)
            (root / "heaptape").mkdir()
            (root / "heaptape/__init__.py").write_text("def ran():\n    return 1\n\n\ndef idle():\n    return 2\n")
            program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import heaptape; heaptape.ran()'])"
            environment = {"PYTHONPATH": directory, "HEAPTAPE_LINES": directory}
            suite = traced(Suite("python.a", (sys.executable, "-c", program), directory, environment=environment))
            subprocess.run(suite.command, env={**os.environ, **suite.environment}, check=True)
            self.assertEqual(read_python_lines(root), {"python/heaptape/__init__.py": "1-2,5"})


class Map(unittest.TestCase):
    def setUp(self) -> None:
        self.map = LineMap(
            {
                "t.Slow": Coverage(9, True, {"base/a.cc": "1-9"}),
                "t.Fast": Coverage(1, True, {"base/a.cc": "3", "cli/b.cc": "1"}),
                "t.Fails": Coverage(1, False, {"base/a.cc": "1-9"}),
                "ring_tests.A": Coverage(2, True, {}),
            },
            {"base/a.cc": hash_of("a"), "cli/b.cc": hash_of("b"), "a_test.cc": hash_of("TEST(Fast, A)")},
        )

    def stale(self, suites: list[str], sources: dict[str, str], tests: dict[str, str]) -> list[str]:
        return sorted(self.map.stale(suites, sources, tests))

    def test_gives_the_suites_of_a_line_fast_ones_first(self) -> None:
        self.assertEqual(self.map.covering("base/a.cc", 3), ["t.Fast", "t.Slow"])
        self.assertEqual(self.map.covering("base/a.cc", 4), ["t.Slow"])

    def test_gives_the_suites_of_the_file_for_a_line_that_none_runs(self) -> None:
        self.assertEqual(self.map.covering("base/a.cc", 40), ["t.Fast", "t.Slow"])

    def test_gives_whole_programs_where_lines_are_not_counted(self) -> None:
        self.assertEqual(self.map.covering("recorder/ring/a.h", 1), ["ring_tests.A"])
        self.map.suites["record_e2e_tests.RecordKills"] = self.map.suites["record_e2e_tests.B"] = Coverage(3, True)
        self.assertEqual(self.map.covering("recorder/collector/a.cc", 1), ["record_e2e_tests.RecordKills"])
        self.map.suites["Pages.A"] = self.map.suites["python.page_test"] = Coverage(3, True)
        self.assertEqual(self.map.covering("replayer/report/html/page/a.js", 1), ["Pages.A"])
        self.assertEqual(self.map.covering("python/heaptape/page.js", 1), ["python.page_test"])

    def test_is_current_while_nothing_changes(self) -> None:
        self.assertEqual(self.stale(["t.Slow", "t.Fast"], {"base/a.cc": "a"}, {"a_test.cc": "TEST(Fast, A)"}), [])

    def test_renews_a_new_suite_a_changed_one_and_those_that_run_a_changed_file(self) -> None:
        self.assertEqual(self.stale(["t.New"], {}, {}), ["t.New"])
        self.assertEqual(self.stale(["t.Slow", "t.Fast"], {}, {"a_test.cc": "TEST(Fast, B)"}), ["t.Fast"])
        self.assertEqual(self.stale(["t.Slow", "t.Fast"], {"cli/b.cc": "c"}, {}), ["t.Fast"])


    def test_knows_all_sources_where_all_suites_run(self) -> None:
        product = {"base/a.cc": "a", "cli/b.cc": "new"}
        self.map.begin_runs({"t.Fast"}, ["t.Slow", "t.Fast"], {"base/a.cc": "a"}, product)
        self.assertEqual(sorted(self.map.suites), ["t.Slow"])
        self.map.suites["t.Fast"] = Coverage(1, True, {"cli/b.cc": "1"})
        self.assertEqual(self.stale(["t.Fast"], product, {}), ["t.Fast"])
        self.map.begin_runs({"t.Slow", "t.Fast"}, ["t.Slow", "t.Fast"], {"base/a.cc": "a"}, product)
        self.map.suites["t.Fast"] = Coverage(1, True, {"cli/b.cc": "1"})
        self.assertEqual(self.stale(["t.Fast"], product, {}), [])


class Scopes(unittest.TestCase):
    def test_headers_know_their_users(self) -> None:
        texts = {"a.cc": '#include "b.h"\n', "b.h": '#include "c.h"\n', "c.h": "", "d.cc": '#include "c.h"\n'}
        self.assertEqual(header_users(texts), {"b.h": {"a.cc"}, "c.h": {"a.cc", "d.cc"}})

    def test_a_suite_of_gtest_is_one_process(self) -> None:
        place = [{"name": "WORKING_DIRECTORY", "value": "/b"}]
        test = {"name": "P/A.B/0", "command": ["/b/t", "--gtest_filter=P/A.B/0"], "properties": place}
        self.assertEqual(suite_of(test), Suite("t.P/A", ("/b/t", "--gtest_filter=P/A.*"), "/b", "t"))


SOURCE = """#include <stdlib.h>
int limit(int a) {
  if (a > 9) return 9;
  return a * 1;
}
int main() {
  return limit(10) != 9 || limit(2) != 2;
}
"""
NINJA = """rule cc
  command = g++ -O1 -c $in -o $out
rule ld
  command = g++ $in -o $out
build a.o: cc ../../a.cc
build t: ld a.o
build heaptape heaptape_preload heaptape_worker: phony t
"""


class SmallProject(unittest.TestCase):
    """A tree of one source, which is a program that tests itself."""

    tree: ClassVar[Tree]

    @classmethod
    def setUpClass(cls) -> None:
        processes.become_subreaper()
        directory = tempfile.TemporaryDirectory(prefix="heaptape-test-")
        cls.addClassCleanup(directory.cleanup)
        root = pathlib.Path(directory.name)
        cls.tree = Tree(root, root / "none")
        cls.tree.build.mkdir(parents=True)
        (root / "a.cc").write_text(SOURCE)
        (cls.tree.build / "build.ninja").write_text(NINJA)
        (cls.tree.build / "compile_commands.json").write_text(f'[{{"file": "{root}/a.cc", "command": "g++ -o a.o"}}]')
        cls.tree.suites = {"t.A": Suite("t.A", (str(cls.tree.build / "t"),), str(root), "t")}

    def try_one(self, old: str, new: str) -> str:
        begin = SOURCE.index(old)
        mistake = Mistake("a.cc", 1, begin, begin + len(old), new, "")
        return self.tree.try_mistake(mistake, SOURCE, ["a.cc"], [Usual("t.A", 0.1)], 1).state

    def test_a_mistake_is_noticed(self) -> None:
        self.assertEqual(self.try_one("return 9", "return 8"), "noticed")

    def test_a_mistake_goes_unnoticed(self) -> None:
        self.assertEqual(self.try_one("a > 9", "a > 5"), "unnoticed")

    def test_one_that_does_not_compile_does_not_count(self) -> None:
        self.assertEqual(self.try_one("return 9", "return x"), "not compiled")

    def test_one_in_a_file_that_is_not_built_does_not_count(self) -> None:
        mistake = Mistake("b.cc", 1, 0, 1, "", "")
        self.assertEqual(self.tree.try_mistake(mistake, " ", ["b.cc"], [], 1).state, "not built")

    def test_one_that_compiles_to_the_same_code_does_not_count(self) -> None:
        self.assertEqual(self.try_one("a * 1", "a / 1"), "equivalent")

    def test_suites_beyond_the_budget_are_left_out(self) -> None:
        begin = SOURCE.index("9)")
        mistake = Mistake("a.cc", 3, begin, begin + 1, "5", "")
        usual = [Usual("t.A", 0.1), Usual("t.A", 0.5), Usual("t.A", 0.5)]
        for budget, left_out in ((0.3, 2), (0.7, 1), (1.2, 0)):
            verdict = self.tree.try_mistake(mistake, SOURCE, ["a.cc"], usual, budget)
            self.assertEqual((verdict.state, verdict.suites_left_out), ("unnoticed", left_out))

    def test_the_source_is_as_before(self) -> None:
        self.try_one("return 9", "return 8")
        self.assertEqual((self.tree.root / "a.cc").read_text(), SOURCE)


class ListedMistakes(unittest.TestCase):
    PATH = "tests/mutate/self_test.py"  # whatever file: no mistake is planted

    def read(self, content: object) -> tuple[Mistake, ...]:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file, unittest.mock.patch.object(scope, "product_files", lambda: [self.PATH]):
            file.write(content if isinstance(content, str) else json.dumps(content))
            file.flush()
            return scope.read_mistakes(file.name)

    def test_are_planted_at_the_first_line_that_differs(self) -> None:
        old = "class ListedMistakes(unittest.TestCase):\n    PATH = "
        [mistake] = self.read([{"path": self.PATH, "old": old, "new": old.replace("PATH", "FILE"), "why": "so"}])
        text = pathlib.Path(self.PATH).read_text()
        planted = mistake.plant(text).splitlines()
        changed = [i for i, line in enumerate(text.splitlines(), 1) if planted[i - 1] != line]
        self.assertEqual(changed, [mistake.line])
        self.assertEqual(mistake.kind, "so")

    def test_keep_the_lines_behind_them_whole(self) -> None:
        old = "class ListedMistakes(unittest.TestCase):\n    PATH = "
        [mistake] = self.read([{"path": self.PATH, "old": old, "new": "NAME = "}])
        text = pathlib.Path(self.PATH).read_text()
        planted = mistake.plant(text).splitlines()
        place = mistake.line - 1
        self.assertEqual(planted[place : place + 2], ['NAME = "tests/mutate/self_test.py"  # whatever file: no mistake is planted', ""])
        self.assertEqual(planted[place + 2 :], text.splitlines()[place + 2 :])

    def test_are_refused_in_one_sentence(self) -> None:
        whole = {"path": self.PATH, "old": "class WrongWords(" + "unittest", "new": ""}
        for content, sentence in (
            ("", "is no list of mistakes, each with path, old and new"),
            ([{"path": self.PATH}], "is no list of mistakes, each with path, old and new"),
            ([], "lists no mistake"),
            ([whole, {**whole, "path": "README.md"}], "mistake 2 of"),
            ([{**whole, "old": "import"}], "has to be once in"),
            ([{**whole, "new": whole["old"]}], "not be the new one"),
        ):
            with self.assertRaisesRegex(scope.WrongUse, sentence):
                self.read(content)
        with self.assertRaisesRegex(scope.WrongUse, "No such file"):
            scope.read_mistakes("no-such-list.json")


class WrongWords(unittest.TestCase):
    def refuse(self, sentence: str, *words: str) -> None:
        command = ("python3", "-m", "tests.mutate.scope", os.getcwd(), *words)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_are_refused_in_one_sentence(self) -> None:
        self.refuse("give one of paths, --changed and --mistakes", "base", "--changed")
        self.refuse("give one of paths, --changed and --mistakes", "base", "--mistakes", "list.json")
        self.refuse("git merge-base failed: fatal: Not a valid object name no-such-revision", "--changed", "no-such-revision")
        self.refuse("there is no product code in 'docs'", "docs")
        self.refuse("'x' is not a number", "--count", "x")
        self.refuse("--count 0 plants nothing", "--count", "0")


if __name__ == "__main__":
    unittest.main()
