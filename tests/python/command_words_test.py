"""Words of command lines: what they are taken for, and what is said of wrong ones."""

import argparse
import os
import subprocess
import sys

import pytest

from heaptape.command_words import Parser, seconds, whole_number


@pytest.mark.parametrize(("text", "value"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("7", 7)])
def test_a_time_is_a_number_and_a_unit(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "10 minutes", "-3s", "0", "m", "nan"])
def test_what_is_no_time_says_what_to_write(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration: write 90s, 10m or 2h"):
        seconds(text)


@pytest.mark.parametrize("text", ["9" * 400, "1000h"])
def test_a_time_that_no_call_of_the_system_takes_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is too long: at most 11 days"):
        seconds(text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "\u00b2", ""])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number of at least 1"):
        whole_number(1)(text)


def test_wrong_words_are_one_sentence_that_names_the_help(capsys):
    parser = Parser(prog="heaptape sweep")
    parser.add_argument("--jobs", type=whole_number(1))
    with pytest.raises(SystemExit) as caught:
        parser.parse_args(["--jobs", "0"])
    said = "argument --jobs: '0' is not a whole number of at least 1; see `heaptape sweep --help`"
    assert (caught.value.code, capsys.readouterr().err) == (2, f"heaptape: {said}\n")


def test_a_reader_that_has_enough_is_no_error():
    script = "from heaptape.command_words import print_result; print_result('x'); print('on')"
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-c", script]
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(words, check=False, stdout=closed, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_standard_output_is_one_sentence():
    script = "from heaptape.command_words import print_result; print_result('x')"
    with open("/dev/full", "wb") as full:
        words = [sys.executable, "-c", script]
        done = subprocess.run(words, check=False, stdout=full, stderr=subprocess.PIPE)
    said = b"heaptape: cannot write to standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)
