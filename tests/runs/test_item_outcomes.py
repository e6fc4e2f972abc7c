"""Item rows in other orders, with repeats and gaps, against cases worked by hand."""

import numpy as np

from helpers.run_folders import folder
from passus.runs.item_outcomes import ItemReader
from passus.runs.row_files import ROWS


def write(run, step, rows):
    """Writes rows of (item, sample, verdict, tokens, value)."""
    columns = {name: [None] * len(rows) for name in ROWS["items"]}
    columns |= {"benchmark": ["b"] * len(rows), "temperature": [1.0] * len(rows)}
    columns |= dict(zip(("item", "sample", "verdict", "tokens", "value"), map(list, zip(*rows, strict=True)), strict=True))
    run.write_rows("items", step, columns)


def outcomes(run, *steps):
    return ItemReader(run).outcomes("b", 1.0, steps)


FIRST = [(7, 0, "correct", 3, None), (7, 1, "wrong", 4, None), (2, 0, "truncated", 9, None), (2, 1, "correct", 5, None)]


def test_items_keep_the_order_of_the_first_file_and_later_rows_may_come_in_another(tmp_path):
    run = folder(tmp_path)
    write(run, 10, FIRST)
    write(run, 20, [(2, 1, "wrong", 1, None), (7, 1, "correct", 2, None), (2, 0, "correct", 3, None), (7, 0, None, 4, None)])
    read = outcomes(run, 10, 20)
    assert read.steps_T == [10, 20] and read.item_Q == [7, 2]
    np.testing.assert_array_equal(read.correct_TQK, [[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    np.testing.assert_array_equal(read.tokens_TQK, [[[3, 4], [9, 5]], [[4, 2], [3, 1]]])
    np.testing.assert_array_equal(read.truncated_TQK, [[[0, 0], [1, 0]], [[0, 0], [0, 0]]])


def test_of_rows_for_one_sample_the_last_counts_and_a_value_replaces_the_verdict(tmp_path):
    run = folder(tmp_path)
    write(run, 10, [*FIRST, (7, 1, "wrong", 6, 0.25), (None, 0, "correct", 1, None)])
    read = outcomes(run, 10)
    np.testing.assert_array_equal(read.correct_TQK, [[[1, 0.25], [0, 1]]])
    np.testing.assert_array_equal(read.tokens_TQK, [[[3, 6], [9, 5]]])


def test_rows_that_do_not_fit_together_give_no_outcomes(tmp_path):
    run = folder(tmp_path)
    write(run, 10, FIRST)
    write(run, 20, [(8, *row[1:]) if row[0] == 7 else row for row in FIRST])
    write(run, 30, FIRST[:3])
    assert outcomes(run, 10, 20) is None  # other items
    assert outcomes(run, 30) is None  # an item lacks a sample
    assert outcomes(run, 10, 30).steps_T == [10]  # an incomplete eval point
    assert outcomes(run, 40) is None and ItemReader(run).outcomes("c", 1.0, [10]) is None
