"""heaptape.record, replay and diff run the program."""

import importlib.metadata
import os
import platform
import types

import pytest
from conftest import QUESTIONS, rows

import heaptape

THREADS = QUESTIONS / "threads.tape"
MODEL = "model:ptmalloc"


def test_record_leaves_a_tape(tmp_path):
    recording = heaptape.record(["/usr/bin/python3", "-c", "pass"], tmp_path / "run.tape")
    assert recording.status == 0
    assert recording.tape.facts["commandLine"] == ["/usr/bin/python3", "-c", "pass"]
    assert len(rows(recording.tape.events())) == recording.tape.facts["events"] > 100


def test_record_has_the_status_of_the_command_and_a_tape_for_each_process(tmp_path):
    recording = heaptape.record(["sh", "-c", "ls / >/dev/null; exit 3"], tmp_path / "run.tape")
    programs = [os.path.basename(tape.facts["commandLine"][0]) for tape in recording.tapes]
    assert (recording.status, programs) == (3, ["sh", "ls"])


def test_record_takes_options(tmp_path):
    command = ["sh", "-c", "ls / >/dev/null"]
    recording = heaptape.record(command, tmp_path / "run.tape", follow="none", stacks="fp")
    assert len(recording.tapes) == 1
    assert recording.tape.facts["stacks"]["unwinding"] == "fp"


def test_record_shows_what_the_command_wrote(tmp_path, capsys):
    heaptape.record(["sh", "-c", "echo oh >&2"], tmp_path / "run.tape")
    assert "oh\n" in capsys.readouterr().err


def test_record_that_cannot_run_says_why(tmp_path):
    with pytest.raises(heaptape.ToolError, match=r"^cannot run '/no/such': No such file") as caught:
        heaptape.record(["/no/such"], tmp_path / "run.tape")
    assert caught.value.status == 2


def test_record_that_cannot_run_does_not_take_an_older_tape_for_its_own(tmp_path):
    heaptape.record(["ls"], tmp_path / "run.tape")
    with pytest.raises(heaptape.ToolError, match="cannot run"):
        heaptape.record(["/no/such"], tmp_path / "run.tape")


def test_replay_gives_a_report():
    report = heaptape.replay(THREADS, [MODEL, "small=model:ptmalloc:arena_max=1"])
    assert [row["run"] for row in rows(report.runs())] == [MODEL, "small"]
    assert report.path is None


def test_replay_takes_a_tape_and_leaves_the_report(tmp_path):
    path = tmp_path / "report.json"
    report = heaptape.replay(
        heaptape.Tape(THREADS), [MODEL], output=path, options=["--to", "1000"]
    )
    assert report.json == heaptape.Report(path).json
    assert rows(report.runs())[0]["accounting.replayed"] == 1000


def test_replay_of_an_unknown_allocator_says_so():
    with pytest.raises(heaptape.ToolError, match="gilbc") as caught:
        heaptape.replay(THREADS, ["gilbc"])
    assert caught.value.status == 2


def test_replay_that_fails_does_not_take_an_older_report_for_its_own(tmp_path):
    path = tmp_path / "report.json"
    heaptape.replay(THREADS, [MODEL], output=path)
    with pytest.raises(heaptape.ToolError, match="cannot open '/no/such.tape'"):
        heaptape.replay("/no/such.tape", [MODEL], output=path)


@pytest.fixture(scope="module")
def reports():
    return [heaptape.replay(THREADS, [f"a={MODEL}:arena_max={count}"]) for count in (1, 8)]


def test_diff_judges_by_gates(reports):
    base, new = reports
    assert heaptape.diff(base, base, fail_if=["peak.committedBytes>+0%"]).passed
    assert not heaptape.diff(base, new, fail_if=["peak.committedBytes>+0%"]).passed


def test_diff_has_both_values(reports):
    values = [rows(report.runs())[0]["peak.committedBytes"] for report in reports]
    metric = heaptape.diff(*reports).json["runs"][0]["metrics"]["peak.committedBytes"]
    assert [metric["base"], metric["new"]] == values


def test_diff_with_a_wrong_gate_says_so(reports):
    with pytest.raises(heaptape.ToolError, match="there is no metric 'nonsense'") as caught:
        heaptape.diff(*reports, fail_if=["nonsense>1"])
    assert caught.value.status == 2


def test_missing_program_is_one_sentence(monkeypatch):
    monkeypatch.setenv("HEAPTAPE", "/no/such/heaptape")
    with pytest.raises(
        heaptape.Error, match=r"^cannot run '/no/such/heaptape': No such file or directory$"
    ):
        heaptape.replay(THREADS, [MODEL])


def test_program_is_the_one_that_the_wheel_carries(monkeypatch, tmp_path):
    monkeypatch.delenv("HEAPTAPE")
    carried = tmp_path / "bin" / "heaptape"
    carried.parent.mkdir()
    carried.write_text("#!/bin/sh\n")
    carried.chmod(0o755)
    listed = importlib.metadata.PackagePath("../../../bin/heaptape")
    listed.dist = types.SimpleNamespace(locate_file=lambda path: carried)
    monkeypatch.setattr(importlib.metadata, "files", lambda name: [listed])
    heaptape.tool._wheel_program.cache_clear()
    assert heaptape.program() == str(carried)
    heaptape.tool._wheel_program.cache_clear()


def test_program_is_looked_for_on_path(monkeypatch, tmp_path):
    monkeypatch.delenv("HEAPTAPE")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(heaptape.Error, match="there is no program heaptape on PATH"):
        heaptape.program()
    (tmp_path / "heaptape").touch(mode=0o755)
    assert heaptape.program() == str(tmp_path / "heaptape")


def test_missing_modules_are_named_with_what_installs_them():
    assert heaptape.tool.missing_modules(["json", "no_such_a", "no_such_b"]) == (
        "no_such_a and no_such_b: pip install no_such_a no_such_b"
    )
    assert heaptape.tool.missing_modules(["json"]) == ""


def test_an_installed_library_has_a_version():
    assert heaptape.tool.installed_version("glibc") == platform.libc_ver()[1]
    assert heaptape.tool.installed_version("noop") == ""
    assert heaptape.tool.installed_version("no such allocator") == ""
