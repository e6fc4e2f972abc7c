"""Reduced lines keep their ends, their extremes and their widest gaps, and do not move while they grow."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from passus.page.reduce import MAX_BUCKETS, bucket_width, kept_rows

values = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), min_size=1, max_size=400)


@given(values, st.integers(2, 40))
def test_ends_extremes_and_the_widest_gaps_stay(numbers, most):
    values_T = np.array(numbers)
    kept = kept_rows(values_T, most)
    assert (np.diff(kept) > 0).all() and len(kept) <= 5 * most + 2
    known = np.flatnonzero(~np.isnan(values_T))
    if not len(known):
        return
    assert known[0] in kept and known[-1] in kept
    width = bucket_width(len(known), most)
    for start in range(0, len(known), width):
        bucket = known[start : start + width + 1]  # and the first of the next one, because a gap may end there
        mine = values_T[np.intersect1d(known[start : start + width], kept)]
        assert mine.max() == values_T[bucket[:width]].max() and mine.min() == values_T[bucket[:width]].min()
        gaps = [(after - before, before) for before, after in itertools.pairwise(bucket) if after - before > 1]
        if gaps:
            rows, before = max(gaps, key=lambda gap: (gap[0], -gap[1]))
            assert {before, before + 1, before + rows} <= set(kept)
    # Two points are joined across missing values only where their bucket shows a gap that is as wide.
    shown = [(after - before, before) for before, after in itertools.pairwise(known) if before + 1 in kept and before in kept]
    for before, after in itertools.pairwise(kept):
        if np.isnan(values_T[[before, after]]).any() or not np.isnan(values_T[before:after]).any():
            continue
        first, last = (int(np.searchsorted(known, row)) for row in (before, after))
        widest = {at: max(rows for rows, row in shown if np.searchsorted(known, row) // width == at)
                  for at in {i // width for i in range(first, last) if known[i + 1] - known[i] > 1}}  # fmt: skip
        assert all(known[i + 1] - known[i] <= widest[i // width] for i in range(first, last) if known[i + 1] - known[i] > 1)


def test_a_sparse_metric_has_few_points():
    values_T = np.full(100_000, np.nan)
    values_T[::10] = np.random.default_rng(0).normal(size=10_000)
    assert len(kept_rows(values_T)) <= 5 * MAX_BUCKETS + 2
    values_T[:] = np.nan
    assert len(kept_rows(values_T)) == 1


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
