"""docs/howto-sweep.md: its queries, its example, its columns. HEAPTAPE_UPDATE_GOLDEN=1 writes answers."""

import os
import re

import duckdb
import pytest
from conftest import ROOT
from sweep_cells import cell, real_cells, results, tape

from heaptape.sweep.rows import schema_of

PAGE = ROOT / "docs" / "howto-sweep.md"
SPECS = ("model:ptmalloc", "model:slabs", "model:ideal")
QUESTION = re.compile(r"### (.*?)\n\n```sql\n(.*?)```\n\n```text\n(.*?)```\n", re.DOTALL)
QUESTIONS = [match[0] for match in QUESTION.findall(PAGE.read_text())]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Of the page, and a tape that fails on two candidates."""
    folder = tmp_path_factory.mktemp("howto") / "fleet"
    gates = ["p90(peak.residentBytes)>+3%"]
    return folder, results(folder, real_cells(SPECS), gates, baseline="model:ptmalloc")


def views(folder):
    connection = duckdb.connect()
    view = re.search(r"```sql\n(CREATE VIEW.*?)```", PAGE.read_text(), re.DOTALL)[1]
    connection.execute(view.replace("'fleet/", f"'{folder}/"))
    return connection


@pytest.fixture(scope="module")
def database(sweep, tmp_path_factory):
    folder = tmp_path_factory.mktemp("failed")
    errors = ("at #12: the process was killed", "at #1,207: the process was killed")
    made = [cell(tape(f"t{i}"), SPECS[0], None, error) for i, error in enumerate(errors)]
    results(folder, made)
    return {"What fails, and how often?": views(folder)}, views(sweep[0])


def answer(connection, query):
    printed = str(connection.sql(query)).strip().splitlines()
    return "\n".join(line.rstrip() for line in printed) + "\n"


def test_page_has_three_questions():
    assert len(QUESTIONS) == 3


@pytest.mark.parametrize("title", QUESTIONS)
def test_question_has_the_answer_that_the_page_says(database, title):
    special, usual = database
    _, query, said = next(q for q in QUESTION.findall(PAGE.read_text()) if q[0] == title)
    printed = answer(special.get(title, usual), query)
    if os.environ.get("HEAPTAPE_UPDATE_GOLDEN"):
        old, new = (f"{query}```\n\n```text\n{text}```" for text in (said, printed))
        PAGE.write_text(PAGE.read_text().replace(old, new))
    else:
        assert printed == said


def test_text_and_verdict_of_the_page_are_those_of_the_sweep(sweep):
    page = PAGE.read_text()
    printed = sweep[1].text()
    table = printed[printed.index("peak.residentBytes;") :].partition("\n\n")[0]
    assert all(f"    {line}\n" in page for line in table.splitlines())
    (verdict,) = [line for line in printed.splitlines() if line.startswith("FAIL  ")]
    assert f"    {verdict}\n" in page


def test_page_has_the_columns_of_the_dataset():
    table = PAGE.read_text().partition("| column | type |")[2].partition("\n\n")[0]
    named = re.findall(
        r"`([\w.]+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:])
    )
    columns = schema_of(["KEY"]).names
    assert columns[: columns.index("counters") + 1] == named[1 : named.index("counters") + 1]


def keys_of(value):
    """Those of dictionaries, at any depth; names of metrics, tapes and columns left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value[:3]:
            yield from keys_of(inner)


def test_page_has_the_keys_of_sweep_json(sweep):
    section = PAGE.read_text().partition("## sweep.json")[2]
    found = {key for key in keys_of(sweep[1].json) if "." not in key}
    missing = {key for key in found if f"`{key}`" not in section}
    assert missing == set() and len(found) > 40


def test_page_has_the_figures_of_sweep_json(sweep):
    section = PAGE.read_text().partition("## The summary")[2]
    summary = {metric["metric"] for metric in sweep[1].json["summary"]["metrics"]}
    others = set(sweep[1].json["figures"]) - summary - {"time.nsPerEvent"}
    assert {metric for metric in others if f"`{metric}`" not in section} == set()
