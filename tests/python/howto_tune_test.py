"""docs/howto-tune.md: the command of its example prints what stands there, but for times."""

import re

import pytest
from conftest import ROOT

from heaptape.tune.command import main
from heaptape.tune.knobs import ALLOCATORS, space

PAGE = (ROOT / "docs" / "howto-tune.md").read_text()
EXAMPLE = re.search(r"^    \$ heaptape tune (.*)\n((?:    .*\n|\n)*)", PAGE, re.M)


@pytest.fixture
def output(tmp_path, monkeypatch, capsys):
    """Without the confirmation, which takes long and prints times."""
    monkeypatch.setattr("heaptape.tune.confirming.library_error", lambda *_: "left out here")
    monkeypatch.chdir(ROOT)
    words = EXAMPLE[1].replace("-o tuned", f"-o {tmp_path}").split()
    monkeypatch.setattr("sys.argv", ["heaptape-tune", *words])
    assert main() == 0
    return capsys.readouterr().out


def columns(text, name):
    """A row of the table of the search, which has nothing that was measured."""
    row = re.search(rf"^ *{name}  .*%.*%$", text, re.M)[0]
    return row.split()


def test_the_example_finds_what_stands_there(output):
    line = re.search(r"^ *(the default: .*)$", EXAMPLE[2], re.M)[1]
    assert line in output.splitlines()
    for name in ("smallest", "fastest", "balanced"):
        line = re.search(rf"^ *({name}: .*)$", EXAMPLE[2], re.M)[1]
        assert line in output.splitlines()
        assert columns(output, name) == columns(EXAMPLE[2], name)


def test_the_line_that_the_page_recommends_is_the_balanced_one():
    line = re.search(r"^    (GLIBC_TUNABLES=\S+) git repack -adf$", PAGE, re.M)[1]
    assert f"    balanced: {line}\n" in EXAMPLE[2]


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_the_page_names_the_versions_of_the_knobs(allocator):
    assert space(allocator, "library").version in PAGE
