"""Reduced lines keep their ends, their extremes and their gaps, and do not move while they grow."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from passus.page.reduce import MAX_BUCKETS, bucket_width, kept_rows

values = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), min_size=1, max_size=400)


@given(values, st.integers(2, 40))
def test_ends_extremes_and_gaps_stay(numbers, most):
    values_T = np.array(numbers)
    kept = kept_rows(values_T, most)
    assert (np.diff(kept) > 0).all()
    width = bucket_width(len(numbers), most)
    for start in range(0, len(numbers), width):
        bucket = values_T[start : start + width]
        mine = values_T[kept[(kept >= start) & (kept < start + width)]]
        if not np.isnan(bucket).all():
            assert np.nanmax(mine) == np.nanmax(bucket) and np.nanmin(mine) == np.nanmin(bucket)
    # Two points are joined exactly where no value is missing between them.
    for before, after in itertools.pairwise(kept):
        if not np.isnan(values_T[before]) and not np.isnan(values_T[after]):
            assert not np.isnan(values_T[before:after]).any()
    known = np.flatnonzero(~np.isnan(values_T))
    if len(known):
        assert known[0] in kept and known[-1] in kept


def test_a_short_line_is_whole_and_a_long_one_is_bounded():
    rng = np.random.default_rng(0)
    assert kept_rows(rng.normal(size=MAX_BUCKETS * 2)).tolist() == list(range(MAX_BUCKETS * 2))
    assert len(kept_rows(rng.normal(size=1_000_000))) <= 2 * MAX_BUCKETS + 2


def test_a_line_that_grows_changes_in_its_last_bucket_only():
    values_T = np.random.default_rng(0).normal(size=3000)
    for rows in (1700, 2000, 2900):
        width = bucket_width(rows)
        assert width == bucket_width(rows + 1)
        before, after = kept_rows(values_T[:rows]), kept_rows(values_T[: rows + 1])
        settled = rows // width * width - 1  # the end of a line is always kept
        assert before[before < settled].tolist() == after[after < settled].tolist()
