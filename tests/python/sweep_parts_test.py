"""The parts of a sweep that need no Ray: which tapes, which candidates, what is kept."""

import contextlib
import dataclasses
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import QUESTIONS

import heaptape
from heaptape import files
from heaptape.run_figures import figures
from heaptape.sweep import Comparison, ReplayOptions, dataset, node, selection, tapes
from heaptape.sweep.cache import Cache, Stored, key_of
from heaptape.sweep.candidates import Program, choose_candidates
from heaptape.sweep.cells import Candidate, SweptTape
from heaptape.sweep.command import main
from heaptape.sweep.inspecting import Inspections, inspect, stamp_of
from heaptape.sweep.plan import Plan, only_sweep_in, read_plan
from heaptape.sweep.slim import slim
from heaptape.sweep.tapes import Found
from heaptape.tune.journal import JOURNAL, Journal


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tapes a.tape, web/day=1/run.tape and web/day=2/run.tape, none of which anybody opens."""
    for name in ("a.tape", "service=web/day=1/run.tape", "service=web/day=2/run.tape"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def find(*words, resolver=None):
    return {tape.name: tape.metadata for tape in tapes.find_tapes([*map(str, words)], resolver)}


def test_a_file_is_whole_before_it_gets_its_name(tmp_path, monkeypatch):
    replace, named = os.replace, []

    def note(partial, name):
        named.append(pathlib.Path(partial).read_bytes())
        replace(partial, name)

    monkeypatch.setattr(os, "replace", note)
    files.write_whole(tmp_path / "a", b"whole")
    assert named == [b"whole"]


def test_a_folder_is_all_tapes_below_it_with_the_columns_of_their_folders(folder):
    (folder / "notes.txt").touch()
    assert find(folder) == {
        "a": {},
        "day=1/run": {"service": "web", "day": "1"},
        "day=2/run": {"service": "web", "day": "2"},
    }


def test_a_glob_is_the_files_that_match(folder):
    assert list(find("service=*/*/run.tape")) == ["day=1/run", "day=2/run"]


def test_a_tape_that_is_named_twice_is_one(folder):
    (folder / "link.tape").symlink_to("a.tape")
    assert list(find("a.tape", folder / "a.tape", f"file://{folder}/a.tape", "link.tape")) == ["a"]


def test_a_name_with_the_signs_of_a_glob_is_a_file_where_there_is_one(folder):
    (folder / "run[1].tape").touch()
    assert list(find("run[1].tape")) == ["run[1]"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.csv", "tape,team\na.tape,core\n"),
        ("list.json", '[{"path": "a.tape", "team": "core"}]'),
        ("list.jsonl", '{"tape": "a.tape", "team": "core"}\n\n'),
    ],
)
def test_a_list_names_tapes_beside_it_and_its_other_columns_are_metadata(folder, name, text):
    (folder / name).write_text(text)
    assert find(name) == {"a": {"team": "core"}}


def test_a_manifest_of_the_recorder_is_the_tapes_of_its_processes(tool, tmp_path):
    tool("record", "-o", tmp_path / "run.tape", "--", "sh", "-c", "ls / >/dev/null; :")
    names = find(tmp_path / "run.tape.manifest.json")
    assert len(names) == 2
    assert names["run"] == {"recording": "sh -c 'ls / >/dev/null; :'"}


def test_a_file_system_of_fsspec_is_listed(folder):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe({"/traces/day=3/b.tape": b"", "/traces/day=3/b.txt": b""})
    assert find("memory://traces") == {"b": {"day": "3"}}
    assert find("memory://traces/*/*.tape") == {"b": {"day": "3"}}


def test_a_resolver_of_ones_own_gives_uris_and_metadata(folder):
    (folder / "mine.py").write_text(
        "def of(words): return [(f'{word}.tape', {'team': 'core', 'level': 3}) for word in words]"
    )
    assert find("a", resolver="mine:of") == {"a": {"team": "core", "level": "3"}}


@pytest.mark.parametrize(
    ("words", "resolver", "sentence"),
    [
        (["no.tape"], None, "there is no 'no.tape'|there is no '.*/no.tape'"),
        (["empty"], None, "there is no tape in 'empty'"),
        (["a.json"], None, "cannot read the manifest '.*a.json': No such file"),
        (["b.csv"], None, "a row of '.*b.csv' names no tape"),
        (["x"], "no_such_module:f", "there is no resolver 'no_such_module:f'"),
        (["what://x"], None, "cannot list 'what://x': Protocol not known"),
        ([""], None, "'' names no tape: it would be the current directory"),
        (["c.jsonl"], None, "cannot read the manifest '.*c.jsonl': a row of it is not an object"),
        (["d.json"], None, "cannot read the manifest '.*d.json': it is not as the recorder"),
        (["x"], "broken:f", "there is no resolver 'broken:f'"),
        (["x"], "wrong:f", "the resolver 'wrong:f' said 3, which is not a pair of"),
        (["x"], "wrong:g", r"the resolver 'wrong:g' said \('x', None\), which is not a pair of"),
    ],
)
def test_words_that_name_no_tape_are_one_sentence(folder, words, resolver, sentence):
    (folder / "empty").mkdir()
    (folder / "b.csv").write_text("team\ncore\n")
    (folder / "c.jsonl").write_text("3\n")
    (folder / "d.json").write_text('{"processes": [3]}')
    (folder / "broken.py").write_text("def f(")
    (folder / "wrong.py").write_text("f = lambda words: [3]\ng = lambda words: [('x', None)]\n")
    with pytest.raises(heaptape.Error, match=sentence):
        find(*words, resolver=resolver)


def test_a_tape_whose_name_is_no_utf8_is_kept_and_chosen(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tape")
    shutil.copy(QUESTIONS / "growth.tape", path)
    inspection = inspect(path)
    with contextlib.closing(Inspections(str(tmp_path))) as kept:
        kept.keep(path, "stamp", inspection)
        assert kept.find(path, "stamp") == inspection
    tape = SweptTape("\udcff", path, inspection.digest, inspection.facts, {"\udcff": "\udcff"})
    assert selection.choose_tapes([tape], set(), "name = '?' AND events > 10") == [tape]


def test_inspections_that_cannot_be_written_are_one_sentence(tmp_path):
    (tmp_path / "tapes.sqlite").mkdir()
    with pytest.raises(heaptape.Error, match="cannot write '.*/tapes.sqlite': "):
        Inspections(str(tmp_path))


def plant(folder, name):
    """A link to a file that is not to be changed, and that file."""
    victim = folder / "victim"
    victim.write_text("of somebody else")
    (folder / name).symlink_to(victim)
    return victim


@pytest.mark.parametrize(
    ("name", "open_it"),
    [
        ("tapes.sqlite", Inspections),
        (JOURNAL, lambda folder: Journal(folder, "{}", resume=True)),
    ],
)
def test_files_that_change_in_place_are_never_behind_a_link(name, open_it, tmp_path):
    victim, path = plant(tmp_path, name), tmp_path / name
    with pytest.raises(heaptape.Error, match=f"cannot write '.*/{name}': Too many levels"):
        open_it(str(tmp_path))
    for make in (lambda: os.link(victim, path), lambda: os.mkfifo(path)):
        path.unlink()
        make()
        with pytest.raises(heaptape.Error, match="regular file of yours without other names"):
            open_it(str(tmp_path))
    assert victim.read_text() == "of somebody else"


def test_a_file_takes_the_place_of_a_link(tmp_path):
    victim = plant(tmp_path, "page.html")
    files.write_whole(tmp_path / "page.html", b"ours")
    assert victim.read_text() == "of somebody else"
    assert (tmp_path / "page.html").read_bytes() == b"ours"
    assert not (tmp_path / "page.html").is_symlink()


def test_a_dataset_is_not_written_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cells.partial").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(heaptape.Error, match="cannot write '.*/cells': .*File exists"),
        dataset.Dataset(tmp_path, ()),
    ):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


def make_tape(title, events, **metadata):
    facts = {"events": events, "losses": {"lostEvents": 0}} if events is not None else {}
    return SweptTape(title, f"/{title}.tape", "", facts, metadata)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("service = 'web' AND events > 1000", ["large", "broken"]),
        ("service = 'db'", ["other"]),
        ("name LIKE 's%' OR \"losses.lostEvents\" > 0", ["small", "broken"]),
        ("\"metadata.name\" = 'mine'", ["other", "broken"]),
    ],
)
def test_where_chooses_by_metadata_and_facts(expression, names):
    broken = make_tape("broken", None, service="web")  # stays, unless its metadata says no
    all_tapes = [
        make_tape("small", 10, service="web"),
        make_tape("large", 10**7, service="web"),
        make_tape("other", 10**7, service="db", name="mine"),
        broken,
    ]
    chosen = selection.choose_tapes(all_tapes, {broken.uri}, expression)
    assert [tape.name for tape in chosen] == names


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("servce = 'web'", 'where servce = .*"servce" not found'),
        ("events >", "syntax error"),
        ("events > 99", "none of 1 tapes matches events > 99"),
    ],
)
def test_where_that_is_wrong_is_one_sentence(expression, sentence):
    with pytest.raises(heaptape.Error, match=sentence) as caught:
        selection.choose_tapes([make_tape("a", 1, service="web")], set(), expression)
    assert "\n" not in str(caught.value)


def test_candidates_are_described_with_the_build_ids_of_their_libraries():
    engine, (glibc, model) = choose_candidates(["libc=glibc", "model:ideal"])
    assert (glibc.label, glibc.spec, model.label) == ("libc", "glibc", "model:ideal")
    assert glibc.library.startswith("/")
    assert len(glibc.build_id) == 40
    assert model.build_id is None
    assert len(engine.build_ids) == 2


def test_the_usual_candidates_are_those_that_are_installed():
    _, candidates = choose_candidates([])
    assert {one.label for one in candidates} <= {"glibc", "jemalloc", "mimalloc", "tcmalloc"}
    assert candidates


def test_a_candidate_that_is_not_installed_stays_where_another_is():
    _, candidates = choose_candidates(["glibc", "mimalloc@0.0.0"])
    assert [one.spec for one in candidates] == ["glibc", "mimalloc@0.0.0"]
    assert candidates[1].library is None
    with pytest.raises(heaptape.Error, match="'mimalloc@0.0.0' is not available here"):
        choose_candidates(["mimalloc@0.0.0"])


def test_two_candidates_with_one_label_are_an_error():
    with pytest.raises(heaptape.Error, match="two allocators are named 'a'"):
        choose_candidates(["a=model:ideal", "a=model:slabs"])


ENGINE = Program("1", ("aa", "bb"))
CANDIDATE = Candidate("label", "glibc", "/lib/libc.so.6", "id")
SPACE, TIMED = ReplayOptions(), ReplayOptions(timed=True, repeat=3)
OTHERS = {"atMark.warm.liveBytes": 7, "latency.malloc.p99Ns": 9}
RUN = Stored({"end": {"liveCount": 1}, "time": {"nsPerEvent": 3.0}, "others": OTHERS}, 0.5)


@pytest.mark.parametrize(
    "other",
    [
        key_of("e", CANDIDATE, ENGINE, SPACE),
        key_of("d", Candidate("label", "jemalloc", "/lib/libc.so.6", "id"), ENGINE, SPACE),
        key_of("d", Candidate("label", "glibc", "/lib/libc.so.6", "other"), ENGINE, SPACE),
        key_of("d", CANDIDATE, Program("2", ("aa", "bb")), SPACE),
        key_of("d", CANDIDATE, Program("1", ("aa", "cc")), SPACE),
        key_of("d", CANDIDATE, ENGINE, ReplayOptions(touch="all")),
        key_of("d", CANDIDATE, ENGINE, ReplayOptions(do=("trim@end",))),
    ],
)
def test_a_result_is_of_all_that_it_depends_on(other):
    assert other != key_of("d", CANDIDATE, ENGINE, SPACE)


def test_a_result_does_not_depend_on_the_label_nor_on_where_the_library_is():
    same = Candidate("renamed", "glibc", "/usr/lib/libc.so.6", "id")
    assert key_of("d", same, ENGINE, SPACE) == key_of("d", CANDIDATE, ENGINE, SPACE)


def test_a_timed_result_serves_for_space_on_any_processor(tmp_path):
    cache = Cache(str(tmp_path))
    cache.keep("abcd", TIMED, "this", RUN)
    found = cache.find("abcd", SPACE, ["that"])
    assert found.run == {"end": {"liveCount": 1}, "others": {"atMark.warm.liveBytes": 7}}
    assert cache.find("abcd", TIMED, ["that", "this"]) == RUN


def test_a_result_without_times_or_of_another_processor_does_not_serve_for_time(tmp_path):
    cache = Cache(str(tmp_path))
    cache.keep("abcd", SPACE, "this", RUN)
    cache.keep("abcd", TIMED, "this", RUN)
    assert cache.find("abcd", TIMED, ["that"]) is None
    assert cache.find("abcd", ReplayOptions(timed=True, repeat=1), ["this"]) is None


@pytest.mark.parametrize("content", [b"", b"what", gzip.compress(b"[]", mtime=0), gzip.compress(b"{}", mtime=0)[:9]])
def test_a_damaged_result_is_none(tmp_path, content):
    cache = Cache(str(tmp_path))
    cache.keep("abcd", SPACE, "this", RUN)
    (path,) = tmp_path.rglob("*.gz")
    path.write_bytes(content)
    assert cache.find("abcd", SPACE, ["this"]) is None
    cache.keep("abcd", SPACE, "this", RUN)
    assert cache.find("abcd", SPACE, ["this"]) is not None


def test_an_inspection_is_of_a_version_of_a_file(tmp_path):
    path = tmp_path / "a.tape"
    path.write_bytes((QUESTIONS / "growth.tape").read_bytes())
    stamp, inspection = stamp_of(str(path)), inspect(str(path))
    with contextlib.closing(Inspections(str(tmp_path))) as kept:
        kept.keep(str(path), stamp, inspection)
    with contextlib.closing(Inspections(str(tmp_path))) as kept:
        assert kept.find(str(path), stamp) == inspection
        path.write_bytes((QUESTIONS / "python.tape").read_bytes())
        assert kept.find(str(path), stamp_of(str(path))) is None


def test_a_damaged_file_of_inspections_begins_anew(tmp_path):
    (tmp_path / "tapes.sqlite").write_bytes(b"not a database, but long enough to be read" * 99)
    with contextlib.closing(Inspections(str(tmp_path))) as kept:
        assert kept.find("a", "b") is None


@pytest.fixture
def node_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(node.tempfile, "tempdir", str(tmp_path))
    return pathlib.Path(node.folder())


def test_a_link_is_no_folder_for_fetched_tapes(tmp_path, node_folder):
    node_folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    node_folder.symlink_to("elsewhere")
    with pytest.raises(heaptape.Error, match="is not a directory of yours: set TMPDIR"):
        node.folder()


def fetch(uri, digest=None, most=1 << 30):
    with node.readable(uri, digest, most) as (path, _):
        return pathlib.Path(path).read_bytes()


@pytest.fixture
def remote():
    """A file system that is not this machine's, as far as heaptape knows."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe({"/one.tape": b"1" * 1000, "/two.tape": b"2" * 1000})
    return memory


def test_a_tape_is_fetched_once(node_folder, remote):
    assert fetch("memory://one.tape") == b"1" * 1000
    (path,) = node_folder.glob("*.tape")
    remote.rm("/one.tape")
    assert fetch("memory://one.tape", path.stem) == b"1" * 1000


def test_a_tape_that_has_changed_is_not_taken_for_the_one_that_was_inspected(node_folder, remote):
    with pytest.raises(heaptape.Error, match=r"'memory://one.tape' has changed since"):
        fetch("memory://one.tape", "0" * 64)
    assert not list(node_folder.glob("*.tape"))


def test_fetched_tapes_are_removed_when_they_are_too_many_but_not_under_a_reader(
    node_folder, remote
):
    with node.readable("memory://one.tape", None, 1500) as (path, _):
        assert fetch("memory://two.tape", most=1500) == b"2" * 1000
        assert pathlib.Path(path).read_bytes() == b"1" * 1000
    assert len(list(node_folder.glob("*.tape"))) == 1


def test_the_report_of_a_process_that_was_killed_is_removed(node_folder):
    old = node_folder / f"report-{os.uname().nodename}-{2**22 + 1}.json"
    old.touch()
    node.report_path.cache_clear()
    assert not os.path.exists(node.report_path())
    assert not old.exists()
    node.report_path.cache_clear()


def run(capsys, *words):
    status = main([str(word) for word in words])
    return status, capsys.readouterr().err


def test_resume_needs_a_sweep(tmp_path, capsys):
    status, error = run(capsys, "--resume", "-o", tmp_path)
    assert (status, error.count("\n")) == (2, 1)
    assert "there is no sweep to resume in" in error


def test_a_resumed_sweep_has_all_its_arguments(tmp_path):
    plan = Plan(
        tapes=(Found("a", "file:///a.tape", {"service": "web"}),),
        specs=("glibc", "model:slabs"),
        where="events > 1",
        options=ReplayOptions("all", "merged", "real", ("trim@1",), True, 3, 1.5),
        cache="/cache",
        comparison=Comparison("glibc", "/old", ("failed>0",)),
        fetched_bytes=7,
        folder="/started/here",
    )
    plan.write(str(tmp_path))
    assert read_plan(str(tmp_path)) == plan
    usual = Plan((), ())
    assert all(getattr(plan, field.name) != getattr(usual, field.name) for field in dataclasses.fields(Plan))


def test_resume_takes_no_other_words(tmp_path, capsys):
    status, error = run(capsys, "--resume", "-o", tmp_path, "--fail-if", "x")
    assert status == 2
    assert "--resume goes on with the same sweep, without --fail-if" in error


def test_a_second_sweep_in_a_folder_is_refused(tmp_path, capsys):
    with only_sweep_in(str(tmp_path)):
        status, error = run(capsys, QUESTIONS / "growth.tape", "-o", tmp_path)
    assert status == 2
    assert "another sweep is at work in" in error


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "there are no tapes"),
        (["a", "--repeat", "3"], "--repeat is for times: add --time"),
        (["a", "--jobs", "1", "--address", "x"], "--jobs is for this machine"),
        ([QUESTIONS / "growth.tape", "-a", "nonsense"], "nonsense"),
        (
            [QUESTIONS / "growth.tape", "-a", "model:ideal", "--address", "127.0.0.1:1"],
            "there is no Ray at '127.0.0.1:1': [Errno 111] Connection refused",
        ),
    ],
)
def test_wrong_words_are_one_sentence(tmp_path, capsys, words, sentence):
    status, error = run(capsys, "-o", tmp_path / "out", *words)
    assert (status, error.count("heaptape: ")) == (2, 1 + error.count("inspected"))
    assert sentence in error


def test_wrong_options_are_one_sentence(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["a", "-o", "out", "--touch", "some"])
    error = capsys.readouterr().err
    assert (caught.value.code, error.count("\n")) == (2, 1)
    assert error.startswith("heaptape: argument --touch: invalid choice: 'some'")


def test_without_ray_the_command_says_how_to_install_it(tmp_path):
    hidden = "import sys; sys.modules['ray'] = None\n"
    program = f"{hidden}from heaptape.sweep.command import main; sys.exit(main(['a', '-o', 'x']))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "heaptape: `heaptape sweep` needs ray: pip install ray\n"


def test_help_is_quick_as_it_loads_no_engine():
    program = (
        "import sys, heaptape.sweep.command\n"
        "print({'ray', 'duckdb', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", json.dumps(done.stderr)


def test_a_kept_run_has_no_figures_that_its_report_does_not_have(tmp_path):
    run = {
        "label": "a",
        "lacks": ["residentSizes"],
        "peak": {"liveBytes": {"value": 5, "at": 1}, "residentBytes": {"value": 0, "at": 1}},
        "timeline": {"at": [1], "residentBytes": [0]},
        "atMarks": [{"name": "warm", "state": {"liveBytes": 7}}],
    }
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"version": 1, "tape": {"events": 1}, "runs": [run]}))
    kept = figures(slim(run, str(path)))
    assert kept == {**figures(run), "atMark.warm.liveBytes": 7}
    assert kept["peak.residentBytes"] is kept["mean.residentBytes"] is None
