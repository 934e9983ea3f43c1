"""write_page(): what the browser gets, taken apart by Python's own parser of HTML."""

import base64
import errno
import hashlib
import html.parser
import json
import os
import shutil
import subprocess

import pytest

import heaptape
from heaptape.page import Hint, Section, Table, name_cell, plot_text, write_page

HOSTILE = "<img src=x onerror=alert(1)></script><b>'\"&amp;\u202e\u2066\n\x1b[31m" + "y" * 5000


class Parsed(html.parser.HTMLParser):
    """Elements with their attributes, scripts, and the text of each cell of a table."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.texts, self.hints = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if dict(attrs).get("title"):
            self.hints.append(dict(attrs)["title"])
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.elements and self.lasttag == "script" and self.cdata_elem:
            self.scripts[-1] += data
        else:
            self.texts.append(data)

    def tags(self):
        return [tag for tag, _ in self.elements]


def page(folder, *sections, title="Title", **words):
    write_page(folder / "page.html", title, sections, **words)
    return Parsed((folder / "page.html").read_text("utf-8"))


@pytest.fixture
def hostile(tmp_path):
    figure = {"data": [{"x": [HOSTILE, plot_text(HOSTILE)], "y": [1, 2]}], "layout": {}}
    table = Table([HOSTILE, "n"], [[name_cell(HOSTILE), "1"], [HOSTILE, Hint(HOSTILE, HOSTILE)]])
    section = Section(HOSTILE, [HOSTILE], [HOSTILE], figure, table, failed=True)
    return page(tmp_path, section, title=HOSTILE, lead=HOSTILE)


@pytest.fixture
def plain(tmp_path):
    section = Section("One", ["A sentence."], table=Table(["tape", "size"], [["a", "1 MiB"]]))
    return page(tmp_path, section, lead="It is so.")


def test_commands_between_backquotes_are_code(tmp_path):
    section = Section("One", ["run `a <b>` & `c`", "a ` alone <i>"])
    page(tmp_path, section, lead="try `x`")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert '<p class="verdict">try <code>x</code></p>' in text
    assert "<p>run <code>a &lt;b&gt;</code> &amp; <code>c</code></p>" in text
    assert "<p>a ` alone &lt;i&gt;</p>" in text


def test_hostile_text_makes_no_element(hostile, tmp_path):
    assert not {"img", "b"} & set(hostile.tags())
    assert not any(name.startswith("on") for _, attrs in hostile.elements for name in attrs)
    plain = page(
        tmp_path,
        Section("One", ["A"], ["B"], {"data": []}, Table(["a", "b"], [["c", "d"]] * 2)),
        lead="x",
    )
    assert hostile.tags() == plain.tags()


def test_hostile_text_neither_turns_its_surroundings_nor_has_control_characters(hostile):
    shown = "".join(hostile.texts) + "".join(hostile.hints)
    assert "<img src=x onerror=alert(1)></script><b>'\"&amp;\ufffd\ufffd\ufffd\ufffd[31my" in shown
    assert not set("\u202e\u2066\x1b") & set(shown)


def test_long_names_are_cut_in_the_middle_and_whole_in_the_hint():
    cell = name_cell("a" * 500 + "end")
    assert len(cell.text) == 60 and cell.text.endswith("end") and "…" in cell.text
    assert cell.hint == "a" * 500 + "end" and name_cell("short") == "short"


def test_figures_arrive_as_they_were_given(hostile):
    figures = json.loads(next(script for script in hostile.scripts if script.startswith("[")))
    assert figures[0]["data"][0]["x"][0] == HOSTILE


def test_policy_allows_the_scripts_of_the_page_and_nothing_from_elsewhere(hostile):
    policy = next(attrs["content"] for _, attrs in hostile.elements if "http-equiv" in attrs)
    code = [script for script in hostile.scripts if not script.startswith("[")]
    for script in code:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert len(code) == 1 and policy.startswith("default-src 'none'; script-src 'sha256-")


def test_page_loads_nothing(hostile):
    names = {name for _, attrs in hostile.elements for name in attrs}
    assert not names & {"src", "href", "srcset", "data", "action"}


def test_page_with_a_chart_is_small(hostile, tmp_path):
    assert (tmp_path / "page.html").stat().st_size < 100_000


def test_sections_have_their_text_and_tables(plain):
    shown = [text.strip() for text in plain.texts if text.strip()]
    assert shown[-7:-1] == ["One", "A sentence.", "tape", "size", "a", "1 MiB"]
    assert "It is so." in shown


def test_folded_section_opens_by_a_click(tmp_path):
    assert {"details", "summary"} <= set(page(tmp_path, Section("One", folded=True)).tags())


def test_page_is_for_its_owner_alone(plain, tmp_path):
    assert os.stat(tmp_path / "page.html").st_mode & 0o777 == 0o600


def test_page_that_cannot_be_written_leaves_the_one_before(plain, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = (tmp_path / "page.html").read_bytes()
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(heaptape.Error, match=r"^cannot write '.*page.html': No space left"):
        page(tmp_path, Section("Two"))
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_bytes() == before


def test_page_that_cannot_take_its_place_leaves_nothing_behind(tmp_path):
    (tmp_path / "page.html").mkdir()
    with pytest.raises(heaptape.Error, match=r"^cannot write '.*page.html': Is a directory$"):
        page(tmp_path, Section("One"))
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def dump_dom(path, profile):
    """The page as chromium has it once its scripts have run, and what they printed."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    words += [f"--user-data-dir={profile}", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run([*words, path], capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, done.stderr


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_browser_draws_each_kind_of_chart_under_the_policy(tmp_path):
    """Names are text in them, never markup."""
    points = {"x": [1, 2], "y": [1, 2], "text": [HOSTILE, "b"], "name": HOSTILE}
    ends = ("lowerfence", "q1", "median", "q3", "upperfence")
    boxes = {"type": "box", "y": [0], **{name: [i + 1] for i, name in enumerate(ends)}}
    scale = [[0, "#0072b2"], [0.5, "#e9e9e4"], [1, "#d55e00"]]
    colours = {"zmin": -1, "zmax": 1, "colorscale": scale}
    bar = {"tickvals": [-1, 1], "ticktext": ["half", "double"]}
    squares = {"type": "heatmap", "z": [[0.5, None]], "text": [["c", "d"]], "colorbar": bar, **colours}
    names = {"tickvals": [0], "ticktext": [HOSTILE], "autorange": "reversed"}
    log = {"xaxis": {"type": "log", "title": {"text": "ratio"}}, "yaxis": names}
    figures = [
        {"data": [points], "layout": {}},
        {"data": [boxes], "layout": log},
        {"data": [squares], "layout": {"yaxis": names}},
    ]
    page(tmp_path, *(Section("One", figure=figure) for figure in figures))
    dom, printed = dump_dom(tmp_path / "page.html", tmp_path / "profile")
    for kind in ("<circle", 'class="box"', "<rect", ">half</span>", ">ratio</text>"):
        assert kind in dom
    assert dom.count("<svg") == 3 and "<img" not in dom
    assert "CONSOLE" not in printed
