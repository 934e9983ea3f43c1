"""The command heaptape tune: what it prints, and what it says to wrong usage."""

import os
import subprocess
import signal
import sys

import pytest
from conftest import QUESTIONS
from heaptape.tune import command

THREADS = QUESTIONS / "threads.tape"

# What runs the command; a module named NAME cannot be imported in it.
WITHOUT = "import sys; sys.modules['{name}'] = None; from heaptape.tune.command import main; "
RUN = "sys.argv[0] = 'heaptape-tune'; sys.exit(main())"


def run(*words, without="nothing", environment=None):
    program = WITHOUT.format(name=without) + RUN
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )


@pytest.fixture(scope="module")
def tape(tool, tmp_path_factory):
    path = tmp_path_factory.mktemp("command") / "threshold.tape"
    tool("scenario", "mmap-threshold", "-o", path)
    return path


@pytest.fixture(scope="module")
def tuning(tape, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned") / "made" / "here"
    return run(tape, "-o", folder, "--trials", 16, "--repeat", 1), folder


def test_it_prints_a_line_for_each_point_of_interest(tuning):
    done, folder = tuning
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("smallest", "fastest", "balanced"):
        assert f"\n{name}: GLIBC_TUNABLES=glibc.malloc." in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == [
        "trials.journal",
        "tune.html",
        "tune.json",
    ]


def test_it_says_how_time_was_found_out(tuning):
    assert "time, estimated" in tuning[0].stdout
    assert " to " in tuning[0].stdout  # of repeats


def test_help_needs_no_optuna():
    done = run("--help", without="optuna")
    assert done.returncode == 0
    assert "--budget TIME" in done.stdout


@pytest.mark.parametrize("name", ["optuna", "jinja2"])
def test_without_what_it_needs_it_says_at_once_what_to_install(name, tape, tmp_path):
    done = run(tape, "-o", tmp_path / "tuned", without=name)
    assert done.returncode == 2
    assert done.stderr == f"heaptape: heaptape tune needs {name}: pip install {name}\n"
    assert not (tmp_path / "tuned").exists()


WRONG = [
    (["-o", "DIR"], "the following arguments are required: TAPE"),
    ([THREADS], "the following arguments are required: -o/--output"),
    ([THREADS, "-o", "DIR", "--allocator", "snmalloc"], "invalid choice: 'snmalloc'"),
    ([THREADS, "-o", "DIR", "--trials", "0"], "--trials: '0' is not a whole number of at least 1"),
    (
        [THREADS, "-o", "DIR", "--repeat", "-1"],
        "--repeat: '-1' is not a whole number of at least 0",
    ),
    ([THREADS, "-o", "DIR", "--objective", "time"], "invalid choice: 'time'"),
    (
        [THREADS, "-o", "DIR", "--max-slowdown", "fast"],
        "--max-slowdown: 'fast' is not a percentage: write 3%",
    ),
    (
        [THREADS, "-o", "DIR", "--max-slowdown", "3%", "--repeat", "0"],
        "--max-slowdown goes by measured times: measure them with --repeat 1 or more",
    ),
    ([THREADS, "-o", "DIR", "--budget", "soon"], "'soon' is not a duration: write 90s, 10m or 2h"),
    ([THREADS, THREADS, "-o", "DIR"], f"'{THREADS}' is given twice"),
    ([THREADS, "-o", "DIR", "--hold-out", "1"], "1 of 1 tapes cannot be held out"),
    (["/no/such.tape", "-o", "DIR"], "/no/such.tape"),
    ([THREADS, "-o", "/dev/null/x"], "cannot make the directory '/dev/null/x': Not a directory"),
    (
        [THREADS, "-o", "DIR", "--allocator", "mimalloc", "--search-on", "model"],
        "there is no model of mimalloc: search on the library itself",
    ),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_wrong_usage_is_one_sentence(words, sentence, tmp_path):
    done = run(*(str(word).replace("DIR", str(tmp_path / "tuned")) for word in words))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("heaptape: ")
    assert sentence in done.stderr


def test_a_library_that_is_not_there_is_one_sentence(tape, tmp_path, monkeypatch):
    """Without its library mimalloc cannot be searched on: it has no model."""
    from heaptape.tune import knobs

    for file in ("mimalloc", "mimalloc3"):  # either may be the one for the installed version
        monkeypatch.setitem(knobs._data(file), "library", "lib:/no/such/libmimalloc.so")
    import heaptape
    from heaptape.tune import tune

    with pytest.raises(heaptape.Error, match="/no/such/libmimalloc.so"):
        tune([tape], tmp_path, allocator="mimalloc", trials=1)


def test_a_journal_that_is_no_search_is_one_sentence(tmp_path):
    journal = tmp_path / "trials.journal"
    journal.write_text("garbage\n")
    done = run(THREADS, "-o", tmp_path, "--resume")
    said = f"heaptape: '{journal}' is damaged: remove it, or name another directory\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_budget_that_is_too_small_says_how_to_go_on(tape, tmp_path):
    words = [tape, "-o", tmp_path, "--trials", 1, "--repeat", 0]
    done = run(*words, "--budget", "0.001s")
    assert (done.returncode, "with --budget, and --resume\n" in done.stderr) == (2, True)
    assert run(*words, "--budget", "60s", "--resume").returncode == 0


def test_stopped_before_there_is_a_journal_it_does_not_offer_to_resume(
    tmp_path, monkeypatch, capsys
):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_tune", interrupt)
    monkeypatch.setattr(sys, "argv", ["heaptape-tune", "x.tape", "-o", str(tmp_path)])
    assert command.main() == 130
    assert capsys.readouterr().err == "\nheaptape: stopped before anything was tried\n"


def test_sigterm_stops_it_as_ctrl_c_does(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "_tune", lambda arguments: os.kill(os.getpid(), signal.SIGTERM))
    monkeypatch.setattr(sys, "argv", ["heaptape-tune", "x.tape", "-o", str(tmp_path)])
    assert command.main() == 130
    assert "stopped" in capsys.readouterr().err


def test_a_few_trials_do_not_tell_what_matters(tape, tmp_path):
    said = {}
    for trials in (4, 32):
        folder = tmp_path / str(trials)
        words = ["--trials", trials, "--repeat", 0, "--search-on", "model"]
        said[trials] = "knobs that matter for" in run(tape, "-o", folder, *words).stdout
    assert said == {4: False, 32: True}
