"""Distributions, ratios and winners, by examples worked out by hand."""

import itertools

import pytest
from sweep_cells import cell, cells, run, tape

from heaptape.run_figures import figures
from heaptape.sweep.cells import Candidate
from heaptape.sweep.grid import KEPT, GridBuilder
from heaptape.sweep.quantiles import quantile
from heaptape.sweep.summary import summary_of
from heaptape.sweep.summary_text import best_text, where_text

MIB = 1 << 20


def grid_of(made):
    builder = GridBuilder(KEPT)
    for each in made:
        builder.add(each, figures(each.run or {}))
    return builder.grid()


def summary(made, baseline=None):
    return summary_of(grid_of(made), baseline)


def metric(found, name="peak.residentBytes"):
    return next(each for each in found["metrics"] if each["metric"] == name)


def of(found, label, name="peak.residentBytes"):
    return next(c for c in metric(found, name)["candidates"] if c["candidate"] == label)


@pytest.mark.parametrize(
    ("count", "p10", "median", "p90"),
    [
        (1, 1, 1, 1),
        (2, 1, 1, 2),
        (4, 1, 2, 4),
        (5, 1, 3, 5),
        (10, 1, 5, 9),
        (11, 2, 6, 10),
        (100, 10, 50, 90),
    ],
)
def test_quantiles_are_nearest_ranks(count, p10, median, p90):
    values = list(range(1, count + 1))
    assert [quantile(values, p) for p in (10, 50, 90)] == [p10, median, p90]


def test_nine_in_ten_tapes_have_p90_or_less():
    for count in range(1, 60):
        values = list(range(count))
        p90 = quantile(values, 90)
        assert sum(v <= p90 for v in values) * 10 >= 9 * count
        assert sum(v < p90 for v in values) * 10 < 9 * count


def test_distribution_is_over_tapes_and_names_the_worst():
    found = of(summary(cells({"a": [30, 10, 50, 20, 40]})), "a")
    assert (found["p10"], found["median"], found["p90"]) == (10, 30, 50)
    assert found["worst"] == {"value": 50, "tape": "t2"} and found["tapes"] == 5


def test_ratios_are_of_each_tapes_own_value():
    found = summary(cells({"a": [100, 1000], "b": [200, 500]}))
    share = of(found, "b")["ratio"]
    assert (share["p10"], share["p90"]) == (0.5, 2.0) and share["worst"]["tape"] == "t0"
    assert of(found, "a")["ratio"]["worst"]["value"] == 1.0


def test_baseline_is_the_first_candidate_or_the_one_named():
    made = cells({"a": [100], "b": [200]})
    assert summary(made)["baseline"] == "a"
    assert of(summary(made, "b"), "a")["ratio"]["median"] == 0.5


def test_ratio_needs_both_and_something_to_grow_from():
    found = summary(cells({"a": [0, 0, None, 10], "b": [0, 5, 7, None]}))
    assert of(found, "b")["ratio"]["tapes"] == 1 and of(found, "b")["ratio"]["median"] == 1.0


def test_failed_and_lacking_cells_are_counted():
    found = of(summary(cells({"a": [10, None, ""], "b": [1, 2, 3]})), "a")
    assert (found["tapes"], found["failed"], found["lacking"]) == (1, 1, 1)


def test_cell_that_was_never_replayed_has_failed():
    grid = grid_of(cells({"a": [1, 2]})[:1] + cells({"b": [1, 2]}))
    assert grid.errors == [{1: "not replayed"}, {}]


def test_run_that_failed_has_failed():
    failure = {"failure": {"event": "1234", "text": "malloc returned NULL"}}
    grid = grid_of([cell(tape("t"), "a", {"label": "a", **failure})])
    assert grid.errors == [{0: "at #1,234: malloc returned NULL"}]


def test_best_candidate_of_each_tape_and_ties():
    found = summary(cells({"a": [1, 5, 2], "b": [2, 5, 1]}))
    assert found["best"]["peak.residentBytes"] == [["a"], ["a", "b"], ["b"]]
    assert (of(found, "a")["bestOn"], of(found, "a")["tiedOn"]) == (1, 1)
    assert best_text(["a", "b"]) == "a = b" and best_text([]) == "-"


def test_worst_is_counted_where_candidates_differ():
    found = summary(cells({"a": [1, 5, 3], "b": [2, 5, 3], "c": [2, 5, 1]}))
    assert [of(found, label)["worstOn"] for label in "abc"] == [1, 2, 1]


@pytest.mark.parametrize(
    "spec", ["recorded", "noop", "model:ideal", "model:foresight", "model:ideal:x=1"]
)
def test_what_is_no_allocator_to_choose_never_wins(spec):
    made = cells({"a": [10, 10], "b": [20, 20]})
    made += [cell(tape(f"t{i}"), Candidate("low", spec), run(1)) for i in range(2)]
    found = summary(made)
    assert found["best"]["peak.residentBytes"] == [["a"], ["a"]]
    assert all("bestOn" not in c for c in metric(found)["candidates"] if c["candidate"] == "low")


def test_tape_that_only_one_candidate_has_is_won_by_nobody():
    found = summary(cells({"a": [1, 1], "b": [None, 2]}))
    assert found["best"]["peak.residentBytes"] == [[], ["a"]]
    assert metric(found)["compared"] == {"tapes": 1, "incomplete": 0}


def test_tapes_on_which_a_rival_has_no_figure_are_counted():
    found = summary(cells({"a": [1, 1], "b": [None, 2], "c": [3, 3]}))
    assert metric(found)["compared"] == {"tapes": 2, "incomplete": 1}


def test_times_of_models_are_no_times_of_allocators():
    made = [
        cell(tape("t"), label, run(1, time_nsPerEvent=9.0)) for label in ("glibc", "model:slabs")
    ]
    found = summary(made)
    assert of(found, "model:slabs", "time.nsPerEvent")["tapes"] == 0
    assert of(found, "glibc", "time.nsPerEvent")["median"] == 9.0


def test_metric_that_nobody_has_is_left_out():
    names = [each["metric"] for each in summary(cells({"a": [1]}))["metrics"]]
    assert names == ["peak.residentBytes", "mean.residentBytes"]


def test_wins_and_losses_name_the_tapes_that_differ_most():
    found = of(summary(cells({"a": [10, 30, 20, 20], "b": [40, 10, 10, 20]})), "a")
    assert found["wins"] == [{"tape": "t0", "ofBestOther": 0.25}]
    assert found["losses"] == [
        {"tape": "t1", "ofBestOther": 3.0},
        {"tape": "t2", "ofBestOther": 2.0},
    ]


def test_loss_is_against_the_best_of_the_others():
    found = of(summary(cells({"a": [40], "b": [10], "c": [20]})), "a")
    assert found["losses"] == [{"tape": "t0", "ofBestOther": 4.0}]


def test_five_tapes_are_named_at_most():
    found = of(summary(cells({"a": [1] * 7 + [3] * 7, "b": [2] * 14})), "a")
    assert (len(found["wins"]), len(found["losses"])) == (5, 5)


def test_noop_has_no_memory_of_its_own():
    made = [cell(tape("t"), label, run(0, time_nsPerEvent=2.0)) for label in ("noop", "a")]
    found = summary(made)
    assert of(found, "noop")["tapes"] == 0 and of(found, "noop", "time.nsPerEvent")["tapes"] == 1


def many(facts, values):
    tapes = [tape(f"t{i}", **fact) for i, fact in enumerate(facts)]
    return summary(cells(values, tapes))


def test_number_that_tells_the_tapes_is_named():
    facts = [{"threads": 1}] * 6 + [{"threads": 8}] * 6
    found = many(facts, {"a": [1] * 6 + [3] * 6, "b": [2] * 12})
    where = of(found, "b")["where"]
    assert where_text(where) == "best on 6 of 6 tapes with more than 1 thread, on 0 of 6 others"


def test_number_is_cut_where_the_sides_differ_most():
    facts = [{"events": i} for i in range(20)]
    found = many(facts, {"a": [1] * 8 + [3] * 12, "b": [2] * 20})
    assert of(found, "a")["where"] == {
        "fact": "tape.events",
        "above": 7,
        "best": 0,
        "of": 12,
        "bestElsewhere": 8,
        "ofElsewhere": 8,
    }


def test_metadata_that_tells_the_tapes_is_named():
    kinds = ["db" if i % 2 else "web" for i in range(12)]
    facts = [{"metadata": {"kind": kind}} for kind in kinds]
    found = many(facts, {"a": [1 if kind == "db" else 3 for kind in kinds], "b": [2] * 12})
    where = of(found, "a")["where"]
    assert where_text(where) in {
        "best on 6 of 6 tapes with meta.kind = db, on 0 of 6 others",
        "best on 0 of 6 tapes with meta.kind = web, on 6 of 6 others",
    }


def test_few_tapes_tell_nothing():
    facts = [{"threads": 1}] * 4 + [{"threads": 8}] * 4
    assert of(many(facts, {"a": [1] * 4 + [3] * 4, "b": [2] * 8}), "a")["where"] is None


def test_facts_that_tell_little_are_not_named():
    facts = [{"threads": 1 + i % 2} for i in range(20)]
    wins = [1 if i % 4 < 2 else 3 for i in range(20)]  # half of either side
    assert of(many(facts, {"a": wins, "b": [2] * 20}), "a")["where"] is None


def test_order_of_cells_does_not_matter():
    made = cells({"a": [1, 2], "b": [2, 8]})
    medians = {
        of(summary(list(order), "a"), "b")["ratio"]["median"]
        for order in itertools.permutations(made)
    }
    assert medians == {2.0}


def test_one_tape_on_one_candidate_has_a_summary():
    found = of(summary(cells({"a": [7]})), "a")
    assert (found["p10"], found["median"], found["p90"]) == (7, 7, 7) and found["bestOn"] == 0


def test_all_cells_failed_leaves_no_metric():
    assert summary(cells({"a": [None], "b": [None]}))["metrics"] == []
