"""Texts for people. Those of numbers are the program's: here is how Python's numbers come there."""

from heaptape import texts
from heaptape._native import change_text, display_text, figure_text, percent_text


def test_sizes_have_a_sign_and_a_unit():
    sizes = (0, 1023, 12897485, -2048, 12897485.4, 500 << 30, None)
    shown = ["0 B", "1023 B", "12.3 MiB", "-2.00 KiB", "12.3 MiB", "500.0 GiB", "-"]
    assert [figure_text(size, "bytes") for size in sizes] == shown


def test_exact_sizes_have_all_digits():
    assert figure_text(12897485.4, "bytes", exact=True) == "12,897,485 B"
    assert figure_text(2**63 + 1, "bytes", exact=True) == "9,223,372,036,854,775,809 B"
    assert figure_text(1.5e6, "ns", exact=True) == "1.50 ms"


def test_figures_are_in_their_units():
    assert figure_text(81.25, "ns") == "81.2 ns"
    assert figure_text(-0.123456, "ratio") == "-0.1235"
    assert figure_text(1234.6, "count") == "1,235"


def test_changes_have_a_sign():
    changes = ((1 << 20, "bytes"), (-3.0, "count"), (0, "bytes"), (-1500.0, "ns"))
    assert [change_text(*change) for change in changes] == ["+1.00 MiB", "-3", "0", "-1.50 us"]
    shares = (0.05, -0.5, 0, 12.5, 0.00001, -0.00001)
    shown = ["+5.00%", "-50.00%", "0.00%", "+1250.00%", "<+0.01%", ">-0.01%"]
    assert [percent_text(share) for share in shares] == shown


def test_infinite_figures_have_a_text():
    assert figure_text(float("inf"), "bytes") == "inf B"


def test_long_lists_say_how_many_more_there_are():
    assert texts.join_names(["a", "b"], 2) == "a, b"
    assert texts.join_names(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_names_cannot_steer_the_terminal():
    assert texts.display_text("a\x1b[31m\u202eb\nc") == "a\ufffd[31m\ufffdb\ufffdc"
    assert display_text("\udcff\ud800") == "\ufffd\ufffd"
    assert texts.display_text("abcdefgh", 5) == "ab…gh"


def test_columns_of_numbers_end_at_the_right():
    rows = [["tape", "size"], ["a", "1.00 MiB"], ["long", "2 B"]]
    assert texts.table_text(rows) == "tape      size\na     1.00 MiB\nlong       2 B\n"
