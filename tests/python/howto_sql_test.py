"""docs/howto-sql.md, run from top to bottom. HEAPTAPE_UPDATE_GOLDEN=1 writes the outputs anew."""

import os
import re
import shutil
import subprocess
import sys

import duckdb
import pytest
from conftest import QUESTIONS, ROOT

PAGE = ROOT / "docs" / "howto-sql.md"

QUERY = re.compile(r"```sql\n(.*?)```\n", re.S)
OUTPUT = re.compile(r"\n```text\n(.*?)```\n", re.S)


def sections():
    """What precedes the questions, then each question to the next one."""
    return re.split(r"^(?=## )", PAGE.read_text(), flags=re.M)


def title_of(section):
    return section.partition("\n")[0].removeprefix("## ")


TITLES = [title_of(section) for section in sections()[1:]]


def commands():
    """Of the page's console: continued lines belong to the command that they continue."""
    console = re.search(r"```console\n(.*?)```", PAGE.read_text(), re.S)[1]
    return "\n".join(line[2:] for line in console.splitlines())


@pytest.fixture(scope="session")
def database(binary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("howto")
    for file in [*QUESTIONS.glob("*.tape"), ROOT / "docs/tutorial/gateway.c"]:
        shutil.copy(file, folder)
    (folder / "bin").mkdir()
    (folder / "bin/heaptape").symlink_to(binary)
    (folder / "bin/python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "bin/python").chmod(0o755)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    script = ["bash", "-euc", commands()]
    subprocess.run(
        script, cwd=folder, env={**os.environ, "PATH": path}, check=True, capture_output=True
    )
    connection = duckdb.connect()
    views = QUERY.search(sections()[0])[1]
    connection.execute(views.replace("'dataset/", f"'{folder}/dataset/"))
    return connection


def answer(database, query):
    """As DuckDB prints it, without the blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in str(database.sql(query)).strip().splitlines()) + "\n"


def test_page_has_ten_questions():
    assert len(TITLES) == 10


@pytest.mark.parametrize("title", TITLES)
def test_question_has_the_answer_that_the_page_says(database, title):
    section = next(section for section in sections()[1:] if title_of(section) == title)
    query = QUERY.search(section)
    printed = answer(database, query[1])
    if os.environ.get("HEAPTAPE_UPDATE_GOLDEN"):
        rest = OUTPUT.sub("", section[query.end() :])
        answered = f"{section[: query.end()]}\n```text\n{printed}```\n{rest}"
        PAGE.write_text(PAGE.read_text().replace(section, answered))
    else:
        assert printed == OUTPUT.search(section)[1]
