"""Numbers and names as the program heaptape prints them (tests/unit/base has the same ones)."""

import pytest

from heaptape import texts


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (10239, "10.0 KiB"),
        (12897485, "12.3 MiB"),
        ((1 << 20) - 1, "1.00 MiB"),
        (1023 << 10, "1023.0 KiB"),
        (500 << 30, "500.0 GiB"),
        (-2048, "-2.00 KiB"),
    ],
)
def test_sizes_have_three_digits_and_a_unit(size, shown):
    assert texts.size_text(size) == shown


def test_exact_sizes_have_all_digits():
    assert texts.size_text(12897485, exact=True) == "12,897,485 B"
    assert texts.size_text(2**63 + 1, exact=True) == "9,223,372,036,854,775,809 B"


def test_times_choose_a_unit():
    assert [texts.time_text(ns) for ns in (81.25, 999960, 1.5e6)] == [
        "81.2 ns",
        "1.00 ms",
        "1.50 ms",
    ]


def test_changes_have_a_sign():
    assert [texts.percent_text(share) for share in (0.05, -0.5, 0, 12.5)] == [
        "+5.0%",
        "-50.0%",
        "0.0%",
        "+1,250.0%",
    ]


def test_changes_that_are_not_0_do_not_look_like_it():
    assert [texts.percent_text(share) for share in (0.0004, -0.0004)] == ["<+0.1%", ">-0.1%"]


def test_long_lists_say_how_many_more_there_are():
    assert texts.join_names(["a", "b"], 2) == "a, b"
    assert texts.join_names(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_names_cannot_steer_the_terminal():
    assert texts.display_text("a\x1b[31m\u202eb\nc") == "a\ufffd[31m\ufffdb\ufffdc"
    assert texts.display_text("abcdefgh", 5) == "ab…gh"


def test_columns_of_numbers_end_at_the_right():
    rows = [["tape", "size"], ["a", "1.00 MiB"], ["long", "2 B"]]
    assert texts.table_text(rows) == "tape      size\na     1.00 MiB\nlong       2 B\n"
